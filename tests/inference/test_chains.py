"""Chains that must stop when somebody says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from falsezero.data.blocks import Blocks
from falsezero.inference.chains import sample
from falsezero.models.convex.aspect_bernoulli import ExactSteps


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_stops_every_chain(n_jobs: int) -> None:
    blocks = Blocks.cut((np.random.default_rng(0).random((40, 6)) < 0.4).astype(float))
    seen: list[dict[str, Any]] = []

    def interrupt(row: dict[str, Any]) -> None:
        seen.append(row)
        if row["chain"] == 0 and row["iteration"] == 3:
            raise KeyboardInterrupt

    seeds = np.random.SeedSequence(0).spawn(3)
    with pytest.raises(KeyboardInterrupt):
        sample(
            ExactSteps(2, blocks),
            blocks,
            seeds,
            warmup=10**9,
            draws=1,
            n_jobs=n_jobs,
            listeners=(interrupt,),
        )
    assert sum(row["chain"] == 0 for row in seen) == 3
