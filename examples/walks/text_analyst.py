"""A text analyst: from CountVectorizer to topics, and how coherent they are.

python examples/walks/text_analyst.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import falsezero as fz
from falsezero.analysis.coherence import coherence
from falsezero.analysis.topics import top_words

WORDS = {
    "sea": ["boat", "wave", "harbour", "sail", "tide", "fish", "captain", "storm"],
    "law": ["court", "judge", "appeal", "verdict", "lawyer", "witness", "trial", "jury"],
    "farm": ["wheat", "tractor", "harvest", "barn", "cattle", "field", "plough", "seed"],
}


def documents() -> list[str]:
    """150 short texts, each mostly about one thing."""
    rng = np.random.default_rng(4)
    topics = list(WORDS.values())
    others = [word for words in topics for word in words]
    return [" ".join([*rng.choice(topics[i % 3], 25), *rng.choice(others, 5)]) for i in range(150)]


def walk(folder: Path) -> Path:
    """What to show a colleague: each topic's words and its coherence."""
    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(documents())
    names = vectorizer.get_feature_names_out()
    model = fz.DiscretePCA(3, random_state=0).fit(counts)
    words = top_words(model, 5, feature_names=names).to_pandas()
    quality = coherence(model, counts, n=5).to_pandas()
    words.to_csv(folder / "topics.csv", index=False)
    quality.to_csv(folder / "coherence.csv", index=False)
    return folder / "topics.csv"


if __name__ == "__main__":
    print(walk(Path(sys.argv[1])))
