"""Measures used in the papers: how well noise is removed, gaps are filled, groups are found.

Likelihoods are `model.score` (the mean of `score_samples`), `cross_entropy` and `perplexity`; the
likelihood of hidden cells, the same number for every model, is in `falsezero.analysis.heldout`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp, xlogy
from sklearn.metrics import roc_auc_score
from sklearn.metrics.cluster import contingency_matrix

from falsezero.analysis.heldout import FLOOR
from falsezero.data.arrays import as_dense
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy

__all__ = [
    "Entropies",
    "Gaps",
    "NoiseRemoval",
    "clustering_agreement",
    "cross_entropy",
    "denoising_auc",
    "empirical_bayes",
    "entropies",
    "gap_counts",
    "noise_removal",
    "perplexity",
    "posterior_histogram",
    "reconstruction_error",
]


_MOST_CELLS = 1 << 28
"""Cells of the largest table that is made dense: two gigabytes."""


# -- likelihood -------------------------------------------------------------------------------


def empirical_bayes(atoms: Any, table: Any) -> np.ndarray:
    """Log likelihood of each row of table with its probabilities drawn from known rows.

    This is the empirical Bayes test likelihood (Bingham et al., eqs. 21-24) for anything that
    gives probabilities of ones: log of the mean over atoms n of prod_t p_nt^x (1 - p_nt)^(1 - x).
    Our own models compute it in `score_samples`; this function serves other models, such as NMF.

    Parameters
    ----------
    atoms : array of shape (n_atoms, n_columns)
        Probabilities of the training rows, clipped away from 0 and 1.
    table : array of shape (n_rows, n_columns)
        Zeros and ones; NaN cells are left out.

    Examples
    --------
    >>> np.exp(empirical_bayes([[0.5, 0.5], [0.9, 0.9]], [[1, 1]])).round(3)
    array([0.53])
    """
    p = np.clip(_dense(atoms), FLOOR, 1 - FLOOR)
    values = _dense(table)
    ones, zeros = (values == 1).astype(float), (values == 0).astype(float)
    log_p = ones @ np.log(p).T + zeros @ np.log1p(-p).T
    return np.asarray(logsumexp(log_p, axis=1) - np.log(len(p)))


def cross_entropy(model: Any, table: Any, *, base: float = 2.0, per: str = "row") -> float:
    """Mean of -log p(row) over the rows of table, in bits by default (noisy-or, section 5.4.3).

    p is whatever the model's `score_samples` gives: exact for mixtures, empirical Bayes for the
    convex and logistic models, a bound where its docstring says so. With ``per="cell"`` it is
    divided by the number of observed cells instead of rows.

    Parameters
    ----------
    model : fitted model with `score_samples`
    table : Table, array, sparse array or data frame
    base : float, default=2.0
        Base of the logarithm: 2 for bits, e for nats.
    per : {"row", "cell"}, default="row"
    """
    if per not in ("row", "cell"):
        raise ValueError(f"per={per!r} is not known; choose 'row' or 'cell'.")
    scores = model.score_samples(table)
    number = len(scores)
    if per == "cell":
        table = table if isinstance(table, Table) else Table(table)
        number = table.shape[0] * table.shape[1] - table.n_missing
    return float(-scores.sum() / number / np.log(base))


def perplexity(model: Any, table: Any, *, per: str = "row") -> float:
    """2 to the power of the cross entropy; infinite where a row is too improbable for a double.

    Parameters
    ----------
    model, table, per
        As in `cross_entropy`.
    """
    bits = cross_entropy(model, table, per=per)
    return 2.0**bits if bits < 1024 else float("inf")


# -- noise ------------------------------------------------------------------------------------


class NoiseRemoval(NamedTuple):
    """How well noise was removed."""

    rate: float
    """1 - (false_positive + false_negative) / 2."""
    false_positive: float
    """Share of true zeros that became ones."""
    false_negative: float
    """Share of false zeros that stayed zeros."""


def noise_removal(clean: Any, spoilt: Any, restored: Any, *, noise: str = "omissions") -> Any:
    """Noise removal rate 1 - (fp + fn) / 2 (Bingham et al., section 3.4.2).

    Parameters
    ----------
    clean, spoilt : array of zeros and ones
        The table before and after corruption; cells that are NaN in either are left out.
    restored : array
        A reconstruction; it is rounded, at least 0.5 is a one.
    noise : {"omissions", "additions"}
        Whether ones were turned off (false zeros are sought) or zeros turned on (then zeros and
        ones swap roles throughout).

    Examples
    --------
    >>> noise_removal([[1, 1, 0, 0]], [[1, 0, 0, 0]], [[0.9, 0.8, 0.1, 0.6]])
    NoiseRemoval(rate=0.75, false_positive=0.5, false_negative=0.0)
    """
    if noise not in ("omissions", "additions"):
        raise ValueError(f"noise={noise!r} is not known; choose 'omissions' or 'additions'.")
    truth, seen, answer = _same_shape(clean, spoilt, restored)
    known = ~np.isnan(truth) & ~np.isnan(seen)
    before, after, result = truth == 1, seen == 1, answer >= 0.5
    if noise == "additions":
        before, after, result = ~before, ~after, ~result
    false_positive = _share(result, known & ~before)
    false_negative = _share(~result, known & before & ~after)
    return NoiseRemoval(1 - (false_positive + false_negative) / 2, false_positive, false_negative)


def denoising_auc(clean: Any, spoilt: Any, probability: Any) -> float:
    """Area under the ROC curve of true against false zeros (Kabán and Bingham, section 4.2).

    The cells that are zero in the spoilt table are ranked by their reconstructed probability, and
    those that were ones in the clean table should come first. With a binary reconstruction it is
    the noise removal rate.

    >>> denoising_auc([[1, 1, 0, 0]], [[1, 0, 0, 0]], [[0.9, 0.8, 0.1, 0.6]])
    1.0
    """
    before, after, scores = _same_shape(clean, spoilt, probability)
    where = (after == 0) & ~np.isnan(before)
    truth = before[where] == 1
    if truth.all() or not truth.any():
        raise ValueError("denoising_auc needs false and true zeros, but all zeros are of one kind.")
    return float(roc_auc_score(truth, scores[where]))


def reconstruction_error(table: Any, expected: Any) -> float:
    """Share of observed cells that a rounded reconstruction gets wrong.

    Parameters
    ----------
    table : array or Table
        Zeros and ones (anything above zero counts as a one); NaN where not observed.
    expected : array or Table
        Probabilities; at least 0.5 is a one.

    Examples
    --------
    >>> reconstruction_error([[1, 0, np.nan]], [[0.9, 0.7, 0.1]])
    0.5
    """
    values, answer = _same_shape(table, expected)
    wrong = (values > 0) != (answer >= 0.5)
    return _share(wrong, ~np.isnan(values))


def posterior_histogram(model: Any, clean: Any, spoilt: Any) -> Tidy:
    """Which components explain true ones, added ones and zeros (Bingham et al., eqs. 29-31).

    Parameters
    ----------
    model : fitted AspectBernoulli, BinaryICA or BernoulliMixture
    clean, spoilt : Table or array of zeros and ones
        The table without and with ones added.

    Returns
    -------
    Tidy with columns component, true_ones, added_ones, zeros; each of the three sums to one.
    """
    original = clean if isinstance(clean, Table) else Table(clean)
    n_components = model.components_.shape[0]
    totals = np.zeros((3, n_components))
    for block, weights in model.weights_by_block(spoilt):
        for tile in block.tiles():
            shares = weights[tile.start - block.start :][: tile.shape[0]]
            posterior = np.nan_to_num(model.cell_causes(tile, shares))
            codes, truth = tile.codes, original.values[tile.rows].toarray()
            ones, zeros = codes == 1, (codes == 0) & ~np.isnan(truth)
            for i, where in enumerate((ones & (truth == 1), ones & (truth == 0), zeros)):
                totals[i] += posterior[:, where].sum(axis=1)
    shares = totals / np.maximum(totals.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return Tidy(
        component=np.arange(n_components),
        true_ones=shares[0],
        added_ones=shares[1],
        zeros=shares[2],
    )


# -- entropy ----------------------------------------------------------------------------------


class Entropies(NamedTuple):
    """The weighted entropies that EM of a convex model minimises (Bingham et al., eq. 20)."""

    row_weights: float
    """Sum over rows of their observed cells times the entropy of their weights, in nats."""
    components: float
    """Entropies of a_kt, each times the expected number of cells that it made."""

    @property
    def expected_log_likelihood(self) -> float:
        """Expected complete data log likelihood (eq. 18): minus the sum of both."""
        return -(self.row_weights + self.components)


def entropies(model: Any, table: Any) -> Entropies:
    """Expected complete data log likelihood as two entropies (Bingham et al., eqs. 18-20).

    With q the posterior of the causes of every cell (eq. 4), s_kn the mean of q over the cells of
    row n and a_kt its share of ones in column t, which are the M-step (5)-(6), the expected log
    likelihood is - sum_n T_n H(s_n) - sum_kt H(a_kt) sum_n q_knt. Cells not observed are left out.

    Parameters
    ----------
    model : fitted AspectBernoulli or BinaryICA
    table : Table or array of zeros and ones

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(60, 12, 2, random_state=0).table
    >>> both = entropies(fz.AspectBernoulli(2, prior=0, random_state=0).fit(table), table)
    >>> both.row_weights > 0 and both.components > 0
    True
    """
    ones, zeros = np.zeros((2, *model.components_.shape))
    of_rows = 0.0
    for block, weights in model.weights_by_block(table):
        for tile in block.tiles():
            shares = weights[tile.start - block.start :][: tile.shape[0]]
            posterior = np.nan_to_num(model.cell_causes(tile, shares))
            ones += np.einsum("knt,nt->kt", posterior, tile.codes == 1)
            zeros += np.einsum("knt,nt->kt", posterior, tile.codes == 0)
            made = (posterior * np.isin(tile.codes, (0, 1))).sum(axis=2)
            of_rows += float(_log_sum(made.sum(axis=0)) - _log_sum(made))
    return Entropies(of_rows, _log_sum(ones + zeros) - _log_sum(ones) - _log_sum(zeros))


def _log_sum(counts: np.ndarray) -> float:
    """Sum of c log c."""
    return float(xlogy(counts, counts).sum())


# -- groups -----------------------------------------------------------------------------------


def clustering_agreement(labels: Any, predicted: Any, matching: str = "optimal") -> float:
    """Share of rows whose predicted group stands for their true class.

    Parameters
    ----------
    labels, predicted : arrays
    matching : {"optimal", "majority"}
        "optimal" pairs groups and classes one to one so that the most rows agree; "majority" gives
        each group the class of most of its rows (for more groups than classes).

    Examples
    --------
    >>> clustering_agreement(list("aabb"), [1, 1, 0, 2]), clustering_agreement(
    ...     list("aabb"), [1, 1, 0, 2], matching="majority")
    (0.75, 1.0)
    """
    counts = contingency_matrix(labels, predicted)
    if matching == "majority":
        return float(counts.max(axis=0).sum() / counts.sum())
    if matching != "optimal":
        raise ValueError(f"matching={matching!r} is not known; choose 'optimal' or 'majority'.")
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())


# -- gaps -------------------------------------------------------------------------------------


class Gaps(NamedTuple):
    """Gaps of an ordered table, and how a reconstruction changes them."""

    before: int
    """Zeros between the first and the last one of their column."""
    filled: int
    """How many of them the reconstruction turns into ones."""
    added: int
    """Ones that the reconstruction puts outside the range of their column."""
    after: int
    """Gaps of the table with the reconstructed ones in it: those outside make new gaps."""

    @property
    def decrease(self) -> int:
        """The figure of Table 4 of Bingham et al.: gaps before less gaps after."""
        return self.before - self.after


def gap_counts(table: Any, order: Any, restored: Any = None) -> Gaps:
    """Count zeros between the first and the last find of a column (Bingham et al., 3.4.1).

    Parameters
    ----------
    table : array of zeros and ones
        Sites x genera, say. Cells not observed (NaN) are no gaps, whatever is restored there.
    order : array, one number per row
        Such as the age of a site.
    restored : array, optional
        A reconstruction; it is rounded, and joined with the ones that were there.

    Examples
    --------
    >>> finds = [[1, 0], [0, 1], [1, 0], [0, 0]]
    >>> gap_counts(finds, order=[1, 2, 3, 4], restored=[[1, 0], [1, 1], [1, 0], [0, 1]])
    Gaps(before=1, filled=1, added=1, after=1)
    """
    ranks = np.argsort(np.asarray(order, dtype=float), kind="stable")
    values = _dense(table)[ranks]
    ones = values > 0
    inside = _within_range(ones)
    gaps = inside & (values == 0)
    if restored is None:
        return Gaps(int(gaps.sum()), 0, 0, int(gaps.sum()))
    _, answer = _same_shape(table, restored)
    new = (answer[ranks] >= 0.5) & ~np.isnan(values)
    joined = ones | new
    after = _within_range(joined) & ~joined & ~np.isnan(values)
    filled, added = (gaps & new).sum(), (new & ~ones & ~inside).sum()
    return Gaps(int(gaps.sum()), int(filled), int(added), int(after.sum()))


def _within_range(ones: np.ndarray) -> np.ndarray:
    """Cells from the first to the last one of their column."""
    since = np.maximum.accumulate(ones, axis=0)
    until = np.maximum.accumulate(ones[::-1], axis=0)[::-1]
    return since & until


def _dense(table: Any) -> np.ndarray:
    """A table as an array; these measures visit every cell several times."""
    known: Any = np.asarray(table, dtype=float) if isinstance(table, (list, tuple)) else table
    if math.prod(known.shape) > _MOST_CELLS:
        raise ValueError(
            f"A {known.shape[0]} x {known.shape[1]} table is too large for this measure; "
            "use a sample of its rows."
        )
    return np.asarray(as_dense(known), dtype=float)


def _same_shape(*tables: Any) -> list[np.ndarray]:
    """Tables as arrays, which must have the same shape."""
    found = [_dense(table) for table in tables]
    shapes = [array.shape for array in found]
    if len(set(shapes)) > 1:
        raise ValueError(f"Tables to compare need the same rows and columns, but have {shapes}.")
    return found


def _share(which: np.ndarray, among: np.ndarray) -> float:
    number = int(among.sum())
    return float((which & among).sum() / number) if number else 0.0
