"""A political scientist with votes, some of them missed: what would absent members have voted?

python examples/walks/political_scientist.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from _shell import shell


def votes() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Members by bills, Y and N; a tenth of the votes missed ("absent" in the file)."""
    rng = np.random.default_rng(3)
    party = np.arange(60) < 32
    whip = rng.random(25) < 0.5
    p = np.where(whip == party[:, None], 0.95, 0.08)
    cast = np.where(rng.random(p.shape) < p, "Y", "N")
    frame = pd.DataFrame(
        cast, index=[f"member {i}" for i in range(60)], columns=[f"bill {t}" for t in range(25)]
    )
    return frame, frame.mask(rng.random(p.shape) < 0.1, "absent")


def walk(folder: Path) -> Path:
    """What to show a colleague: the votes that were missed, with what the model expects."""
    cast, recorded = votes()
    recorded.to_csv(folder / "votes.csv")
    marks = "--mark Y=1 --mark N=0 --mark absent=NA"
    shell(folder, f"falsezero fit votes.csv {marks} -k 2 -o votes.fz")
    shell(folder, "falsezero impute votes.fz votes.csv -o missed.csv")
    missed = pd.read_csv(folder / "missed.csv")
    truth = [cast.loc[r, c] == "Y" for r, c in zip(missed["row"], missed["column"], strict=True)]
    right = np.mean((missed["expected"] > 0.5) == truth)
    assert right > 0.85, f"only {right:.0%} of the missed votes were foretold"
    return folder / "missed.csv"


if __name__ == "__main__":
    print(walk(Path(sys.argv[1])))
