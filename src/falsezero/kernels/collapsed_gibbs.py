"""Collapsed Gibbs sampling of the component of every token, weights and Theta marginalised.

A token of word j in document i moves to component k with probability proportional to

    (alpha_k + c_ik) scale_k [(eta_j + n_kj) / (sum_j eta_j + n_k)]^temper

where all counts leave the token itself out (Griffiths and Steyvers, 2004; for gamma-Poisson
scale_k = 1 / (1 + beta_k), from the slide "Likelihood with Components Marginalised"). The bracket's
sums run over the words of j's group; temper is 1 but for annealing.

Tokens are visited word by word. The bracket is then one dense vector that stays in the first-level
cache and changes in two places a token, its product with alpha is summed once a word, and only the
components that the document uses remain to be added up: the cost of a token is the number of
components of its document, not K. Tokens of the same word and document share even that sum.
"""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit

_CHUNK = 32


@jit
def uniform(state):
    """Next number in [0, 1) from a 64-bit xorshift* generator whose state is ``state[0]``."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.float64((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) * 1.1102230246251565e-16


@jit(reassociate=True)
def _word_weights(row, inverse, scale, eta, temper, alpha, weight):
    """Fill the bracket of one word times scale; return its inner product with alpha."""
    for k in range(weight.shape[0]):
        weight[k] = (row[k] + eta) * inverse[k]
    if temper != np.float32(1):
        for k in range(weight.shape[0]):
            weight[k] = weight[k] ** temper
    total = np.float32(0)
    for k in range(weight.shape[0]):
        weight[k] *= scale[k]
        total += weight[k] * alpha[k]
    return total


@jit
def _refresh(k, row, totals, spread, inverse, scale, eta, temper, weight):
    """Bring one entry of the bracket up to date with its counts."""
    inverse[k] = np.float32(1) / (np.float32(totals[k]) + spread)
    value = (row[k] + eta) * inverse[k]
    if temper != np.float32(1):
        value = value**temper
    weight[k] = value * scale[k]


@jit(reassociate=True)
def _document_mass(topics, counts, start, end, weight):
    total = np.float32(0)
    for i in range(start, end):
        total += counts[i] * weight[topics[i]]
    return total


@jit
def _find(topics, start, end, topic):
    """Where a document keeps a component, or -1."""
    for i in range(start, end):
        if topics[i] == topic:
            return i
    return -1


@jit
def _pick_used(topics, counts, start, end, weight, r):
    """The place in a document's list at which the running sum passes r."""
    i = start
    while i < end - 1:
        r -= counts[i] * weight[topics[i]]
        if r < 0:
            break
        i += 1
    return i


@jit(reassociate=True)
def _pick_any(weight, alpha, r, chunk):
    """The component at which the running sum of alpha's share passes r; whole chunks first."""
    last = weight.shape[0] - 1
    k = 0
    while k + chunk <= last:
        part = np.float32(0)
        for j in range(k, k + chunk):
            part += weight[j] * alpha[j]
        if r < part:
            break
        r -= part
        k += chunk
    while k < last:
        r -= weight[k] * alpha[k]
        if r < 0:
            break
        k += 1
    return k


@jit
def _move(topics, counts, sizes, doc, start, old, new, topic):
    """Take a document's emptied place away, or give a component that it had not used a place."""
    end = start + sizes[doc]
    if counts[old] == 0 and new != old:
        end -= 1
        topics[old], counts[old] = topics[end], counts[end]
        if new == end:
            new = old
    if new < 0:
        new = end
        topics[new] = topic
        counts[new] = np.float32(0)
        end += 1
    sizes[doc] = end - start
    return new


@jit
def _bring_forward(topics, counts, start, i):
    """Frequent components move to the front of a document's list, where scans begin."""
    if i > start and counts[i] > counts[i - 1]:
        counts[i], counts[i - 1] = counts[i - 1], counts[i]
        topics[i], topics[i - 1] = topics[i - 1], topics[i]


