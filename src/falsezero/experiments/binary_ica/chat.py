"""Binary ICA paper, section 5.2: from a sequence of contributions to a network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from falsezero.data.table import Table
from falsezero.experiments._methods import fitted
from falsezero.experiments._report import Report
from falsezero.plot import MatricesDisplay

N_PEOPLE, N_GROUPS, N_THREADS, N_LAGS = 160, 8, 4, 8
N_COMPONENTS = 12


class Chat(NamedTuple):
    """Who spoke, in order, and who could answer whom."""

    speakers: np.ndarray
    answers: np.ndarray


def make_chat(n: int, seed: int) -> Chat:
    """Four conversations at a time in one room, each within a group of twenty people.

    In a conversation people answer the one who spoke last, if they ever answer that person. Which
    conversation contributes next is chance, so that neighbours in the sequence are often strangers.

    >>> make_chat(100, 0).speakers.shape
    (100,)
    """
    rng = np.random.default_rng(seed)
    group = np.arange(N_PEOPLE) % N_GROUPS
    answers = (group[:, None] == group[None, :]) & (rng.random((N_PEOPLE, N_PEOPLE)) < 0.5)
    np.fill_diagonal(answers, False)
    last = rng.choice(N_PEOPLE, N_THREADS)
    speakers = np.zeros(n, dtype=int)
    for t in range(n):
        thread = rng.integers(N_THREADS)
        if rng.random() < 0.05:
            last[thread] = rng.integers(N_PEOPLE)
        else:
            last[thread] = rng.choice(np.flatnonzero(answers[last[thread]]))
        speakers[t] = last[thread]
    return Chat(speakers, answers)


def network(speakers: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """Who is followed by whom at the lag of every contribution after the first few."""
    now = np.arange(N_LAGS, len(speakers))
    graph = np.zeros((N_PEOPLE, N_PEOPLE))
    graph[speakers[now - lags], speakers[now]] = 1
    return graph


def likely_lags(speakers: np.ndarray, n_iter: int = 50) -> np.ndarray:
    """The lag from 1 to 8 that each contribution most likely answers (Berchtold and Raftery, 2002).

    The next speaker is drawn from q(. | speaker l contributions ago), lag l having probability
    lambda_l; EM gives lambda, the one matrix q of all lags, and the posterior of every lag.

    >>> likely_lags(np.array([0, 1] * 50))[0] % 2
    np.int64(1)
    """
    now = np.arange(N_LAGS, len(speakers))
    before = speakers[now[:, None] - np.arange(1, N_LAGS + 1)]
    after = np.broadcast_to(speakers[now][:, None], before.shape)
    posterior = np.full(before.shape, 1 / N_LAGS)
    for _ in range(n_iter):
        weight = posterior.mean(axis=0)
        q = np.zeros((N_PEOPLE, N_PEOPLE))
        np.add.at(q, (before, after), posterior)
        q /= np.maximum(q.sum(axis=1, keepdims=True), 1e-300)
        posterior = weight * q[before, after]
        posterior /= posterior.sum(axis=1, keepdims=True)
    return 1 + posterior.argmax(axis=1)


def lags(report: Report) -> None:
    """Figure 19's two graphs on a chat made up for it."""
    report.section(
        "Section 5.2: a network from a sequence",
        f"The paper's chat is not public. Here {N_PEOPLE} simulated people in {N_GROUPS} groups "
        f"hold {N_THREADS} conversations at a time in one room. The first graph links neighbours "
        "in the sequence, the second links each contribution with the one that it most likely "
        "answers.",
    )
    chat = make_chat(8000, 0)
    n = len(chat.speakers) - N_LAGS
    graphs = {
        "first order": network(chat.speakers, np.ones(n, dtype=int)),
        "mixed transitions": network(chat.speakers, likely_lags(chat.speakers)),
    }
    panels = {name: _reordered(graph, report.quick) for name, graph in graphs.items()}
    display = MatricesDisplay(panels, "answered by", "speaker", (0.0, 1.0))
    caption = "Figure 19 on the simulated chat: both graphs, nodes ordered by strongest component."
    report.figure(display.plot(), caption, "Section 5.2, lags")
    noise = {name: float((graph > chat.answers).sum() / graph.sum())
             for name, graph in graphs.items()}  # fmt: skip
    first, mixed = noise.values()
    report.claim(
        "Section 5.2, lags",
        "mixed transitions leave less noise in the graph than neighbours in the sequence",
        f"{mixed:.0%} of the links against {first:.0%} join people who never answer each other",
        mixed < first,
    )


def _reordered(graph: np.ndarray, quick: bool) -> np.ndarray:
    model = fitted("bBICA", Table(graph), N_COMPONENTS, n_init=1 if quick else 5)
    fullest = np.argsort(-model.components_.sum(axis=1), kind="stable")
    weights = model.row_weights_[:, fullest]
    nodes = np.lexsort((-weights.max(axis=1), weights.argmax(axis=1)))
    return graph[np.ix_(nodes, nodes)]
