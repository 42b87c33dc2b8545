"""Passes over the ones of a block for the noisy-or model.

A zero is linear in the log domain, log p(x = 0 | s) = -leak - sum_k s_k theta_k, so whole rows and
columns of zeros are sums known beforehand and only the ones are visited.
"""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit

_NEGLIGIBLE = 1e-12
"""Responsibilities below this move no statistic that a double could hold."""


@jit
def _log_ones(off, n):
    """Sum of log(1 - off), one logarithm for thirty-two factors of at least 1e-6 each."""
    total, first, second, third, fourth = 0.0, 1.0, 1.0, 1.0, 1.0
    full = n - n % 4
    for t in range(0, full, 4):
        first *= 1.0 - off[t]
        second *= 1.0 - off[t + 1]
        third *= 1.0 - off[t + 2]
        fourth *= 1.0 - off[t + 3]
        if t & 31 == 28:
            total += np.log(first * second * third * fourth)
            first, second, third, fourth = 1.0, 1.0, 1.0, 1.0
    for t in range(full, n):
        first *= 1.0 - off[t]
    return total + np.log(first * second * third * fourth)


@jit
def _switch(was_on, off, keep, n, out):
    """Chance that each one is off after a source was switched."""
    if was_on:
        for t in range(n):
            out[t] = off[t] / keep[t]
    else:
        for t in range(n):
            out[t] = off[t] * keep[t]


@jit
def _known(states, count, state):
    """Whether `state` is among the first `count` states."""
    for m in range(count):
        same = True
        for k in range(state.shape[0]):
            if states[m, k] != state[k]:
                same = False
                break
        if same:
            return True
    return False


@jit
def _weakest(log_joint, count):
    """Where the next state goes: a free place, or that of the least probable state."""
    if count < log_joint.shape[0]:
        return count
    worst = 0
    for m in range(count):
        if log_joint[m] < log_joint[worst]:
            worst = m
    return worst


@jit
def _explore(root, states, count, log_joint, odds, keep, n, silent, state, off, trial):
    """Try every state one switch away from state `root`; keep those better than the worst kept."""
    state[:] = states[root]
    off[:n] = silent[root, :n]
    linear = log_joint[root] - _log_ones(off, n)
    place = _weakest(log_joint, count)
    for k in range(state.shape[0]):
        value = linear - odds[k] if state[k] else linear + odds[k]
        # The logarithm of a probability only lowers the value: most trials end here.
        if place < count and value <= log_joint[place]:
            continue
        _switch(state[k], off, keep[k], n, trial)
        value += _log_ones(trial, n)
        if place < count and value <= log_joint[place]:
            continue
        state[k] = 1 - state[k]
        if not _known(states, count, state):
            for i in range(state.shape[0]):
                states[place, i] = state[i]
            for t in range(n):
                silent[place, t] = trial[t]
            log_joint[place] = value
            count = max(count, place + 1)
            place = _weakest(log_joint, count)
        state[k] = 1 - state[k]
    return count


@jit
def _evaluate(states, count, odds, keep, leak_keep, n, silent, log_joint):
    """Log joint probability of each kept state, and the chance that each one is off under it."""
    for m in range(count):
        off = silent[m]
        off[:n] = leak_keep[:n]
        value = 0.0
        for k in range(odds.shape[0]):
            if states[m, k]:
                value += odds[k]
                _switch(False, off, keep[k], n, off)
        log_joint[m] = value + _log_ones(off, n)


@jit
def _collect(states, count, share, silent, columns, posterior, credit, ones, leak_ones):
    """Add a row's expected statistics to those of the block."""
    n = columns.shape[0]
    weight = credit[-1]
    credit[:-1, :n] = 0.0
    for m in range(count):
        if share[m] < _NEGLIGIBLE:
            continue
        off = silent[m]
        for t in range(n):
            weight[t] = share[m] / (1.0 - off[t])
        for t in range(n):
            leak_ones[columns[t]] += weight[t]
        for k in range(posterior.shape[0]):
            if states[m, k]:
                posterior[k] += share[m]
                mine = credit[k]
                for t in range(n):
                    mine[t] += weight[t]
    for k in range(posterior.shape[0]):
        if posterior[k] > 0.0:
            for t in range(n):
                ones[k, columns[t]] += credit[k, t]