@jit
def _sweep_word(
    tokens, docs, z, starts, sizes, topics, counts, row, totals, inverse, prior, weight, state
):
    """Draw every token of one word anew; `prior` is (alpha, scale, eta, spread, temper)."""
    alpha, scale, eta, spread, temper = prior
    one = np.float32(1)
    smooth = _word_weights(row, inverse, scale, eta, temper, alpha, weight)
    previous = -1
    mass = np.float32(0)
    for t in range(tokens[0], tokens[1]):
        doc, k = docs[t], z[t]
        start = starts[doc]
        end = start + sizes[doc]
        old = _find(topics, start, end, k)
        share, alpha_share = counts[old] * weight[k], alpha[k] * weight[k]
        counts[old] -= one
        row[k] -= one
        totals[k] -= 1
        _refresh(k, row, totals, spread, inverse, scale, eta, temper, weight)
        smooth += alpha[k] * weight[k] - alpha_share
        if doc == previous:
            mass = max(mass + counts[old] * weight[k] - share, np.float32(0))
        else:
            mass = _document_mass(topics, counts, start, end, weight)
        previous = doc
        r = np.float32(uniform(state)) * (mass + smooth)
        if r < mass:
            new = _pick_used(topics, counts, start, end, weight, r)
            k = topics[new]
        else:
            k = _pick_any(weight, alpha, r - mass, _CHUNK)
            new = _find(topics, start, end, k)
        new = _move(topics, counts, sizes, doc, start, old, new, k)
        share, alpha_share = counts[new] * weight[k], alpha[k] * weight[k]
        counts[new] += one
        row[k] += one
        totals[k] += 1
        _refresh(k, row, totals, spread, inverse, scale, eta, temper, weight)
        smooth += alpha[k] * weight[k] - alpha_share
        mass += counts[new] * weight[k] - share
        _bring_forward(topics, counts, start, new)
        z[t] = k


@jit
def sweep_words(
    words,
    word_ptr,
    docs,
    z,
    starts,
    sizes,
    topics,
    counts,
    word_counts,
    totals,
    groups,
    prior,
    state,
):
    """Draw the component of every token of a range of words anew, in place.

    Parameters
    ----------
    words : (first, last)
        The range of words to visit.
    word_ptr, docs, z
        Tokens word by word: where each word's begin, the document and the component of each.
    starts, sizes, topics, counts
        The components that each document uses, and how often; document i owns the places from
        ``starts[i]``, of which ``sizes[i]`` are in use.
    word_counts, totals : arrays (words, K) and (groups, K)
        Tokens of each component by word and by group of words.
    groups : int array (words,)
    prior : (alpha, scale, eta, spread, temper)
        float32; `spread` is eta times the number of words, one a group.
    state : uint64 array (1,)
        Of the random numbers.
    """
    alpha, scale, eta, spread, temper = prior
    weight = np.empty(alpha.shape[0], np.float32)
    inverse = np.empty(totals.shape, np.float32)
    for g in range(totals.shape[0]):
        for k in range(alpha.shape[0]):
            inverse[g, k] = np.float32(1) / (np.float32(totals[g, k]) + spread[g])
    for w in range(words[0], words[1]):
        if word_ptr[w] == word_ptr[w + 1]:
            continue
        g = groups[w]
        _sweep_word(
            (word_ptr[w], word_ptr[w + 1]),
            docs, z, starts, sizes, topics, counts,
            word_counts[w], totals[g], inverse[g],
            (alpha, scale, eta, spread[g], temper), weight, state,
        )  # fmt: skip


@jit
def gather_documents(docs, z, starts, sizes, topics, counts):
    """Count the components of each document into its list, from scratch."""
    sizes[:] = 0
    for t in range(docs.shape[0]):
        doc, k = docs[t], z[t]
        start = starts[doc]
        i = _find(topics, start, start + sizes[doc], k)
        if i < 0:
            i = start + sizes[doc]
            topics[i] = k
            counts[i] = np.float32(0)
            sizes[doc] += 1
        counts[i] += np.float32(1)


@jit
def gather_words(word_ptr, z, word_counts):
    """Count the components of each word, adding to what is there."""
    for w in range(word_ptr.shape[0] - 1):
        for t in range(word_ptr[w], word_ptr[w + 1]):
            word_counts[w, z[t]] += np.float32(1)


@jit
def log_rising(counts, eta):
    """Sum of log G(eta + n) - log G(eta) over a table of counts, few of which are not zero."""
    table = np.empty(1024)
    base = math.lgamma(eta)
    for n in range(table.shape[0]):
        table[n] = math.lgamma(eta + n) - base
    total = 0.0
    for row in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            n = counts[row, k]
            if n >= 1024:
                total += math.lgamma(eta + n) - base
            elif n > 0:
                total += table[int(n)]
    return total


@jit
def log_rising_documents(starts, sizes, topics, counts, alpha):
    """Sum of log G(alpha_k + c_ik) - log G(alpha_k) over the components that documents use."""
    base = np.empty(alpha.shape[0])
    for k in range(alpha.shape[0]):
        base[k] = math.lgamma(alpha[k])
    total = 0.0
    for doc in range(sizes.shape[0]):
        for i in range(starts[doc], starts[doc] + sizes[doc]):
            total += math.lgamma(alpha[topics[i]] + counts[i]) - base[topics[i]]
    return total
