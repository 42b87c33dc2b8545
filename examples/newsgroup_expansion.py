"""Expand short messages: which words might the writer have used next?

After Kabán and Bingham, section 5.3. A message uses a few of the words of its topic, so most of
its zeros are omissions. Binary ICA finds them as a component of its own, which makes no words.
Without that component the remaining weights show what the message is about, and absent words with a
high probability expand it.

Set FALSEZERO_DATA to the folder of the data sets, then:

    python examples/newsgroup_expansion.py
"""

from __future__ import annotations

import numpy as np

import falsezero as fz
from falsezero.datasets import load_newsgroups4

HELD_OUT = 10
SHOWN = 12


def main() -> None:
    """Fit four newsgroups, name the blank component, and expand new messages."""
    messages = load_newsgroups4(n_documents=105, n_words=100, random_state=1)
    table, group = messages.table, messages.target
    n_words = table.to_numpy().sum(axis=1)
    rng = np.random.default_rng(0)
    wordy = np.flatnonzero((n_words >= 3) & (n_words <= 12))
    chosen = np.zeros(len(table), dtype=bool)
    chosen[rng.choice(wordy, HELD_OUT, replace=False)] = True
    training = table.select(rows=~chosen & (n_words > 0))

    model = fz.BinaryICA(n_components=5, n_init=10, random_state=0).fit(training)
    phantoms = fz.find_phantoms(model)
    print(f"{len(training)} messages, {len(table.columns)} words, evidence {model.evidence_:.0f}")
    for k, pattern in enumerate(model.components_):
        top = ", ".join(table.columns[np.argsort(-pattern)[:7]])
        name = "blank" if k in phantoms.white else top
        print(f"  component {k} (weight {phantoms.weights[k]:.2f}): {name}")

    new = table.select(rows=chosen)
    expanded = fz.denoise(model, new).probability.to_numpy()
    print("\nNew messages: their words, and the words they might have used")
    for present, probability, label in zip(new.to_numpy(), expanded, group[chosen], strict=True):
        absent = np.where(present == 1, -1.0, probability)
        best = np.argsort(-absent)[:SHOWN]
        print(f"\n[{label}] {' '.join(table.columns[present == 1])}")
        print("   " + "  ".join(f"{table.columns[t]} {probability[t]:.2f}" for t in best))


if __name__ == "__main__":
    main()
