"""One chain of a sampler of Discrete PCA: in this process, on threads, or over files."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.backends import map_blocks, workers
from falsezero.data.blocks import Blocks
from falsezero.inference.chains import sample
from falsezero.inference.progress import progress
from falsezero.models.discrete_pca.collapsed import CollapsedSteps
from falsezero.models.discrete_pca.distributed import DistributedSteps, MergedPosterior
from falsezero.models.discrete_pca.posterior import Posterior
from falsezero.models.discrete_pca.settings import n_shards_of, priors_to_learn


def is_marginalised(model: Any) -> bool:
    """Whether only the components of tokens are drawn, so that rows can be split into shards."""
    exact = model.inference == "collapsed_gibbs" and model.collapse == "all"
    return bool(exact and model.family != "gamma-multinomial")


def run_chain(
    model: Any, blocks: Blocks, seed: np.random.SeedSequence
) -> tuple[Posterior, list[dict[str, Any]]]:
    """The posterior means of a chain, and its history; draws are summed as they come, not kept."""
    in_parts = is_marginalised(model)
    n_parts = n_shards_of(model) if in_parts and not blocks.in_files else len(blocks)
    listeners = () if model.callback is None else (model.callback,)
    sweeps = model.warmup + model.n_draws * model.thin
    with workers(model.n_jobs, n_parts) as run, progress(model, model.verbose, sweeps) as show:
        steps = marginalised_steps(model, blocks, run) if in_parts else model._steps(blocks)
        merged = isinstance(steps, DistributedSteps)
        posterior = MergedPosterior(steps, blocks) if merged else Posterior(steps)
        (chain,) = sample(
            steps,
            blocks,
            [seed],
            warmup=model.warmup,
            draws=model.n_draws,
            thin=model.thin,
            record=posterior.add,
            listeners=(*show, *listeners),
            run=run if merged else map_blocks,
        )
    if not posterior.n_draws:
        posterior.add(chain.last)
    return posterior, chain.history


def marginalised_steps(model: Any, blocks: Blocks, run: Any) -> Any:
    """The steps of the collapsed sampler, for a table in memory or in files."""
    family = model._family(blocks.shape[1])
    hyper, learn = model._priors(family, blocks), priors_to_learn(model, family)
    if blocks.in_files:
        lengths = model.warmup, model.thin
        return DistributedSteps(family, blocks, hyper, model.eta, *lengths, learn)
    shards = n_shards_of(model)
    return CollapsedSteps(family, blocks, hyper, model.eta, model.warmup, learn, shards, run)
