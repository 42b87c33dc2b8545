"""The compiled restricted Gibbs scan of split and merge moves on binary features."""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit


@jit
def restricted_scan(log_likelihood, start, anchors, n_things, mass, wanted, rng):
    """Give each row the first part, the second or both, one row after the other.

    `log_likelihood` has a column each for these three; `start` is where the scan begins. The first
    anchor must have the first part, the second anchor the second. Where `wanted` is not empty, it
    is what the scan shall arrive at. Returns the choices and the log probability of making them.
    """
    n = start.shape[0]
    choice = start.copy()
    first, second = 0.0, 0.0
    for i in range(n):
        first += choice[i] != 1
        second += choice[i] != 0
    log_probability = 0.0
    odds = np.empty(3)
    for i in range(n):
        first -= choice[i] != 1
        second -= choice[i] != 0
        # An anchor's own part is certain, so only the other part's prior counts.
        on_first = 1.0 if i == anchors[0] else first + mass
        off_first = 0.0 if i == anchors[0] else n_things - first
        on_second = 1.0 if i == anchors[1] else second + mass
        off_second = 0.0 if i == anchors[1] else n_things - second
        odds[0], odds[1], odds[2] = (
            on_first * off_second,
            off_first * on_second,
            on_first * on_second,
        )
        largest = -np.inf
        for c in range(3):
            odds[c] = log_likelihood[i, c] + (math.log(odds[c]) if odds[c] > 0 else -np.inf)
            largest = max(largest, odds[c])
        total = 0.0
        for c in range(3):
            odds[c] = math.exp(odds[c] - largest)
            total += odds[c]
        if wanted.shape[0]:
            choice[i] = wanted[i]
        else:
            point = rng.random() * total
            c = 0
            while c < 2 and point >= odds[c]:
                point -= odds[c]
                c += 1
            choice[i] = c
        share = odds[choice[i]] / total
        log_probability += math.log(share) if share > 0 else -np.inf
        first += choice[i] != 1
        second += choice[i] != 0
    return choice, log_probability
