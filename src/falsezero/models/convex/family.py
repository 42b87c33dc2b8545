"""Shared code of the convex Bernoulli family: p(x_nt = 1) = sum_k w_nk f_kt, w_n on the simplex."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from falsezero.base.capabilities import Capabilities
from falsezero.base.empirical_bayes import EmpiricalBayes
from falsezero.base.estimator import OptimisedModel
from falsezero.data.blocks import UNOBSERVED, Block, Blocks
from falsezero.data.row_files import gathered, opened
from falsezero.data.shard_files import shape_of
from falsezero.inference.contract import Fit
from falsezero.kernels.convex import (
    ConvexStatistics,
    convex_log_likelihood,
    convex_pass,
    onto_simplex,
)
from falsezero.models.convex.batches import BatchLearning

NEARER = 0.3
"""A stride may take a probability this much nearer to 0 or 1 than plain steps did, not further:
multiplicative updates cannot leave the edge again."""


_LARGE, _FEW = 4_000_000, 0.04
"""Cells from which on, and share of ones up to which, the sparse solver is chosen."""


class RowWeights(NamedTuple):
    """Row quantities of a block: weights of the components, one row each."""

    weights: np.ndarray


class Components(NamedTuple):
    """The shared state: probability of a one for each component and column."""

    components: np.ndarray


def floor_of(dtype: Any) -> float:
    """Smallest probability a component may give: it keeps every quotient of a pass finite."""
    return 1e-12 if np.dtype(dtype) == np.float64 else 1e-6


def fused_pass(
    block: Block, weights: np.ndarray, ones: np.ndarray, zeros: np.ndarray | None = None
) -> ConvexStatistics:
    """`convex_pass` tile by tile, so that a sparse block is never dense as a whole."""
    if isinstance(block.values, np.ndarray):
        # The pass takes few rows at a time by itself.
        return convex_pass(block.codes, weights, ones, zeros)
    total: ConvexStatistics | None = None
    row_stats = []
    for tile in block.tiles():
        w = weights[tile.start - block.start :][: tile.shape[0]]
        part = convex_pass(tile.codes, w, ones, zeros)
        row_stats.append(part.row_stat)
        if total is None:
            total = part
            continue
        np.add(total.ones, part.ones, out=total.ones)
        np.add(total.zeros, part.zeros, out=total.zeros)
        total = total._replace(log_likelihood=total.log_likelihood + part.log_likelihood)
    assert total is not None
    return total if len(row_stats) == 1 else total._replace(row_stat=np.concatenate(row_stats))


def sum_over_cells(blocks: Blocks, local: list[Any], components: np.ndarray) -> float:
    """Exact log likelihood of a table, every cell visited once."""
    total = 0.0
    for block, part in zip(blocks, local, strict=True):
        weights = opened(part).weights
        for tile in block.tiles():
            w = weights[tile.start - block.start :][: tile.shape[0]]
            total += convex_log_likelihood(tile.codes, w, components)
    return total


def uniform_rows(blocks: Blocks, n_components: int) -> list[RowWeights]:
    """Equal weights on all components for every row."""
    share = 1.0 / n_components
    return [RowWeights(np.full((b.shape[0], n_components), share, blocks.dtype)) for b in blocks]


def cut_rows(weights: np.ndarray, blocks: Blocks) -> list[RowWeights]:
    """Row weights of the whole table, cut like its blocks."""
    return [RowWeights(np.ascontiguousarray(weights[b.rows], blocks.dtype)) for b in blocks]


def concatenate_ordered(weights: list[np.ndarray], order: np.ndarray) -> np.ndarray:
    """Row weights of all blocks with their components in this order, in memory of their own."""
    rows = np.empty((sum(map(len, weights)), len(order)), dtype=weights[0].dtype)
    start = 0
    for part in weights:
        np.take(part, order, axis=1, out=rows[start : start + len(part)])
        start += len(part)
    return rows


def clip_to_reference(trial: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Probabilities no more than `NEARER` times as close to 0 or 1 as the reference."""
    return np.clip(trial, NEARER * reference, 1 - NEARER * (1 - reference))


def smallest_weight(dtype: Any) -> float:
    """Smallest weight of a row: its square is still a normal number; others are slow to handle."""
    return float(np.sqrt(np.finfo(dtype).tiny))


def normalise_rows(weights: np.ndarray) -> np.ndarray:
    """Make rows sum to one, no weight below `smallest_weight`; changes and returns its argument."""
    onto_simplex(weights, weights.dtype.type(smallest_weight(weights.dtype)))
    return weights