@jit
def truncated_pass(indptr, indices, theta, leak, odds, states, counts, turn, n_roots):
    """E-step of the truncated posterior for the rows of a block.

    Parameters
    ----------
    indptr, indices : CSR pattern of the ones
    theta, leak : arrays (sources, columns) and (columns,), -log(1 - p)
    odds : array (rows, sources)
        Log odds of each source before any one was seen; the ones are added in place.
    states, counts : arrays (rows, places, sources) and (rows,)
        On/off codes that the posterior of each row lives on; changed in place.
    turn, n_roots : int
        The neighbours of `n_roots` states are tried: the best state as long as it gets better, then
        others in turn.

    Returns
    -------
    posterior (rows, sources), ones (sources, columns), leak_ones (columns,), log_joint (rows,)
        `ones` sums E[s_k / (1 - exp(-r))] over the ones of a column, `leak_ones` E[1/(1-exp(-r))].
    """
    n_rows, n_sources = odds.shape
    n_places = states.shape[1]
    longest = 1
    for i in range(n_rows):
        longest = max(longest, indptr[i + 1] - indptr[i])
    posterior = np.zeros((n_rows, n_sources))
    ones, leak_ones = np.zeros(theta.shape), np.zeros(theta.shape[1])
    totals = np.empty(n_rows)
    keep_all, leak_keep_all = np.exp(-theta), np.exp(-leak)
    log_joint, share = np.empty(n_places), np.empty(n_places)
    silent = np.empty((n_places, longest))
    keep, credit = np.empty((n_sources, longest)), np.empty((n_sources + 1, longest))
    leak_keep, off, trial = np.empty(longest), np.empty(longest), np.empty(longest)
    state = np.empty(n_sources, np.uint8)
    for i in range(n_rows):
        columns = indices[indptr[i] : indptr[i + 1]]
        n, count = columns.shape[0], counts[i]
        for k in range(n_sources):
            for t in range(n):
                keep[k, t] = keep_all[k, columns[t]]
                odds[i, k] += theta[k, columns[t]]
        for t in range(n):
            leak_keep[t] = leak_keep_all[columns[t]]
        _evaluate(states[i], count, odds[i], keep, leak_keep, n, silent, log_joint)
        climbed = -np.inf
        for visit in range(n_roots):
            root = np.argmax(log_joint[:count])
            if log_joint[root] <= climbed:
                root = (turn * (n_roots - 1) + visit) % count
            else:
                climbed = log_joint[root]
            count = _explore(
                root, states[i], count, log_joint, odds[i], keep, n, silent, state, off, trial
            )
        counts[i] = count
        totals[i] = _shares(log_joint, count, share)
        _collect(states[i], count, share, silent, columns, posterior[i], credit, ones, leak_ones)
    return posterior, ones, leak_ones, totals


@jit
def _shares(log_joint, count, share):
    """Normalise joint probabilities into `share`; return the log of their sum."""
    top = log_joint[0]
    for m in range(1, count):
        top = max(top, log_joint[m])
    total = 0.0
    for m in range(count):
        share[m] = np.exp(log_joint[m] - top)
        total += share[m]
    for m in range(count):
        share[m] /= total
    return top + np.log(total)


@jit
def _bend(theta, leak_keep, log_leak, q, active, off, pull):
    """Evaluate eq. 6 at the ones of a row: log odds of each source, and the slope of each q.

    With y = theta / q and A = exp(-leak - y), a one adds q (log(1 - A) - log(1 - exp(-leak))) to a
    source's log odds, and its bound rises with q at rate E[s] (that bracket - y A / (1 - A)).
    """
    for t in range(q.shape[0]):
        for k in range(q.shape[1]):
            if q[t, k] > _NEGLIGIBLE:
                y = theta[t, k] / q[t, k]
                off[t, k] = leak_keep[t] * np.exp(-y)
                gain = np.log1p(-off[t, k]) - log_leak[t]
                active[k] += q[t, k] * gain
                pull[t, k] = gain - y * off[t, k] / (1.0 - off[t, k])
            else:
                off[t, k] = 0.0
                pull[t, k] = -log_leak[t]


@jit
def _share_out(q, posterior, pull):
    """Fig. 2's update of q with the square root that makes it an ascent step.

    Each slope falls no faster than q^-2, so the bound lies above one with slopes g q^2 / q'^2 whose
    maximum on the simplex is q' proportional to q sqrt(g).
    """
    for t in range(q.shape[0]):
        total = 0.0
        for k in range(q.shape[1]):
            pull[t, k] = q[t, k] * np.sqrt(max(posterior[k] * pull[t, k], 0.0))
            total += pull[t, k]
        if total > 1e-200:
            for k in range(q.shape[1]):
                q[t, k] = pull[t, k] / total


@jit
def factorised_pass(indptr, indices, theta, leak, odds, shares, n_rounds):
    """E-step of the factorised posterior (eq. 6 and Fig. 2) for the rows of a block.

    Parameters and results are those of `truncated_pass`, but that the posterior of a row lives on
    `shares` (ones, sources), the q_j(i) of the paper, which are changed in place.
    """
    n_rows, n_sources = odds.shape
    posterior = np.empty((n_rows, n_sources))
    ones, leak_ones = np.zeros(theta.shape), np.zeros(theta.shape[1])
    totals = np.zeros(n_rows)
    leak_keep_all = np.exp(-leak)
    log_leak_all = np.log(-np.expm1(-leak))
    by_column = theta.T.copy()
    for i in range(n_rows):
        columns = indices[indptr[i] : indptr[i + 1]]
        mine, q = by_column[columns], shares[indptr[i] : indptr[i + 1]]
        leak_keep, log_leak = leak_keep_all[columns], log_leak_all[columns]
        off, pull = np.empty(q.shape), np.empty(q.shape)
        odds[i] += mine.sum(axis=0)
        totals[i] = log_leak.sum()
        for turn in range(n_rounds + 1):
            active = odds[i].copy()
            _bend(mine, leak_keep, log_leak, q, active, off, pull)
            posterior[i] = 1.0 / (1.0 + np.exp(-active))
            if turn < n_rounds:
                _share_out(q, posterior[i], pull)
        for k in range(n_sources):
            totals[i] += max(active[k], 0.0) + np.log1p(np.exp(-abs(active[k])))
        for t in range(columns.shape[0]):
            for k in range(n_sources):
                on = posterior[i, k] / (1.0 - off[t, k])
                ones[k, columns[t]] += on
                rest = (1.0 - posterior[i, k]) / (1.0 - leak_keep[t])
                leak_ones[columns[t]] += q[t, k] * (on + rest)
    return posterior, ones, leak_ones, totals
