"""Models fitted by Markov chains, whose answers are averages over draws."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from falsezero.base.factor_model import FactorModel, spawn_seeds
from falsezero.data.blocks import Blocks
from falsezero.inference.chains import Chain, sample
from falsezero.inference.contract import Point, Steps
from falsezero.inference.progress import progress

__all__ = ["SampledModel"]


class SampledModel(FactorModel):
    """A factor model whose answers are averages over the draws of several chains.

    A model supplies its constructor (with `n_chains`, `warmup`, `n_draws`, `thin`, `callback`,
    `n_jobs`, `random_state`, `verbose`), its `capabilities`, `fit` (which calls `_run_chains`) and
    `posterior_predict`. Once fitted it has `draws_`, all kept draws, and `chains_`, a dict per
    chain of quantities that do not depend on the order of components, for `diagnose`.
    """

    n_chains: int
    draws_: list[Any]
    chains_: list[dict[str, np.ndarray]]

    @abstractmethod
    def posterior_predict(self, X: Any = None) -> Any:
        """Expected value of every cell, averaged over draws."""

    @property
    def n_init(self) -> int:
        """Number of chains, for progress bars."""
        return self.n_chains

    def _run_chains(
        self, steps: Steps, blocks: Blocks, record: Callable[[Point], Any]
    ) -> list[Chain]:
        """Run the chains with the parameters of the constructor."""
        length = self.warmup + self.n_draws * self.thin
        listeners = () if self.callback is None else (self.callback,)
        with progress(self, self.verbose, self.n_chains * length) as show:
            return sample(
                steps,
                blocks,
                spawn_seeds(self.random_state, self.n_chains),
                warmup=self.warmup,
                draws=self.n_draws,
                thin=self.thin,
                record=record,
                n_jobs=self.n_jobs,
                listeners=(*show, *listeners),
            )
