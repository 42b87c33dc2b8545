"""Slow twins of the model of repeated looks: enumeration, and Dawid and Skene transcribed."""

from itertools import product

import numpy as np


def enumerated_log_likelihood(values, content, detection, false_alarm):
    """Log likelihood of looks (rows x looks x columns, NaN for none), every z written out.

    `content` is P(z = 1) for each cell; the rates are one a cell.
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
