"""Who predicts the next look: ours, and rivals with one fixed setting each.

A method of visits takes `VisitTask` and returns, for every cell, the probability of a one at the
next visit. A method of annotators takes their table (rows x annotators) and returns the
probability of "yes" for every row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

CHAIN = {"num_chains": 1, "num_warmup": 300, "num_samples": 300}
"""One short chain; the library's default is five chains of 1000 + 1000."""


class VisitTask(NamedTuple):
    """Visits that may be fitted, what is known of sites, and the visit to be predicted."""

    name: str
    visits: np.ndarray
    sites: dict[str, np.ndarray]
    dates: np.ndarray
    """Of the visits that may be fitted, sites x visits."""
    later: np.ndarray
    later_dates: np.ndarray

    @property
    def unseen(self) -> np.ndarray:
        """Cells without a one so far that the later visit looked at."""
        looked = ~np.isnan(self.visits).all(axis=1) & ~np.isnan(self.later)
        return np.asarray(looked & ~(self.visits == 1).any(axis=1))


def audit(task: VisitTask) -> np.ndarray:
    """`falsezero.audit` of the visits as they come."""
    import falsezero as fz

    return fz.audit(task.visits, random_state=0).again.to_numpy()


def audit_with_variables(task: VisitTask) -> np.ndarray:
    """`falsezero.audit` of the visits with what is known of the sites."""
    import falsezero as fz

    looks = fz.Looks(task.visits, row_variables=task.sites)
    return fz.audit(looks, random_state=0).again.to_numpy()


def audit_with_dates(task: VisitTask) -> np.ndarray:
    """The same with the dates of the visits, and that of the visit to be predicted."""
    import falsezero as fz

    looks = fz.Looks(task.visits, variables={"date": task.dates}, row_variables=task.sites)
    audit = fz.audit(looks, next_look={"date": task.later_dates}, random_state=0)
    return audit.again.to_numpy()


def variational_with_variables(task: VisitTask) -> np.ndarray:
    """What the audit does with more looks: variational fits in place of posterior draws."""
    import falsezero as fz

    looks = fz.Looks(task.visits, variables={"date": task.dates}, row_variables=task.sites)
    model = fz.LooksAverage(inference="vb", random_state=0).fit(looks)
    return model.again(looks, {"date": task.later_dates})


def aspect_bernoulli(task: VisitTask) -> np.ndarray:
    """Plain AspectBernoulli of what any visit saw: it knows nothing of detection."""
    import falsezero as fz

    table = fz.as_looks(task.visits).union()
    return np.asarray(fz.AspectBernoulli(5, random_state=0).fit(table).reconstruct(table))


def constant(task: VisitTask) -> np.ndarray:
    """The rate at which cells without a one on the first visit had one on the second."""
    first, second = task.visits[:, 0], task.visits[:, 1]
    again = np.nanmean(second[first == 0])
    return np.full(first.shape, again)


def biolith(task: VisitTask) -> np.ndarray:
    """biolith's multi-species occupancy model by NUTS, intercepts only (its one variable is 0)."""
    n_rows, n_looks, _ = task.visits.shape
    return _biolith(task, np.zeros((n_rows, 1)), np.zeros((n_rows, n_looks + 1, 1)))


def biolith_with_variables(task: VisitTask) -> np.ndarray:
    """The same with what is known of the sites as linear terms of occupancy, elevation squared."""
    n_rows, n_looks, _ = task.visits.shape
    return _biolith(task, _site_terms(task), np.zeros((n_rows, n_looks + 1, 1)))


def biolith_with_dates(task: VisitTask) -> np.ndarray:
    """Detection, too, has the terms of the sites, and the date."""
    terms, dates = _site_terms(task), np.column_stack([task.dates, task.later_dates])
    dates = (dates - task.dates.mean()) / task.dates.std()
    each = np.broadcast_to(terms[:, None], (*dates.shape, terms.shape[1]))
    return _biolith(task, terms, np.concatenate([dates[:, :, None], each], axis=2))


def _site_terms(task: VisitTask) -> np.ndarray:
    columns = [(x - x.mean()) / x.std() for x in task.sites.values()]
    square = columns[list(task.sites).index("elevation")] ** 2
    return np.column_stack([*columns, (square - square.mean()) / square.std()])


def _biolith(task: VisitTask, site_covs: np.ndarray, obs_covs: np.ndarray) -> np.ndarray:
    """Fitted with the later visit as one that recorded nothing, for which there is a rate."""
    from biolith.models import occu
    from biolith.utils import fit

    nothing = np.full_like(task.visits[:, :1], np.nan)
    visits = np.concatenate([task.visits, nothing], axis=1)
    obs = visits.transpose(2, 0, 1)[:, :, None, :]
    found = fit(occu, site_covs=site_covs, obs_covs=obs_covs[:, None], obs=obs, **CHAIN)
    n_rows, n_looks, n_columns = visits.shape
    psi = np.asarray(found.samples["psi"]).reshape(-1, n_rows, n_columns)
    rate = np.asarray(found.samples["prob_detection"]).reshape(-1, n_looks, n_rows, n_columns)
    looked = ~np.isnan(task.visits).swapaxes(0, 1)
    missed = psi * np.where(looked, 1 - rate[:, :-1], 1.0).prod(axis=1)
    return np.asarray((rate[:, -1] * missed / (missed + 1 - psi)).mean(axis=0))


def audit_observers(labels: np.ndarray) -> np.ndarray:
    """`falsezero.audit` of annotators of one thing."""
    import falsezero as fz

    return fz.audit(labels[:, :, None], random_state=0).present.to_numpy()[:, 0]


def crowdkit_dawid_skene(labels: np.ndarray) -> np.ndarray:
    """crowd-kit's Dawid-Skene with its defaults."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    rows, who = np.nonzero(~np.isnan(labels))
    answers = pd.DataFrame({"task": rows, "worker": who, "label": labels[rows, who].astype(int)})
    found = DawidSkene(n_iter=200).fit_predict_proba(answers)
    return found.loc[range(len(labels)), 1].to_numpy()


def majority(labels: np.ndarray) -> np.ndarray:
    """The share of annotators who said yes."""
    return np.asarray(np.nanmean(labels, axis=1))


VISITS: dict[str, Callable[[VisitTask], np.ndarray]] = {
    "audit": audit,
    "audit with variables": audit_with_variables,
    "audit with dates": audit_with_dates,
    "variational with variables": variational_with_variables,
    "biolith": biolith,
    "biolith with variables": biolith_with_variables,
    "biolith with dates": biolith_with_dates,
    "AspectBernoulli": aspect_bernoulli,
    "constant": constant,
}
ANNOTATORS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "audit": audit_observers,
    "crowd-kit Dawid-Skene": crowdkit_dawid_skene,
    "majority": majority,
}
