"""Reading aids for Discrete PCA: what a component is about, and which rows are most about it.

They follow the slide "Example component": high probability words of each group, words distinctive
by Bayes factor, and documents ranked by topic-specific PageRank (Richardson and Domingos, 2001).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from falsezero.data.labels import as_labels
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy

__all__ = ["best_rows", "distinctive_words", "page_rank", "top_words"]


def _columns(model: Any) -> np.ndarray:
    names = getattr(model, "feature_names_in_", None)
    return np.arange(model.components_.shape[1]) if names is None else np.asarray(names)


def top_words(model: Any, n: int = 10) -> Tidy:
    """The most probable words of every component, group by group.

    Returns
    -------
    Tidy
        Columns component, group, rank, word, probability (within its group).
    """
    names, found = _columns(model), []
    for k, theta in enumerate(model.components_):
        for g, group in enumerate(model.family_.names):
            inside = np.flatnonzero(model.family_.groups == g)
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


def distinctive_words(model: Any, X: Any, n: int = 10) -> Tidy:
    """Words that speak for a component: their tokens tell it from all the others.

    For word j and component k the tokens of the table are shared out, n_jk of them to k. The log
    Bayes factor weighs "k has a rate of its own for j" against "k uses j as often as everybody";
    only words that k uses more often count. Unlike a ratio of
    probabilities it does not favour words seen once or twice.

    Returns
    -------
    Tidy
        Columns component, rank, word, log_bayes_factor, probability.
    """
    tokens = _tokens_by_component(model, X)
    names, found = _columns(model), []
    total = tokens.sum(axis=1)
    all_tokens = max(total.sum(), 1.0)
    for k in range(tokens.shape[0]):
        own, rest = tokens[k], tokens.sum(axis=0) - tokens[k]
        factor = _log_bayes_factor(own, total[k], rest, all_tokens - total[k])
        order = np.argsort(-factor, kind="stable")[:n]
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


def _tokens_by_component(model: Any, X: Any) -> np.ndarray:
    """Expected tokens of each component and word, components x words."""
    values = sparse.csr_array(X.values if isinstance(X, Table) else X)
    weights = np.asarray(model.transform(X))
    share = weights / weights.sum(axis=1, keepdims=True)
    theta = model.components_
    tokens = np.zeros(theta.shape)
    for start in range(0, values.shape[0], 1024):
        part, m = values[start : start + 1024], share[start : start + 1024]
        rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        p = np.einsum("ik,ki->i", m[rows], theta[:, part.indices])
        ratio = sparse.csr_array((part.data / p, part.indices, part.indptr), part.shape)
        tokens += theta * np.asarray((ratio.T @ m).T)
    return tokens


def _log_bayes_factor(own: Any, n_own: Any, rest: Any, n_rest: Any) -> np.ndarray:
    """log of two binomial rates against one, by their maximised likelihoods less half a log each.

    The half logarithm of the tokens is the price of one more parameter (Schwarz); it stands for the
    prior and keeps rare words from winning by chance.
    """
    both, n_both = own + rest, n_own + n_rest

    def log_likelihood(x: Any, n: Any) -> np.ndarray:
        rate = x / np.maximum(n, 1e-12)
        return xlogy(x, rate) + xlogy(n - x, 1 - np.minimum(rate, 1))

    gain = log_likelihood(own, n_own) + log_likelihood(rest, n_rest) - log_likelihood(both, n_both)
    gain = gain - 0.5 * np.log(max(float(n_both), 1.0))
    more = own * n_rest > rest * n_own
    return np.where(more, gain, -np.inf)


def best_rows(model: Any, X: Any, n: int = 10) -> Tidy:
    """The rows that are most about each component: share of their tokens, long rows before short.

    Rows are ranked by the expected number of tokens beyond those that the average row would have.
    """
    values = X.values if isinstance(X, Table) else sparse.csr_array(X)
    labels = X.rows if isinstance(X, Table) else as_labels(None, values.shape[0], "row")
    weights = np.asarray(model.transform(X))
    share = weights / weights.sum(axis=1, keepdims=True)
    length = np.asarray(values.sum(axis=1), dtype=float)
    excess = (share - share.mean(axis=0)) * np.sqrt(np.maximum(length, 1.0))[:, None]
    found = []
    for k in range(share.shape[1]):
        for rank, i in enumerate(np.argsort(-excess[:, k], kind="stable")[:n]):
            found.append(
                {"component": k, "rank": rank + 1, "row": labels[i], "share": float(share[i, k])}
            )
    return Tidy.from_rows(found, ["component", "rank", "row", "share"])


def page_rank(model: Any, X: Any, links: Any, damping: float = 0.85) -> np.ndarray:
    """Topic-specific PageRank: which rows does somebody reach who follows links on one topic?

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
    import networkx as nx

    links = sparse.csr_array(links.values if isinstance(links, Table) else links)
    weights = np.asarray(model.transform(X))
    if links.shape != (len(weights), len(weights)):
        raise ValueError(
            f"links= needs one row and one column per row of the table ({len(weights)}), but has "
            f"shape {links.shape}."
        )
    share = weights / weights.sum(axis=1, keepdims=True)
    ranks = np.empty_like(share)
    for k in range(share.shape[1]):
        towards = sparse.csr_array(links * share[None, :, k])
        graph = nx.from_scipy_sparse_array(towards, create_using=nx.DiGraph)
        start = dict(enumerate(share[:, k].tolist()))
        rank = nx.pagerank(graph, alpha=damping, personalization=start, dangling=start)
        ranks[:, k] = [rank[i] for i in range(len(share))]
    return ranks
