"""Collapsed Gibbs sampling of the component of every token, weights and Theta marginalised.

A token of word j in document i moves to component k with probability proportional to

    (alpha_k + c_ik) scale_k (eta + n_kj) / (spread + n_k)

where all counts leave the token itself out (Griffiths and Steyvers, 2004; for gamma-Poisson
scale_k = 1 / (1 + beta_k), from the slide "Likelihood with Components Marginalised"); spread and
n_k are sums over the words of j's group.

With few components `sweep_documents` goes document by document, all but the word's counts in the
first-level cache, and multiplies out all K terms as SIMD code. With many, `sweep_words` goes word
by word: the right-hand factor is then one dense vector that changes in two places a token, its
product with alpha is summed once a word, and only the components that the document uses remain to be
added up. Tokens of the same word and document share even that sum. Both draw from the same
distribution.

The two sweeps are long functions on purpose: a call with many arrays costs more than the step it
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
def _products(row, eta, weight, p):
    """All K terms and their sum; K is padded, so that no remainder is left to a scalar loop."""
    total = np.float32(0)
    for k in range(weight.shape[0]):
        value = (row[k] + eta) * weight[k]
        p[k] = value
        total += value
    return total


@jit(reassociate=True)
def _pick(p, r, n, chunk):
    """Where the running sum of n terms passes r; whole chunks first."""
    k = 0
    while k + chunk < n:
        part = np.float32(0)
        for j in range(k, k + chunk):
            part += p[j]
        if r < part:
            break
        r -= part
        k += chunk
    last = min(k + chunk, n) - 1
    while k < last:
        r -= p[k]
        if r < 0:
            break
        k += 1
    return k


@jit
def sweep_documents(
    row_ptr, words, z, row_counts, word_counts, totals, groups, alpha, scale, eta, spread, state
):
    """Draw the component of every token anew, in place, document by document.

    Parameters
    ----------
    row_ptr, words, z
        Tokens row by row: where each row's begin, the word and the component of each.
    row_counts, word_counts, totals : arrays (rows, P), (words, P) and (groups, K)
        Tokens of each component; P is K padded with zeros to a multiple of 32.
    groups : int array (words,)
    alpha, scale : float32 arrays (P,) and (K,)
    eta, spread : float32 and array (groups,)
    state : uint64 array (1,)
        Of the random numbers.
    """
    one = np.float32(1)
    n_components, padded = scale.shape[0], alpha.shape[0]
    inverse = _inverse_totals(totals, spread, scale)
    weight, p = np.zeros(padded, np.float32), np.zeros(padded, np.float32)
    for i in range(row_ptr.shape[0] - 1):
        counts = row_counts[i]
        at = -1
        for t in range(row_ptr[i], row_ptr[i + 1]):
            k, g = z[t], groups[words[t]]
            if g != at:
                at = g
                for c in range(n_components):
                    weight[c] = (counts[c] + alpha[c]) * inverse[g, c]
            row = word_counts[words[t]]
            counts[k] -= one
            row[k] -= one
            totals[g, k] -= 1
            inverse[g, k] = scale[k] / (np.float32(totals[g, k]) + spread[g])
            weight[k] = (counts[k] + alpha[k]) * inverse[g, k]
            total = _products(row, eta, weight, p)
            k = _pick(p, np.float32(uniform(state)) * total, n_components, 2 * _CHUNK)
            counts[k] += one
            row[k] += one
            totals[g, k] += 1
            inverse[g, k] = scale[k] / (np.float32(totals[g, k]) + spread[g])
            weight[k] = (counts[k] + alpha[k]) * inverse[g, k]
            z[t] = k


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
    word_counts, totals, groups, alpha, scale, eta, spread, state
        As for `sweep_documents`, without padding.
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
