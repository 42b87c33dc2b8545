"""The zeros to doubt, and the ones to doubt, cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.analysis.noise import resolve_keep
from falsezero.data.tidy import Tidy
from falsezero.data.validate import labels_of

__all__ = ["expand", "false_absences", "false_presences"]


def false_absences(
    model: Any,
    table: Any,
    *,
    keep: Any = None,
    n: int | None = None,
    min_probability: float = 0.5,
) -> Tidy:
    """Zeros that are probably omissions, best first, with the causes that speak for each.

    A zero is a false absence when noise made it and the content of its row would have made a one.
    With p the probability of a one by the components kept, and q the posterior probability
    (Bingham et al., eq. 4) that a removed component made this zero, its probability is q p.

    Parameters
    ----------
    model : fitted AspectBernoulli or BinaryICA
    table : Table, array, sparse array or data frame
    keep : array, optional
        P(u|k) per component; by default 0 for the phantoms.
    n : int, optional
        List at most so many.
    min_probability : float, default=0.5
        Leave out cells below this.

    Returns
    -------
    Tidy with columns row, column, probability, content (p), noise (q), causes

    Examples
    --------
    >>> import falsezero as fz
    >>> clean = fz.datasets.make_aspect_bernoulli(
    ...     400, 50, 3, concentration=0.1, shape=(0.2, 0.3), random_state=0
    ... ).table
    >>> spoilt = fz.corrupt(clean, omit=0.6, random_state=0)
    >>> model = fz.AspectBernoulli(4, n_init=3, random_state=0).fit(spoilt)
    >>> doubtful = fz.false_absences(model, spoilt, n=100)
    >>> doubtful.columns
    ['row', 'column', 'probability', 'content', 'noise', 'causes']
    """
    return _doubtful(model, table, 0, keep, n, min_probability)


def false_presences(
    model: Any,
    table: Any,
    *,
    keep: Any = None,
    n: int | None = None,
    min_probability: float = 0.5,
) -> Tidy:
    """Ones that are probably additions, best first: `false_absences` with ones and zeros swapped.

    Here ``content`` is the probability of a one by the components kept, ``noise`` the posterior
    probability that a removed component made this one, and ``probability`` is noise (1 - content).

    Parameters
    ----------
    model, table, keep, n, min_probability
        As in `false_absences`.

    Returns
    -------
    Tidy with columns row, column, probability, content, noise, causes
        The causes are those that speak for a zero.
    """
    return _doubtful(model, table, 1, keep, n, min_probability)


def expand(model: Any, table: Any, *, rows: Any = None, keep: Any = None, n: int = 9) -> Tidy:
    """For each row, the absent attributes that the noise is held responsible for.

    This is query expansion as in Table 3 of Bingham et al.: absent columns, best first by the
    posterior probability that a removed component made the zero.

    Parameters
    ----------
    model : fitted AspectBernoulli or BinaryICA
    table : Table, array, sparse array or data frame
    rows : list of labels, optional
        Which rows; all of them when left out.
    keep : array, optional
        P(u|k) per component; by default 0 for the phantoms.
    n : int, default=9
        At most so many columns a row.

    Returns
    -------
    Tidy with columns row, column, noise, content
    """
    keep = resolve_keep(model, keep)
    row_labels, column_labels = labels_of(model, table)
    wanted = row_positions(row_labels, rows)
    found: dict[int, list[dict[str, Any]]] = {}
    for block, weights in model.weights_by_block(table):
        inside = wanted[(wanted >= block.rows.start) & (wanted < block.rows.stop)]
        if not len(inside):
            continue
        content, noise = _content_and_noise(model, weights, keep_rows(keep, block.rows), 0)
        codes = block.codes
        for row in inside:
            i = row - block.start
            absent = np.flatnonzero(codes[i] == 0)
            best = absent[np.argsort(-noise[i, absent], kind="stable")[:n]]
            found[row] = [
                {
                    "row": row_labels[row],
                    "column": column_labels[t],
                    "noise": float(noise[i, t]),
                    "content": float(content[i, t]),
                }
                for t in best
            ]
    listed = [entry for row in wanted for entry in found[row]]
    return Tidy.from_rows(listed, ["row", "column", "noise", "content"])


def row_positions(labels: np.ndarray, wanted: Any) -> np.ndarray:
    """Positions of rows asked for by label; all of them when nothing was asked for."""
    if wanted is None:
        return np.arange(len(labels))
    position = {label: i for i, label in enumerate(labels.tolist())}
    unknown = [label for label in wanted if label not in position]
    if unknown:
        some = ", ".join(repr(label) for label in list(position)[:3])
        raise ValueError(f"There is no row {unknown[0]!r} in this table; its rows are {some}, ...")
    return np.array([position[label] for label in wanted], dtype=int)


def _content_and_noise(
    model: Any, weights: np.ndarray, keep: np.ndarray, value: int
) -> tuple[np.ndarray, np.ndarray]:
    """p(one | content) and the posterior probability that noise made the value, per cell."""
    content = model._expected(model.reweigh(weights, keep))
    makes = model.components_ if value else 1 - model.components_
    removed = (weights * (1 - keep)) @ makes
    everything = weights @ makes
    noise = removed / np.maximum(everything, np.finfo(float).tiny)
    return content, np.minimum(noise, 1.0)


def doubt_of(model: Any, weights: np.ndarray, keep: np.ndarray, value: int) -> np.ndarray:
    """Probability, for every cell, that it is wrong if it holds this value."""
    return _doubt(*_content_and_noise(model, weights, keep, value), value)


def _doubt(content: np.ndarray, noise: np.ndarray, value: int) -> np.ndarray:
    return np.asarray(noise * (1 - content if value else content))


def _doubtful(
    model: Any, table: Any, value: int, keep: Any, n: int | None, min_probability: float
) -> Tidy:
    keep = resolve_keep(model, keep)
    row_labels, column_labels = labels_of(model, table)
    parts = [
        _doubtful_in(model, block, weights, keep_rows(keep, block.rows), value, min_probability)
        for block, weights in model.weights_by_block(table)
    ]
    rows, columns, probability, content, noise, causes = (
        np.concatenate([part[i] for part in parts]) for i in range(6)
    )
    order = np.lexsort((columns, rows, -probability))[:n]
    return Tidy(
        row=row_labels[rows[order]],
        column=column_labels[columns[order]],
        probability=probability[order],
        content=content[order],
        noise=noise[order],
        causes=[_cause_text(shares) for shares in causes[order]],
    )


def keep_rows(keep: np.ndarray, rows: slice) -> np.ndarray:
    """The part of P(u|k, row) that belongs to some rows; P(u|k) serves them all."""
    return keep if keep.ndim == 1 else keep[rows]


def _doubtful_in(
    model: Any, block: Any, weights: np.ndarray, keep: np.ndarray, value: int, least: float
) -> tuple[np.ndarray, ...]:
    content, noise = _content_and_noise(model, weights, keep, value)
    probability = _doubt(content, noise, value)
    at, columns = np.nonzero((block.codes == value) & (probability >= least))
    kept = model.reweigh(weights, keep)
    makes = model.components_.T if value == 0 else 1 - model.components_.T
    causes = kept[at] * makes[columns]
    causes /= np.maximum(causes.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    cell = (at, columns)
    return at + block.start, columns, probability[cell], content[cell], noise[cell], causes


def _cause_text(shares: np.ndarray) -> str:
    """The components that speak for a cell, with their shares: "3 (0.92), 0 (0.07)"."""
    order = np.argsort(-shares, kind="stable")[:3]
    return ", ".join(f"{k} ({shares[k]:.2f})" for k in order if shares[k] >= 0.05)
