"""The Porter stemmer, because the papers' word lists are stemmed ("peopl", "secur", "kei").

M. F. Porter, An algorithm for suffix stripping, Program 14(3):130-137, 1980.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["stem"]

CONSONANT = r"(?:[^aeiouy]|(?<=[aeiou])y|^y)"
VOWEL = r"(?:[aeiou]|(?<=[^aeiou])y)"
MEASURE_1 = re.compile(rf"^{CONSONANT}*{VOWEL}+{CONSONANT}")
MEASURE_IS_1 = re.compile(rf"^{CONSONANT}*{VOWEL}+{CONSONANT}+{VOWEL}*$")
MEASURE_2 = re.compile(rf"^{CONSONANT}*{VOWEL}+{CONSONANT}+{VOWEL}+{CONSONANT}")
HAS_VOWEL = re.compile(rf"^{CONSONANT}*{VOWEL}")
DOUBLE = re.compile(r"([^aeiouylsz])\1$")
SHORT = re.compile(rf"^.*{CONSONANT}{VOWEL}(?![wxy]){CONSONANT}$")

STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "abli": "able", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize",
    "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful",
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Cut a lower-case English word down to its stem.

    >>> [stem(word) for word in ("people", "security", "keys", "henry", "relational", "hopping")]
    ['peopl', 'secur', 'kei', 'henri', 'relat', 'hop']
    """
    if len(word) < 3:
        return word
    word = _past(_plural(word))
    if word.endswith("y") and HAS_VOWEL.match(word[:-1]):
        word = word[:-1] + "i"
    for table in (STEP_2, STEP_3):
        word = _replace(word, table)
    return _final_e(_last_suffix(word))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if MEASURE_1.match(word[:-3]) else word
    suffix = next((end for end in ("ed", "ing") if word.endswith(end)), None)
    if suffix is None or not HAS_VOWEL.match(word[: -len(suffix)]):
        return word
    word = word[: -len(suffix)]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if DOUBLE.search(word):
        return word[:-1]
    return word + "e" if MEASURE_IS_1.match(word) and SHORT.match(word) else word


def _replace(word: str, endings: dict[str, str]) -> str:
    found = max((end for end in endings if word.endswith(end)), key=len, default=None)
    if found is None:
        return word
    head = word[: -len(found)]
    return head + endings[found] if MEASURE_1.match(head) else word


def _last_suffix(word: str) -> str:
    found = max((end for end in STEP_4 if word.endswith(end)), key=len, default=None)
    if found is None:
        return word
    head = word[: -len(found)]
    if not MEASURE_2.match(head) or (found == "ion" and not head.endswith(("s", "t"))):
        return word
    return head


def _final_e(word: str) -> str:
    if word.endswith("e"):
        head = word[:-1]
        is_short = MEASURE_IS_1.match(head) and SHORT.match(head)
        if MEASURE_2.match(head) or (MEASURE_1.match(head) and not is_short):
            word = head
    return word[:-1] if word.endswith("ll") and MEASURE_2.match(word[:-1]) else word
