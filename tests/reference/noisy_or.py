"""The noisy-or model cell by cell, for tables small enough to list every on/off code."""

import itertools

import numpy as np


def all_codes(n_sources):
    return np.array(list(itertools.product([0.0, 1.0], repeat=n_sources)))


def log_joint(X, codes, theta, leak, odds):
    """log p(x_n, s) for every row and code (eqs. 1 and 3); NaN cells are left out."""
    log_prior = codes @ odds - np.log1p(np.exp(odds)).sum()
    joint = np.empty((len(X), len(codes)))
    for n, x in enumerate(X):
        for c, code in enumerate(codes):
            total = log_prior[c]
            for j, cell in enumerate(x):
                rate = leak[j] + code @ theta[:, j]
                if cell == 1:
                    total += np.log(1 - np.exp(-rate))
                elif cell == 0:
                    total -= rate
            joint[n, c] = total
    return joint


def log_likelihood(X, theta, leak, odds):
    return np.log(np.exp(log_joint(X, all_codes(len(theta)), theta, leak, odds)).sum(axis=1))


def em_step(X, theta, leak, odds):
    """One step of exact EM with the hidden Poisson counts; returns the posterior too."""
    codes = all_codes(len(theta))
    joint = np.exp(log_joint(X, codes, theta, leak, odds))
    posterior = joint / joint.sum(axis=1, keepdims=True)
    top, bottom = np.zeros_like(theta), np.zeros_like(theta)
    leak_top, leak_bottom = np.zeros_like(leak), np.zeros_like(leak)
    for n, c, j in np.ndindex(*posterior.shape, X.shape[1]):
        if np.isnan(X[n, j]):
            continue
        weight, code = posterior[n, c], codes[c]
        surprise = X[n, j] / (1 - np.exp(-leak[j] - code @ theta[:, j]))
        top[:, j] += weight * code * theta[:, j] * surprise
        bottom[:, j] += weight * code
        leak_top[j] += weight * leak[j] * surprise
        leak_bottom[j] += weight
    on = posterior @ codes
    return top / bottom, leak_top / leak_bottom, on.mean(axis=0), on


def factorised_bound(X, theta, leak, odds, posterior, shares):
    """Eq. 7 with its entropy, by rows; `shares` (rows, columns, sources) are the q_j(i)."""
    prior = 1 / (1 + np.exp(-odds))
    bound = np.zeros(len(X))
    for n, x in enumerate(X):
        s = posterior[n]
        bound[n] = (s * np.log(prior / s) + (1 - s) * np.log((1 - prior) / (1 - s))).sum()
        for j, cell in enumerate(x):
            if cell == 0:
                bound[n] -= leak[j] + s @ theta[:, j]
            elif cell == 1:
                q = shares[n, j]
                on = np.log(1 - np.exp(-leak[j] - theta[:, j] / q))
                bound[n] += (q * (s * on + (1 - s) * np.log(1 - np.exp(-leak[j])))).sum()
    return bound


def figure_2_derivatives(X, theta, leak, posterior, shares):
    """What Fig. 2 sets to zero for theta and for the leak."""
    d_theta, d_leak = np.zeros_like(theta), np.zeros_like(leak)
    for n, j in np.ndindex(X.shape):
        s = posterior[n]
        if X[n, j] == 0:
            d_theta[:, j] -= s
            d_leak[j] -= 1
        elif X[n, j] == 1:
            q = np.maximum(shares[n, j], 1e-300)
            a, a0 = np.exp(-leak[j] - theta[:, j] / q), np.exp(-leak[j])
            d_theta[:, j] += s * (1 / (1 - a) - 1)
            d_leak[j] += (s * q * (a / (1 - a) - a0 / (1 - a0)) + q * a0 / (1 - a0)).sum()
    return d_theta, d_leak
