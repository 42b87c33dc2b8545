"""Passes over the stored counts of a table, for Discrete PCA.

Words come first in `theta` (words x components), so that the inner loop over components reads
consecutive memory. The fully collapsed sampler has a file of its own.
"""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit
from falsezero.kernels.collapsed_gibbs import uniform


@jit(reassociate=True)
def topic_pass(indptr, indices, counts, weights, theta, row_stat, word_stat):
    """Statistics for EM and mean field, in one pass over the stored counts.

    With Z_ij = sum_k weights_ik theta_jk (slide "Mean Field, cont."), adds up
    ``row_stat[i, k] = sum_j w_ij theta_jk / Z_ij`` and, unless `word_stat` has no rows,
    ``word_stat[j, k] += sum_i w_ij weights_ik / Z_ij``; expected counts are these times weights
    and times theta. Returns sum_ij w_ij log Z_ij of each row.
    """
    n_components = theta.shape[1]
    with_words = word_stat.shape[0] > 0
    log_z = np.zeros(indptr.shape[0] - 1)
    for i in range(indptr.shape[0] - 1):
        w, n = weights[i], row_stat[i]
        n[:] = 0
        for at in range(indptr[i], indptr[i + 1]):
            t = theta[indices[at]]
            z = w[0] * t[0]
            for k in range(1, n_components):
                z += w[k] * t[k]
            ratio = counts[at] / z
            log_z[i] += counts[at] * np.log(z)
            for k in range(n_components):
                n[k] += ratio * t[k]
            if with_words:
                s = word_stat[indices[at]]
                for k in range(n_components):
                    s[k] += ratio * w[k]
    return log_z


@jit
def _running_sum(left, right, out):
    total = 0.0
    for k in range(left.shape[0]):
        total += left[k] * right[k]
        out[k] = total
    return total


@jit
def _pick(running, r):
    k = 0
    while k < running.shape[0] - 1 and running[k] <= r:
        k += 1
    return k


@jit
def deal_tokens(indptr, indices, counts, weights, theta, row_counts, word_counts, most, state):
    """Draw the component of every token given weights and theta: v_jk ~ Multinomial (direct Gibbs).

    Adds the draws to `row_counts` and `word_counts`; returns sum_ij w_ij log Z_ij. Cells of more
    than `most` tokens are left to the caller.
    """
    running = np.empty(theta.shape[1])
    log_z = 0.0
    for i in range(indptr.shape[0] - 1):
        for at in range(indptr[i], indptr[i + 1]):
            j = indices[at]
            total = _running_sum(weights[i], theta[j], running)
            log_z += counts[at] * np.log(total)
            if counts[at] > most:
                continue
            for _ in range(int(counts[at])):
                k = _pick(running, uniform(state) * total)
                row_counts[i, k] += 1
                word_counts[j, k] += 1
    return log_z


@jit
def sweep_rows(row_ptr, words, z, row_counts, alpha, scale, theta, state):
    """Redraw every token with weights marginalised and theta known, in place.

    p(k) is proportional to (alpha_k + c_ik) scale_ik theta_jk, where c leaves the token itself out;
    rows do not touch one another, so they may be sampled side by side without approximation.
    """
    n_components = theta.shape[1]
    running, weight = np.empty(n_components), np.empty(n_components)
    for i in range(row_ptr.shape[0] - 1):
        s = scale[min(i, scale.shape[0] - 1)]
        for k in range(n_components):
            weight[k] = (alpha[k] + row_counts[i, k]) * s[k]
        for t in range(row_ptr[i], row_ptr[i + 1]):
            k = z[t]
            row_counts[i, k] -= 1
            weight[k] = (alpha[k] + row_counts[i, k]) * s[k]
            total = _running_sum(weight, theta[words[t]], running)
            k = _pick(running, uniform(state) * total)
            row_counts[i, k] += 1
            weight[k] = (alpha[k] + row_counts[i, k]) * s[k]
            z[t] = k


@jit
def _tempered(n, table, eta, temper):
    """(eta + n)^temper, from the table where it reaches."""
    return table[int(n)] if n < table.shape[0] else (eta + n) ** temper


@jit
def _all_tempered(word_counts, totals, table, eta, spread, temper):
    """(eta + n_jk)^temper of all words, and (spread + n_k)^-temper of all groups."""
    powers, inverses = np.empty(word_counts.shape), np.empty(totals.shape)
    for j in range(powers.shape[0]):
        for k in range(powers.shape[1]):
            powers[j, k] = _tempered(word_counts[j, k], table, eta, temper)
    for g in range(inverses.shape[0]):
        for k in range(inverses.shape[1]):
            inverses[g, k] = (spread[g] + totals[g, k]) ** -temper
    return powers, inverses


