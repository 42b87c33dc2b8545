"""What the tests of Discrete PCA share: tiny tables, models and chains."""

import numpy as np
import pytest
from scipy import sparse
from tests.reference import discrete_pca as reference

from falsezero.backends import map_blocks
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer
from falsezero.models.discrete_pca.collapsed import CollapsedSteps
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.discrete_pca.family import Hyper, read_family

COUNTS = np.array([[2.0, 0, 1, 1], [0, 2, 1, 0]])


GROUPS = ["a", "a", "b", "b"]


WITH_POISSON = ["poisson", "poisson", "b", "b"]


ALPHA, BETA, ETA = np.array([0.4, 0.9]), np.array([0.3, 0.7]), 0.6


MODELS = {
    "dirichlet": ("dirichlet-multinomial", None),
    "dirichlet in groups": ("dirichlet-multinomial", GROUPS),
    "gamma-poisson": ("gamma-poisson", None),
    "gamma-multinomial": ("gamma-multinomial", GROUPS),
    "gamma, poisson block": ("gamma-multinomial", WITH_POISSON),
}


def blocks_of(counts, block_rows=None):
    return Blocks.cut(sparse.csr_array(np.asarray(counts, dtype=float)), block_rows or len(counts))


def family_of(name, n_columns=4):
    return read_family(*MODELS[name], n_columns)


def tiny(name, alpha=ALPHA):
    family = family_of(name)
    kind = "gamma" if family.gamma else "dirichlet"
    return reference.Tiny(kind, alpha, BETA, ETA, family.groups, family.poisson)


def steps_of(kind, name, counts=COUNTS, alpha=ALPHA, **options):
    return kind(family_of(name), blocks_of(counts), Hyper(alpha, BETA), ETA, **options)


def run(steps, blocks, rng, n):
    """Points of a chain or a climb, with the objective of each."""
    point = Point(*steps.init(blocks, rng))
    advance = advancer(steps, blocks, map_blocks, rng=rng)
    for _ in range(n):
        point, objective, _ = advance(point)
        yield point, objective


def counts_of(steps, point):
    """Tokens by row and component, and by word and component."""
    if not isinstance(steps, CollapsedSteps):
        return np.concatenate([rows.counts for rows in point.local]), point.state.counts
    c = np.zeros((len(steps.tokens), len(steps.hyper.alpha)))
    rows, components, counts = steps.pairs(point.local[0])
    c[rows, components] = counts
    return c, point.state.words


def invariants(c, n):
    """Quantities that do not depend on the names of the components."""
    return np.array([(c**2).sum(), (n**2).sum(), (c.sum(axis=0) ** 2).sum()])


def z_scores(draws, expected, batches=25):
    """Distance from what is expected in Monte Carlo standard errors, by batch means."""
    means = np.stack([part.mean(axis=0) for part in np.array_split(np.asarray(draws), batches)])
    return (means.mean(axis=0) - expected) / (means.std(axis=0, ddof=1) / np.sqrt(batches))


def fitted(name, theta, alpha=ALPHA, beta=BETA, **options):
    """A model that knows its components."""
    kind, groups = MODELS[name]
    return DiscretePCA.from_components(
        theta.T, family=kind, groups=groups, alpha=alpha, beta=beta, **options
    )


INFERENCES = ["mean_field", "em", "gibbs", "collapsed_gibbs"]


FAST = {"warmup": 15, "n_draws": 4, "thin": 1, "max_iter": 20}


quiet = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.*has no effect:UserWarning"
)


def corpus(n=80, seed=0):
    """Counts from three components with words of their own."""
    rng = np.random.default_rng(seed)
    theta = np.kron(np.eye(3), np.full(5, 0.2))
    weights = rng.dirichlet(np.full(3, 0.2), size=n)
    return np.stack([rng.multinomial(40, p) for p in weights @ theta]).astype(float), theta
