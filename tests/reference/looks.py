"""Slow twins of the model of repeated looks: enumeration, and Dawid and Skene transcribed."""

from itertools import product

import numpy as np


def enumerated_log_likelihood(values, content, detection, false_alarm):
    """Log likelihood of looks (rows x looks x columns, NaN for none), every z written out.

    `content` is P(z = 1) for each cell; the rates are one per cell.
    """
    n_rows, n_looks, n_columns = values.shape
    total = 0.0
    for n, t in product(range(n_rows), range(n_columns)):
        cell = 0.0
        for z in (0, 1):
            p = content[n, t] if z else 1 - content[n, t]
            rate = detection[n, t] if z else false_alarm[n, t]
            for j in range(n_looks):
                x = values[n, j, t]
                if not np.isnan(x):
                    p *= rate if x else 1 - rate
            cell += p
        total += np.log(cell)
    return total


def enumerated_present(values, content, detection, false_alarm):
    """P(z = 1 | looks) for every cell by Bayes' rule."""
    n_rows, n_looks, n_columns = values.shape
    present = np.empty((n_rows, n_columns))
    for n, t in product(range(n_rows), range(n_columns)):
        joint = [1 - content[n, t], content[n, t]]
        for j, (z, rate) in product(range(n_looks), enumerate((false_alarm, detection))):
            x = values[n, j, t]
            if not np.isnan(x):
                joint[z] *= rate[n, t] if x else 1 - rate[n, t]
        present[n, t] = joint[1] / sum(joint)
    return present


def dawid_skene(labels, n_iter=2000):
    """Dawid and Skene (1979) for two classes: posterior, detection, false alarms, likelihood."""
    r = labels.mean(axis=1)
    for _ in range(n_iter):
        prevalence = r.mean()
        hit = (r @ labels) / r.sum()
        alarm = ((1 - r) @ labels) / (1 - r).sum()
        one = np.log(prevalence) + labels @ np.log(hit) + (1 - labels) @ np.log(1 - hit)
        zero = np.log(1 - prevalence) + labels @ np.log(alarm) + (1 - labels) @ np.log(1 - alarm)
        total = np.logaddexp(one, zero)
        r = np.exp(one - total)
    return r, hit, alarm, total.sum()


def enumerated_posterior(ones, tries, detection, alpha0, beta0):
    """P(z = 1 | looks) of one column's cells whose common content is Beta, every z written out."""
    from scipy.special import betaln

    total, present = 0.0, np.zeros(len(ones))
    for z in product((0, 1), repeat=len(ones)):
        z = np.array(z)
        looks = np.where(
            z, detection**ones * (1 - detection) ** (tries - ones), np.where(ones == 0, 1.0, 0.0)
        )
        p = looks.prod() * np.exp(betaln(alpha0 + z.sum(), beta0 + (1 - z).sum()))
        total += p
        present += p * z
    return present / total


def dirichlet_log_density(coefficients, total, variables, logs):
    """Log density of row weights under Dirichlet(total softmax(B' v)), row by row."""
    from math import lgamma

    value = 0.0
    for v, log_w in zip(variables, logs, strict=True):
        m = np.exp(v @ coefficients)
        alpha = total * m / m.sum()
        value += lgamma(alpha.sum()) - sum(lgamma(x) for x in alpha)
        value += ((alpha - 1) * log_w).sum()
    return value
