"""Tables and models that several tests of the analysis use."""

import numpy as np

import falsezero as fz


def blocks_table(seed=0):
    """Two groups of rows with their own columns: what is seen of a row tells what is hidden."""
    rng = np.random.default_rng(seed)
    group = rng.integers(2, size=150)
    centres = np.kron(np.eye(2), np.ones(10)) * 0.8 + 0.1
    return (rng.random((150, 20)) < centres[group]).astype(float)


def known_model(X, weights, components, monkeypatch):
    """AspectBernoulli with these weights and components."""
    model = fz.AspectBernoulli(2, prior=0, max_iter=1, tol=1.0, random_state=0).fit(X)
    model.components_ = components
    known = [(block, weights[block.rows]) for block, _ in model.weights_by_block(X)]
    monkeypatch.setattr(model, "weights_by_block", lambda table: known)
    return model
