"""Reading aids for topics: what a component is about, and which rows are most about it.

They serve every model whose weights and components are shares or rates, so none below zero:
Discrete PCA first of all, PLSA, mixtures and convex models too. They follow the slide "Example
component": high probability words of each group, words distinctive by Bayes factor, and documents
ranked by topic-specific PageRank (Richardson and Domingos, 2001).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from falsezero.data.errors import import_for
from falsezero.data.numbers import checked_count
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.data.validate import check_table, column_names, labels_of

__all__ = ["best_rows", "distinctive_words", "linked_rows", "page_rank", "top_words"]

_ROWS = 1024
"""Rows whose tokens are shared out at a time."""


def _columns(model: Any, feature_names: Any = None) -> np.ndarray:
    """Names of the columns: those given, those of the training table, or their numbers."""
    if feature_names is not None:
        given = np.asarray(feature_names)
        if given.shape != (model.components_.shape[1],):
            raise ValueError(
                f"feature_names= needs one name per column ({model.components_.shape[1]}), but has "
                f"shape {given.shape}."
            )
        return given
    return column_names(model)


def _shares(model: Any, table: Any) -> np.ndarray:
    """Share of each component in each row; equal shares for rows without weights."""
    weights = np.asarray(model.transform(table), dtype=float)
    if (weights < 0).any() or (model.components_ < 0).any():
        raise TypeError(
            f"{type(model).__name__} has weights or components below zero, so rows have no shares "
            "of topics; use DiscretePCA, PLSA, a mixture or a convex model."
        )
    total = weights.sum(axis=1, keepdims=True)
    equal = np.full_like(weights, 1 / weights.shape[1])
    shares: np.ndarray = np.divide(weights, total, out=equal, where=total > 0)
    return shares


def observed_counts(model: Any, table: Any) -> sparse.csr_array:
    """The table as the model sees it; cells not observed have no tokens."""
    binarize = model.get_params().get("binarize")
    values = sparse.csr_array(
        check_table(model, table, kind=model.capabilities.table, binarize=binarize, reset=False),
        copy=True,
    )
    values.data = np.nan_to_num(values.data)
    return values


def top_words(model: Any, n: int = 10, *, feature_names: Any = None) -> Tidy:
    """The most probable words of every component, group by group.

    Parameters
    ----------
    model : fitted model
    n : int, default=10
        Words of each component and group.
    feature_names : array of str, optional
        Names of the columns, for a model that was fitted on an array without any, as in
        ``feature_names=vectorizer.get_feature_names_out()``.

    Returns
    -------
    Tidy
        Columns component, group, rank, word, probability (within its group).

    Examples
    --------
    >>> from falsezero import PLSA, Table
    >>> table = Table([[3, 1, 0], [2, 2, 0], [0, 0, 4]], columns=["bone", "tooth", "vote"])
    >>> words = top_words(PLSA(2, random_state=0).fit(table), n=1)
    >>> sorted(words["word"].tolist())
    ['bone', 'vote']
    """
    n = checked_count(n, "n")
    names, found = _columns(model, feature_names), []
    for k, theta in enumerate(model.components_):
        for group, inside in model._column_groups().items():
            order = inside[np.argsort(-theta[inside], kind="stable")][:n]
            found += [
                {
                    "component": k,
                    "group": group,
                    "rank": rank + 1,
                    "word": names[j],
                    "probability": float(theta[j]),
                }
                for rank, j in enumerate(order)
            ]
    return Tidy.from_rows(found, ["component", "group", "rank", "word", "probability"])


def distinctive_words(model: Any, table: Any, n: int = 10, *, feature_names: Any = None) -> Tidy:
    """Words that distinguish a component from all others.

    For word j and component k the tokens of the table are shared out, n_jk of them to k. The log
    Bayes factor compares "k has its own rate for j" with "k uses j as often as the others"; only
    words that k uses more often are listed. Unlike a ratio of probabilities it does not favour
    words seen once or twice.

    Returns
    -------
    Tidy
        Columns component, rank, word, log_bayes_factor, probability.
    """
    n = checked_count(n, "n")
    tokens = _tokens_by_component(model, table)
    names, found = _columns(model, feature_names), []
    total = tokens.sum(axis=1)
    for k in range(tokens.shape[0]):
        own, rest = tokens[k], tokens.sum(axis=0) - tokens[k]
        factor = _log_bayes_factor(own, total[k], rest, total.sum() - total[k])
        order = np.argsort(-factor, kind="stable")[: min(n, np.isfinite(factor).sum())]
        found += [
            {
                "component": k,
                "rank": rank + 1,
                "word": names[j],
                "log_bayes_factor": float(factor[j]),
                "probability": float(model.components_[k, j]),
            }
            for rank, j in enumerate(order)
        ]
    return Tidy.from_rows(found, ["component", "rank", "word", "log_bayes_factor", "probability"])


def _tokens_by_component(model: Any, table: Any) -> np.ndarray:
    """Expected tokens of each component and word, components x words."""
    values, share, theta = observed_counts(model, table), _shares(model, table), model.components_
    tokens = np.zeros(theta.shape)
    for start in range(0, values.shape[0], _ROWS):
        part, m = values[start : start + _ROWS], share[start : start + _ROWS]
        rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        p = np.einsum("ik,ki->i", m[rows], theta[:, part.indices])
        per_share = np.divide(part.data, p, out=np.zeros_like(p), where=p > 0)
        ratio = sparse.csr_array((per_share, part.indices, part.indptr), part.shape)
        tokens += theta * np.asarray((ratio.T @ m).T)
    return tokens


def _log_bayes_factor(own: Any, n_own: Any, rest: Any, n_rest: Any) -> np.ndarray:
    """Log Bayes factor of two binomial rates against one, by Schwarz's approximation.

    Maximised log likelihoods, less half the logarithm of the tokens for one more parameter: this
    stands for the prior and keeps rare words from winning by chance.
    """
    both, n_both = own + rest, n_own + n_rest

    def log_likelihood(x: Any, n: Any) -> np.ndarray:
        # The tokens of a component of one word may round to less than those of the word.
        others, total = np.maximum(n - x, 0.0), np.maximum(n, 1e-12)
        return np.asarray(xlogy(x, x / total) + xlogy(others, others / total))

    gain = log_likelihood(own, n_own) + log_likelihood(rest, n_rest) - log_likelihood(both, n_both)
    gain = gain - 0.5 * np.log(max(float(n_both), 1.0))
    more = own * n_rest > rest * n_own
    return np.where(more, gain, -np.inf)


def best_rows(model: Any, table: Any, n: int = 10) -> Tidy:
    """The rows with the largest share of each component, long rows before short ones.

    Rows are ranked by the expected number of tokens beyond those that the average row would have.
    """
    n = checked_count(n, "n")
    share, labels = _shares(model, table), labels_of(model, table)[0]
    length = np.asarray(observed_counts(model, table).sum(axis=1), dtype=float)
    excess = (share - share.mean(axis=0)) * np.sqrt(np.maximum(length, 1.0))[:, None]
    found = []
    for k in range(share.shape[1]):
        for rank, i in enumerate(np.argsort(-excess[:, k], kind="stable")[:n]):
            found.append(
                {"component": k, "rank": rank + 1, "row": labels[i], "share": float(share[i, k])}
            )
    return Tidy.from_rows(found, ["component", "rank", "row", "share"])


def page_rank(model: Any, table: Any, links: Any, damping: float = 0.85) -> np.ndarray:
    """Topic-specific PageRank: which rows a reader of one topic reaches by following links.

    A surfer interested in component k follows a link from row i to row j with probability
    proportional to j's share of k, and starts anew at a row with probability proportional to its
    share (Richardson and Domingos, 2001).

    Parameters
    ----------
    links : sparse array of shape (n_rows, n_rows)
        A one where row i links to row j.
    damping : float
        Probability of following a link rather than starting anew.

    Returns
    -------
    array of shape (n_rows, n_components); each column adds up to one.
    """
    with import_for("page_rank", "networkx", "falsezero[network]"):
        import networkx as nx
    links = sparse.csr_array(links.values if isinstance(links, Table) else links)
    share = _shares(model, table)
    if links.shape != (len(share), len(share)):
        raise ValueError(
            f"links= needs one row and one column per row of the table ({len(share)}), but has "
            f"shape {links.shape}."
        )
    ranks = np.empty_like(share)
    for k in range(share.shape[1]):
        towards = sparse.csr_array(links * share[None, :, k])
        graph = nx.from_scipy_sparse_array(towards, create_using=nx.DiGraph)
        start = dict(enumerate(share[:, k].tolist()))
        rank = nx.pagerank(graph, alpha=damping, personalization=start, dangling=start)
        ranks[:, k] = [rank[i] for i in range(len(share))]
    return ranks


def linked_rows(model: Any, table: Any, links: Table, n: int = 10) -> Tidy:
    """The most important rows of each component, by topic and links (`page_rank`).

    Parameters
    ----------
    model : fitted model
    table : Table
        Rows that link to each other; their labels are what `links` names.
    links : Table
        A one where the row with this row label links to the row with this column label. Links
        from or to rows that `table` does not have are left out.
    n : int, default=10
        Rows of each component.

    Returns
    -------
    Tidy
        Columns component, rank, row, page_rank.

    Examples
    --------
    >>> from falsezero import PLSA
    >>> table = Table([[3, 0], [2, 0], [0, 4]], rows=["a", "b", "c"])
    >>> links = Table([[1.0], [1.0]], rows=["a", "c"], columns=["b"])
    >>> best = linked_rows(PLSA(2, random_state=0).fit(table), table, links, n=1)
    >>> sorted(best["row"].tolist())
    ['b', 'c']
    """
    labels = labels_of(model, table)[0]
    ranks = page_rank(model, table, _between_rows(links, labels))
    found = []
    for k, column in enumerate(ranks.T):
        for rank, i in enumerate(np.argsort(-column, kind="stable")[:n]):
            row = {"component": k, "rank": rank + 1, "row": labels[i]}
            found.append({**row, "page_rank": float(column[i])})
    return Tidy.from_rows(found, ["component", "rank", "row", "page_rank"])


def _between_rows(links: Table, labels: np.ndarray) -> sparse.csr_array:
    """Links by label as a square array over the rows of a table."""
    place = {label: i for i, label in enumerate(labels.tolist())}
    cells = sparse.coo_array(links.values)
    source, target = (
        np.array([place.get(label, -1) for label in side.tolist()], dtype=int)[of]
        for side, of in ((links.rows, cells.row), (links.columns, cells.col))
    )
    known = (source >= 0) & (target >= 0) & (cells.data > 0)
    if not known.any():
        raise ValueError(
            "links= names no link between two rows of the table: the labels of its rows and "
            "columns have to be row labels of the table."
        )
    shape = (len(labels), len(labels))
    return sparse.csr_array((np.ones(known.sum()), (source[known], target[known])), shape)
