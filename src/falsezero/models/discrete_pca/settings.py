"""Checks and defaults of Discrete PCA: counts, priors, lengths of fits, threads."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from falsezero.models.discrete_pca.family import Family

_LENGTHS = {
    True: ("max_iter", "tol", "inner_iter", "inner_cycles"),
    False: ("warmup", "n_draws", "thin", "n_shards"),
}
"""Settings without effect on samplers, and on mean field and EM."""

_COUNTABLE = 2.0**53
"""Largest number up to which a double represents every integer."""

_MOST_TOKENS = 10**9
"""Most tokens for collapsed samplers, which store the component of each."""


def check_counts(data: np.ndarray, name: str, sampler: str | None) -> None:
    """Refuse counts that cannot be used, or not by the `sampler` asked for (None: no sampler)."""
    if np.isnan(data).any():
        raise ValueError(
            f"Input contains NaN: {name} has no use for cells not observed (a multinomial "
            "count without one of its cells is no multinomial); drop their rows or columns."
        )
    if sampler is None:
        return
    part = data != np.floor(data)
    if part.any():
        raise ValueError(
            f'{name} needs whole counts for inference="{sampler}", but found {data[part][0]:g}; '
            'round them, or choose inference="em".'
        )
    total = float(data.sum(dtype=float))
    if total > _COUNTABLE:
        raise ValueError(
            f'{name} needs counts that add up to at most 2^53 for inference="{sampler}", since a '
            f"double cannot count further, but found {total:.3g}; scale them down, or choose "
            'inference="em".'
        )
    if sampler == "collapsed_gibbs" and total > _MOST_TOKENS:
        raise ValueError(
            f'inference="collapsed_gibbs" draws the component of every single token and takes at '
            f'most {_MOST_TOKENS:.0e} of them, but found {total:.3g}; choose inference="gibbs" or '
            '"em", whose cost does not grow with the counts.'
        )


def per_component(name: str, value: Any, n_components: int) -> np.ndarray:
    """A prior's parameter for each component, from one number or one each."""
    values = np.atleast_1d(np.asarray(value, dtype=float))
    if values.shape not in ((1,), (n_components,)) or not (values > 0).all():
        raise ValueError(
            f"{name}= needs one positive number or one per component ({n_components}), "
            f"but is {value!r}."
        )
    return np.broadcast_to(values, (n_components,)).copy()


def default_alpha(family: Family, inference: str, n_components: int) -> float:
    """Default number of prior tokens of a component in a row.

    A joint mode counts all of alpha, a mean field exp(psi(alpha + c)), about c + alpha - 1/2, so
    that "em" needs a smaller alpha.
    """
    most = 0.1 if inference == "em" else 0.5
    return 0.5 if family.gamma else min(most, 50.0 / n_components)


def priors_to_learn(model: Any, family: Family) -> tuple[bool, bool]:
    """Whether alpha and beta are learnt."""
    if model.inference == "em":
        if model.learn_alpha or model.learn_beta:
            raise ValueError(
                'inference="em" cannot learn alpha or beta: the joint density has no mode over '
                'them; choose inference="mean_field", or leave out learn_alpha=, learn_beta=.'
            )
        return False, False
    beta = model.beta is None if model.learn_beta is None else model.learn_beta
    return bool(model.learn_alpha), bool(beta and family.gamma)


def n_shards_of(model: Any) -> int:
    """Number of shards of the collapsed sampler: as given, or one per thread."""
    return effective_n_jobs(model.n_jobs) if model.n_shards is None else model.n_shards


def warn_of_no_effect(model: Any) -> None:
    """Warn about settings that were changed but have no effect on the chosen inference."""
    sampler = model.inference in ("gibbs", "collapsed_gibbs")
    defaults = {p.name: p.default for p in _parameters(model)}
    changed = [n for n in _LENGTHS[sampler] if getattr(model, n) != defaults[n]]
    length = "warmup + n_draws x thin sweeps" if sampler else "max_iter and tol"
    if changed:
        warnings.warn(
            f'{", ".join(changed)} has no effect on inference="{model.inference}", whose length '
            f"is set by {length}.",
            UserWarning,
            stacklevel=4,
        )
    idle = model.n_shards == 1 and effective_n_jobs(model.n_jobs) > 1
    if model.inference == "collapsed_gibbs" and model.collapse == "all" and idle:
        warnings.warn(
            f"n_jobs={model.n_jobs} has no effect with n_shards=1: one shard is sampled by one "
            "thread; leave n_shards=None for one shard per thread.",
            UserWarning,
            stacklevel=4,
        )


def _parameters(model: Any) -> list[Any]:
    from inspect import signature

    return list(signature(type(model).__init__).parameters.values())
