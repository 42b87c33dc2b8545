"""The log likelihood of a convex table by the series of `models/convex/series`, cell by cell."""

import numpy as np

ROUNDING = 64 * np.finfo(float).eps


def log_likelihood(x, weights, ones, gaps, order, hot, settings):
    """Value, error and wanted visits after every limit that is tried; the last is the answer.

    `settings` are the relative error that is good enough, the lowest limit, and how many hot zeros
    may be visited for each one and row of the table.
    """
    goal, coldest, most_visits = settings
    p, q = weights @ gaps, weights @ ones
    is_one, is_zero = x == 1, x == 0
    allowance = most_visits * (np.count_nonzero(is_one) + len(x))
    found = []
    while True:
        plain, is_hot = is_zero & (p <= hot), is_zero & (p > hot)
        logs = np.log(q[is_one]).sum() + np.log(1 - p[is_hot]).sum()
        power = [(p[plain] ** j).sum() for j in range(1, order + 1)]
        series = sum(power[j - 1] / j for j in range(1, order + 1))
        last, above = power[-1], order + 1
        low = min(last**2 / power[-2] if power[-2] > 0 else 0, hot * last) / above
        high = hot * last / (above * (1 - hot))
        rounding = ROUNDING * (sum((p**j).sum() for j in range(1, order + 1)) + abs(logs))
        value, error = logs - series - (low + high) / 2, (high - low) / 2 + rounding
        colder = hot / 2
        most = min(power[j - 1] / colder**j for j in range(1, order + 1))
        visits = np.count_nonzero(is_hot) + most
        found.append((value, error, visits / (np.count_nonzero(is_one) + len(x))))
        if error <= goal * abs(value) or colder < coldest:
            return found
        if visits > allowance:
            return found
        hot = colder