def renewed_rows(
    block: Block, weights: np.ndarray, row_stat: np.ndarray, share: float = 0.0
) -> np.ndarray:
    """Weights after an EM step, with `share` pseudo-observations of each component.

    A row without any observed cell, and without a prior, keeps the weights that it has.
    """
    new = weights * row_stat
    if share:
        new += weights.dtype.type(share)
    elif block.missing is not None:
        new = np.where(block.observed[:, None] > 0, new, weights)
    return normalise_rows(new)


class ConvexModel(BatchLearning, EmpiricalBayes, OptimisedModel):
    """Base of the convex Bernoulli models: all methods except fitting.

    A fitted model has `components_` (probability of a one for each component and column)
    and `row_weights_` (the weights of the training rows).
    """

    capabilities = Capabilities(
        table="binary",
        link="convex",
        row_score="density",
        cell_has_cause=True,
        sparse=True,
        distributed=True,
    )

    solver: str

    def __getattr__(self, name: str) -> Any:
        """Read row weights that were left in files when the attribute is first used."""
        files = self.__dict__.get("weight_files_")
        if name != "row_weights_" or files is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.row_weights_ = gathered(files)
        return self.row_weights_

    @property
    def _weights_in_files(self) -> list[str] | None:
        """The files of the row weights, where nobody has asked for all of them yet."""
        return None if "row_weights_" in self.__dict__ else self.__dict__.get("weight_files_")

    @property
    def _n_rows(self) -> int:
        """Rows of the training table."""
        files = self._weights_in_files
        return len(self.row_weights_) if files is None else sum(shape_of(f)[0] for f in files)

    @property
    def _average_weights(self) -> np.ndarray:
        files = self._weights_in_files
        if files is None:
            return super()._average_weights
        sums = [gathered([file]).sum(axis=0, dtype=float) for file in files]
        return np.asarray(sum(sums) / self._n_rows)

    def _optimise(self, blocks: Blocks) -> Fit:
        self._choose_solver(blocks)
        return super()._optimise(blocks)

    def _choose_solver(self, blocks: Blocks) -> None:
        worth = self.solver == "auto" and is_worth_sparse(blocks.shape, blocks.nnz)
        self.solver_ = "sparse" if worth or self.solver == "sparse" else "exact"

    def _is_sparse(self, blocks: Blocks) -> bool:
        """Whether plain zeros are not visited, which the training table decides for all rows."""
        # Files of version 1 do not have it.
        return getattr(self, "solver_", "exact") == "sparse"

    def _store(self, values: Any) -> Any:
        """A container chosen by the table's content, so that all containers give one answer."""
        cells = values.shape[0] * values.shape[1]
        if sparse.issparse(values):
            thin = self.solver == "sparse" or is_worth_sparse(values.shape, values.nnz)
            return values if thin or cells > 2 * _LARGE else values.toarray()
        if self.solver == "exact" or (self.solver == "auto" and cells <= _LARGE):
            return values
        n_ones = int(np.count_nonzero(values > 0))
        thin = self.solver == "sparse" or is_worth_sparse(values.shape, n_ones)
        return sparse.csr_array(values) if thin else values

    def _weights(self, local: Any) -> np.ndarray:
        return local.weights

    def cell_causes(self, block: Block, weights: np.ndarray) -> np.ndarray:
        """`cell_posterior` of all columns."""
        return self.cell_posterior(block, weights)

    def cell_posterior(
        self, block: Block, weights: np.ndarray, columns: Any = slice(None)
    ) -> np.ndarray:
        """Posterior over components for every cell of a block (Bingham et al., eq. 4).

        `columns` says which columns of the table a block has that was cut to some of them.

        Returns
        -------
        array of shape (n_components, n_rows, n_columns)
            NaN where a cell was not observed. Pass few rows at a time.
        """
        codes, components = block.codes, self.components_[:, None, columns]
        one = weights.T[:, :, None] * components
        zero = weights.T[:, :, None] * (1 - components)
        joint = np.where(codes == 1, one, zero)
        posterior = joint / np.maximum(joint.sum(axis=0), np.finfo(float).tiny)
        return np.where(codes == UNOBSERVED, np.nan, posterior)


def is_worth_sparse(shape: tuple[int, int], n_ones: int) -> bool:
    """Whether the sparse solver is likely to be faster: few ones in a large table."""
    cells = shape[0] * shape[1]
    return cells > _LARGE and n_ones < _FEW * cells