@jit
def sweep_rows_collapsed(
    row_ptr, words, z, row_counts, alpha, scale, word_counts, totals, groups, eta, spread, temper,
    state,
):  # fmt: skip
    """Redraw every token with weights and theta marginalised, where scale differs by row.

    `temper` raises p(w | v) to a power, for annealing; 1 leaves it as it is. A token changes two
    components, so powers are stored for all words and groups and updated in two places per token:
    raising to a power costs some twenty times as much as the rest of a component's work.
    """
    n_components = word_counts.shape[1]
    running, weight, word = np.empty(n_components), np.empty(n_components), np.empty(n_components)
    table = (eta + np.arange(1024)) ** temper
    powers, inverses = _all_tempered(word_counts, totals, table, eta, spread, temper)
    for i in range(row_ptr.shape[0] - 1):
        for k in range(n_components):
            weight[k] = (alpha[k] + row_counts[i, k]) * scale[i, k]
        for t in range(row_ptr[i], row_ptr[i + 1]):
            k, j = z[t], words[t]
            g = groups[j]
            power, inverse = powers[j], inverses[g]
            for change in (-1, 1):
                if change == 1:
                    for c in range(n_components):
                        word[c] = power[c] * inverse[c]
                    total = _running_sum(weight, word, running)
                    k = _pick(running, uniform(state) * total)
                row_counts[i, k] += change
                word_counts[j, k] += change
                totals[g, k] += change
                weight[k] = (alpha[k] + row_counts[i, k]) * scale[i, k]
                power[k] = _tempered(word_counts[j, k], table, eta, temper)
                below = spread[g] + totals[g, k]
                inverse[k] = 1 / below if temper == 1.0 else below**-temper
            z[t] = k


@jit
def _resample(share, r, z, counts, spare_z, spare_counts, n):
    """Copy particles in proportion to their share (systematic resampling from the uniform r)."""
    n_particles = share.shape[0]
    step = share.sum() / n_particles
    source, reached = 0, share[0]
    for target in range(n_particles):
        while reached < (target + r) * step and source < n_particles - 1:
            source += 1
            reached += share[source]
        spare_z[target, :n] = z[source, :n]
        spare_counts[target] = counts[source]
    z[:, :n] = spare_z[:, :n]
    counts[:] = spare_counts


@jit
def left_to_right(words, theta, alpha, n_particles, state):
    """log p(w) of one row of tokens in the order given, by the left-to-right sampler.

    Wallach, Murray, Salakhutdinov and Mimno (2009): each token is predicted from those before it,
    whose components are redrawn for every token and particle. Particles are then resampled in
    proportion to how well they predicted the token. Without this step they are not draws from
    p(z_<n | w_<n), and the product of their averages is biased; with it the estimate of p(w) is
    unbiased.
    """
    n_components, n = alpha.shape[0], words.shape[0]
    z, spare_z = np.zeros((n_particles, n), np.int64), np.zeros((n_particles, n), np.int64)
    counts = np.zeros((n_particles, n_components))
    spare_counts, share = np.zeros((n_particles, n_components)), np.empty(n_particles)
    running, weight = np.empty(n_components), np.empty(n_components)
    total_alpha = alpha.sum()
    log_p = 0.0
    for at in range(n):
        for r in range(n_particles):
            c = counts[r]
            for before in range(at):
                c[z[r, before]] -= 1
                for k in range(n_components):
                    weight[k] = alpha[k] + c[k]
                total = _running_sum(weight, theta[words[before]], running)
                z[r, before] = _pick(running, uniform(state) * total)
                c[z[r, before]] += 1
            for k in range(n_components):
                weight[k] = alpha[k] + c[k]
            share[r] = _running_sum(weight, theta[words[at]], running)
        log_p += np.log(share.mean() / (total_alpha + at))
        _resample(share, uniform(state), z, counts, spare_z, spare_counts, at)
        for r in range(n_particles):
            for k in range(n_components):
                weight[k] = alpha[k] + counts[r, k]
            total = _running_sum(weight, theta[words[at]], running)
            z[r, at] = _pick(running, uniform(state) * total)
            counts[r, z[r, at]] += 1
    return log_p
