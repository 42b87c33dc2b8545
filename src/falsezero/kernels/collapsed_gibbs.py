"""Collapsed Gibbs sampling of the component of every token, weights and Theta marginalised.

A token of word j in document i moves to component k with probability proportional to

    (alpha_k + c_ik) scale_k (eta + n_kj) / (spread + n_k)

where all counts leave the token itself out (Griffiths and Steyvers, 2004; for gamma-Poisson
scale_k = 1 / (1 + beta_k), from the slide "Likelihood with Components Marginalised"); spread and
n_k are sums over the words of j's group.

Tokens are visited word by word. The right-hand factor is then one dense vector that stays in the
first-level cache and changes in two places per token, its product with alpha is summed once per
word, and only the components that the document uses remain to be added up: the cost of a token is
the number of components of its document, not K.

Lists of different documents are far apart in memory, so they are kept small (component and count in
one number) and prefetched some tokens ahead.
"""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit, prefetch

_CHUNK = 32
_AHEAD = 8
_LINE = 16
_LINES = 4


@jit
def uniform(state):
    """Next number in [0, 1) from a 64-bit xorshift* generator whose state is ``state[0]``."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.float64((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) * 1.1102230246251565e-16


@jit(inline=True)
def _count(entry, half):
    """The count in an entry of a document's list: its lower `half` bits."""
    return np.float32(np.int32(entry & ((1 << half) - 1)))


@jit
def _inverse_totals(totals, spread, scale):
    """scale_k / (spread + n_k) of every group."""
    inverse = np.zeros(totals.shape, np.float32)
    for g in range(totals.shape[0]):
        for k in range(scale.shape[0]):
            inverse[g, k] = scale[k] / (np.float32(totals[g, k]) + spread[g])
    return inverse


@jit(reassociate=True, inline=True)
def _word_weights(row, inverse, eta, alpha, weight):
    """Fill the right-hand factor of one word; return its inner product with alpha."""
    total = np.float32(0)
    for k in range(weight.shape[0]):
        weight[k] = (row[k] + eta) * inverse[k]
        total += weight[k] * alpha[k]
    return total


@jit(reassociate=True, inline=True)
def _document_mass(lists, start, size, half, weight, component, products):
    """Fill count x weight of a document's components; return the sum and one component's place."""
    total = np.float32(0)
    place = np.int32(0)
    sought = np.int32(component)
    for i in range(np.int32(size)):
        entry = lists[np.uint64(start + i)]
        own = np.int32(entry >> half)
        product = _count(entry, half) * weight[np.uint64(own)]
        products[i] = product
        total += product
        if own == sought:
            place += np.int32(i)
    return total, place


@jit(reassociate=True, inline=True)
def _find(lists, start, size, half, component):
    """Position of a component in a document's list, or -1."""
    place = np.int32(-1)
    sought = np.int32(component)
    for i in range(np.int32(size)):
        if np.int32(lists[np.uint64(start + i)] >> half) == sought:
            place += np.int32(i + 1)
    return place


@jit(reassociate=True, inline=True)
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


@jit(inline=True)
def _sweep(
    half, first, last, word_ptr, docs, z, starts, sizes, lists, word_counts, totals, groups,
    alpha, scale, eta, spread, state,
):  # fmt: skip
    one, n_tokens = np.float32(1), docs.shape[0]
    weight = np.empty(alpha.shape[0], np.float32)
    products = np.empty(alpha.shape[0] + 1, np.float32)
    inverses = _inverse_totals(totals, spread, scale)
    for w in range(first, last):
        if word_ptr[w] == word_ptr[w + 1]:
            continue
        row, total, inverse = word_counts[w], totals[groups[w]], inverses[groups[w]]
        wide = spread[groups[w]]
        smooth = _word_weights(row, inverse, eta, alpha, weight)
        for t in range(word_ptr[w], word_ptr[w + 1]):
            if t + _AHEAD < n_tokens:
                ahead = starts[docs[t + _AHEAD]]
                for line in range(_LINES):
                    prefetch(lists, ahead + line * _LINE)
            # 1. Take the token out of its component. The document is summed before, so that
            #    the sum need not wait for the change; then the sum is corrected.
            doc, k = docs[t], np.int64(z[t])
            start, size = starts[doc], sizes[doc]
            mass, old = _document_mass(lists, start, size, half, weight, k, products)
            left = lists[start + old] - 1
            lists[start + old] = left
            row[k] -= one
            total[k] -= 1
            inverse[k] = scale[k] / (np.float32(total[k]) + wide)
            before = weight[k]
            weight[k] = (row[k] + eta) * inverse[k]
            smooth += alpha[k] * (weight[k] - before)
            product = _count(left, half) * weight[k]
            mass = max(mass + (product - products[old]), np.float32(0))
            products[old] = product
            # 2. Choose among the components that the document uses, or among all by alpha's share.
            r = np.float32(uniform(state)) * (mass + smooth)
            if r < mass:
                new = np.int64(0)
                while new < size - 1:
                    r -= products[new]
                    if r < 0:
                        break
                    new += 1
                k = np.int64(lists[start + new] >> half)
            else:
                k = _pick_any(weight, alpha, r - mass, _CHUNK)
                new = np.int64(_find(lists, start, size, half, k))
            # 3. Keep the document's list without gaps.
            if new != old:
                if _count(left, half) == 0:
                    size -= 1
                    lists[start + old] = lists[start + size]
                    if new == size:
                        new = np.int64(old)
                if new < 0:
                    new = np.int64(size)
                    lists[start + new] = k << half
                    size += 1
                sizes[doc] = size
            # 4. Put the token into its new component; frequent ones move to where scans begin.
            entry = lists[start + new] + 1
            if new > 0 and _count(entry, half) > _count(lists[start + new - 1], half):
                lists[start + new] = lists[start + new - 1]
                new -= 1
            lists[start + new] = entry
            row[k] += one
            total[k] += 1
            inverse[k] = scale[k] / (np.float32(total[k]) + wide)
            before = weight[k]
            weight[k] = (row[k] + eta) * inverse[k]
            smooth += alpha[k] * (weight[k] - before)
            z[t] = k


