"""Whether the chains of a binary matrix factorization agree on predictions and on features.

Both use quantities that do not depend on the order of features. Predictions do not even depend on
which features express a table, and they are what averages over draws are for.
"""

from __future__ import annotations

import numpy as np

from falsezero.inference.agreement import bulk_ess, r_hat
from falsezero.models.bmf.likelihoods import Likelihood
from falsezero.models.bmf.predict import Draw

_ENOUGH = 20
"""With fewer draws per chain R-hat is mostly noise, and NaN is returned."""

_CELLS = 200

_JUDGED = ("log_joint", "log_likelihood", "features_per_row", "features_per_column")


def prediction_agreement(
    chains: list[list[Draw]], likelihood: Likelihood, n_cells: int = _CELLS
) -> tuple[float, float]:
    """R-hat and effective sample size of expected cells, for a fixed random sample of cells.

    The 95 % quantile of R-hat and the 5 % quantile of the sample size: the extremes over many cells
    would look bad even where chains agree.
    """
    length = min(len(draws) for draws in chains)
    if length < _ENOUGH:
        return float("nan"), float("nan")
    first = chains[0][0]
    shape = len(first.row_features), len(first.column_features)
    rows, columns = np.random.default_rng(0).integers(shape, size=(n_cells, 2)).T
    expected = np.array(
        [
            [likelihood.mean(_predictor(draw, rows, columns)) for draw in draws[:length]]
            for draws in chains
        ]
    )
    moving = [cell for cell in expected.transpose(2, 0, 1) if np.ptp(cell) > 0]
    if not moving:
        return float("nan"), float("nan")
    found = [r_hat(cell) for cell in moving], [bulk_ess(cell) for cell in moving]
    return _quantile(found[0], 0.95), _quantile(found[1], 0.05)


def feature_agreement(chains: list[dict[str, np.ndarray]]) -> float:
    """Largest R-hat of the log densities and of the features per row and per column."""
    length = min(len(chain["log_joint"]) for chain in chains)
    if length < _ENOUGH:
        return float("nan")
    stacked = [np.stack([chain[name][:length] for chain in chains]) for name in _JUDGED]
    return max((r_hat(values) for values in stacked if np.ptp(values) > 0), default=float("nan"))


def _predictor(draw: Draw, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """u_i W v_j' of some cells."""
    left = draw.row_features[rows].astype(float) @ draw.weights
    return (left * draw.column_features[columns]).sum(axis=1)


def _quantile(values: list[float], share: float) -> float:
    """An order statistic: chains that stand still at different values have an infinite R-hat."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
