"""Collapsed Gibbs sampling of the component of every token, weights and Theta marginalised.

A token of word j in document i moves to component k with probability proportional to

    (alpha_k + c_ik) scale_k (eta + n_kj) / (spread + n_k)

where all counts leave the token itself out (Griffiths and Steyvers, 2004; for gamma-Poisson
scale_k = 1 / (1 + beta_k), from the slide "Likelihood with Components Marginalised"); spread and
n_k are sums over the words of j's group.

Tokens are visited word by word. The right-hand factor is then one dense vector that stays in the
first-level cache and changes in two places a token, its product with alpha is summed once a word,
and only the components that the document uses remain to be added up: the cost of a token is the
number of components of its document, not K. Tokens of the same word and document share even that
sum.

The sweep is one long function on purpose: a call with many arrays costs more than the step that it
would name.
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


@jit
def _inverse_totals(totals, spread, scale):
    """scale_k / (spread + n_k) of every group."""
    inverse = np.zeros(totals.shape, np.float32)
    for g in range(totals.shape[0]):
        for k in range(scale.shape[0]):
            inverse[g, k] = scale[k] / (np.float32(totals[g, k]) + spread[g])
    return inverse


@jit(reassociate=True)
def _word_weights(row, inverse, eta, alpha, weight):
    """Fill the right-hand factor of one word; return its inner product with alpha."""
    total = np.float32(0)
    for k in range(weight.shape[0]):
        weight[k] = (row[k] + eta) * inverse[k]
        total += weight[k] * alpha[k]
    return total


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
def sweep_words(
    first, last, word_ptr, docs, z, starts, sizes, topics, counts, word_counts, totals, groups,
    alpha, scale, eta, spread, state,
):  # fmt: skip
    """Draw the component of every token of the words first <= w < last anew, in place.

    Parameters
    ----------
    word_ptr, docs, z
        Tokens word by word: where each word's begin, the document and the component of each.
    starts, sizes, topics, counts
        The components that each document uses, and how often; document i owns the places from
        ``starts[i]``, of which ``sizes[i]`` are in use.
    word_counts, totals : arrays (words, K) and (groups, K)
        Tokens of each component by word and by group of words.
    groups : int array (words,)
    alpha, scale : float32 arrays (K,)
    eta, spread : float32 and array (groups,)
    state : uint64 array (1,)
        Of the random numbers.
    """
    one = np.float32(1)
    weight = np.empty(alpha.shape[0], np.float32)
    inverse = _inverse_totals(totals, spread, scale)
    for w in range(first, last):
        if word_ptr[w] == word_ptr[w + 1]:
            continue
        g, row = groups[w], word_counts[w]
        smooth = _word_weights(row, inverse[g], eta, alpha, weight)
        mass, previous = np.float32(0), -1
        for t in range(word_ptr[w], word_ptr[w + 1]):
            # 1. Take the token out of its component.
            doc, k = docs[t], z[t]
            start = starts[doc]
            end = start + sizes[doc]
            old = start
            while topics[old] != k:
                old += 1
            before = weight[k]
            mass -= counts[old] * before
            counts[old] -= one
            row[k] -= one
            totals[g, k] -= 1
            inverse[g, k] = scale[k] / (np.float32(totals[g, k]) + spread[g])
            weight[k] = (row[k] + eta) * inverse[g, k]
            smooth += alpha[k] * (weight[k] - before)
            mass += counts[old] * weight[k]
            if doc != previous:
                mass = _document_mass(topics, counts, start, end, weight)
            previous = doc
            # 2. Choose among the components that the document uses, or among all by alpha's share.
            r = np.float32(uniform(state)) * (mass + smooth)
            if r < mass:
                new = start
                while new < end - 1:
                    r -= counts[new] * weight[topics[new]]
                    if r < 0:
                        break
                    new += 1
                k = topics[new]
            else:
                k = _pick_any(weight, alpha, r - mass, _CHUNK)
                new = _find(topics, start, end, k)
            # 3. Keep the document's list without gaps.
            if new != old:
                if counts[old] == 0:
                    end -= 1
                    topics[old], counts[old] = topics[end], counts[end]
                    if new == end:
                        new = old
                if new < 0:
                    new = end
                    topics[new] = k
                    counts[new] = np.float32(0)
                    end += 1
                sizes[doc] = end - start
            # 4. Put the token into its new component; frequent ones move to where scans begin.
            before = weight[k]
            mass -= counts[new] * before
            counts[new] += one
            row[k] += one
            totals[g, k] += 1
            inverse[g, k] = scale[k] / (np.float32(totals[g, k]) + spread[g])
            weight[k] = (row[k] + eta) * inverse[g, k]
            smooth += alpha[k] * (weight[k] - before)
            mass = max(mass + counts[new] * weight[k], np.float32(0))
            if new > start and counts[new] > counts[new - 1]:
                counts[new], counts[new - 1] = counts[new - 1], counts[new]
                topics[new], topics[new - 1] = topics[new - 1], topics[new]
            z[t] = k


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
