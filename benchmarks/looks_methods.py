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
    later: np.ndarray

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


def variational_with_variables(task: VisitTask) -> np.ndarray:
    """What the audit does with more looks: variational fits in place of posterior draws."""
    import falsezero as fz

    looks = fz.Looks(task.visits, row_variables=task.sites)
    return fz.LooksAverage(inference="vb", random_state=0).fit(looks).again(looks)


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
    return _biolith(task, np.zeros((len(task.visits), 1)))


def biolith_with_variables(task: VisitTask) -> np.ndarray:
    """The same with what is known of the sites as linear terms of occupancy, elevation squared."""
    columns = [(x - x.mean()) / x.std() for x in task.sites.values()]
    square = columns[list(task.sites).index("elevation")] ** 2
    return _biolith(task, np.column_stack([*columns, (square - square.mean()) / square.std()]))


def _biolith(task: VisitTask, site_covs: np.ndarray) -> np.ndarray:
    from biolith.models import occu
    from biolith.utils import fit

    n_rows, n_looks, _ = task.visits.shape
    obs = task.visits.transpose(2, 0, 1)[:, :, None, :]
    found = fit(
        occu, site_covs=site_covs, obs_covs=np.zeros((n_rows, 1, n_looks, 1)), obs=obs, **CHAIN
    )
    psi = np.asarray(found.samples["psi"])
    rate = np.asarray(found.samples["prob_detection"])[:, 0, 0]
    tries = (~np.isnan(task.visits)).sum(axis=1)
    missed = psi * (1 - rate) ** tries
    return np.asarray((rate * missed / (missed + 1 - psi)).mean(axis=0))


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
    "variational with variables": variational_with_variables,
    "biolith": biolith,
    "biolith with variables": biolith_with_variables,
    "AspectBernoulli": aspect_bernoulli,
    "constant": constant,
}
ANNOTATORS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "audit": audit_observers,
    "crowd-kit Dawid-Skene": crowdkit_dawid_skene,
    "majority": majority,
}