@jit
def sweep_words(*where_and_what):
    """Redraw the component of every token of the words first <= w < last, in place.

    Parameters
    ----------
    first, last : int
    word_ptr, docs, z
        Tokens word by word: where each word's begin, the document and the component of each.
    starts, sizes, lists
        The components that each document uses, and how often, in one number of 32 bits, half for
        each; document i owns the places from ``starts[i]``, of which ``sizes[i]`` are in use.
    word_counts, totals : arrays (words, K) and (groups, K)
        Tokens of each component by word and by group of words.
    groups : int array (words,)
    alpha, scale : float32 arrays (K,)
    eta, spread : float32 and array (groups,)
    state : uint64 array (1,)
        State of the random generator.
    """
    _sweep(16, *where_and_what)


@jit
def sweep_long_documents(*where_and_what):
    """The same with lists of 64 bits, for counts or components that need more than 16."""
    _sweep(32, *where_and_what)


@jit
def gather_documents(docs, z, starts, sizes, lists):
    """Count the components of each document into its list, from scratch."""
    half = 4 * lists.itemsize
    sizes[:] = 0
    for t in range(docs.shape[0]):
        doc, k = docs[t], np.int64(z[t])
        start = starts[doc]
        i = np.int64(_find(lists, start, sizes[doc], half, k))
        if i < 0:
            i = np.int64(sizes[doc])
            lists[start + i] = k << half
            sizes[doc] += 1
        lists[start + i] += 1


@jit
def _first_above(ascending, value):
    """Index of the first number above a value, by bisection."""
    low, high = 0, ascending.shape[0]
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low


@jit
def seed_components(word_ptr, seed_ptr, seeds, seed_counts, inverse, below, state, z):
    """Draw every token's component, where each component is one document, smoothed by eta.

    The documents' counts come word by word: those of word w are at ``seed_ptr[w]`` to
    ``seed_ptr[w + 1]``; `inverse` is 1 / (their length + spread), `below` its running sum times
    eta.
    """
    last = inverse.shape[0] - 1
    for w in range(word_ptr.shape[0] - 1):
        own = 0.0
        for i in range(seed_ptr[w], seed_ptr[w + 1]):
            own += seed_counts[i] * inverse[seeds[i]]
        for t in range(word_ptr[w], word_ptr[w + 1]):
            r = uniform(state) * (own + below[last])
            k = np.int64(0)
            if r < own:
                for i in range(seed_ptr[w], seed_ptr[w + 1]):
                    k = seeds[i]
                    r -= seed_counts[i] * inverse[k]
                    if r < 0:
                        break
            else:
                k = min(_first_above(below, r - own), last)
            z[t] = k


@jit
def _fill_rising(prior, table):
    """Write log G(prior + n) - log G(prior) for small n."""
    table[0] = 0.0
    for n in range(1, table.shape[0]):
        table[n] = table[n - 1] + math.log(prior + (n - 1))


@jit
def log_rising(counts, eta):
    """Sum of log G(eta + n) - log G(eta) over a table of counts, most of them zero."""
    table = np.empty(1024)
    _fill_rising(eta, table)
    base = math.lgamma(eta)
    width = counts.shape[1]
    total = 0.0
    for row in range(counts.shape[0]):
        for start in range(0, width, _CHUNK):
            end = min(start + _CHUNK, width)
            if _largest(counts[row], start, end) == 0:
                continue
            for k in range(start, end):
                n = counts[row, k]
                total += table[int(n)] if n < 1024 else math.lgamma(eta + n) - base
    return total


@jit(reassociate=True, inline=True)
def _largest(values, start, end):
    largest = values[start]
    for i in range(start, end):
        largest = max(largest, values[i])
    return largest


@jit
def log_rising_lists(starts, sizes, lists, alpha):
    """Sum of log G(alpha_k + c_ik) - log G(alpha_k) over the lists of all documents."""
    half = 4 * lists.itemsize
    tables = np.empty((alpha.shape[0], 64))
    for k in range(alpha.shape[0]):
        _fill_rising(alpha[k], tables[k])
    total = 0.0
    for doc in range(sizes.shape[0]):
        for i in range(starts[doc], starts[doc] + sizes[doc]):
            own = np.int64(lists[i] >> half)
            n = np.int64(lists[i]) - (own << half)
            if n < 64:
                total += tables[own, n]
            else:
                total += math.lgamma(alpha[own] + n) - math.lgamma(alpha[own])
    return total


@jit
def add_means(words, totals, groups, eta, spread, means):
    """Add E[Theta | v] = (eta + n_kj) / (spread + n_k) to `means`, words x components."""
    inverse = np.empty(totals.shape, np.float32)
    for g in range(totals.shape[0]):
        for k in range(totals.shape[1]):
            inverse[g, k] = 1.0 / (spread[g] + totals[g, k])
    for w in range(words.shape[0]):
        g = groups[w]
        for k in range(words.shape[1]):
            means[w, k] += (words[w, k] + eta) * inverse[g, k]
