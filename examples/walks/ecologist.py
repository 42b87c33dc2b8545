"""An ecologist with abundances in a spreadsheet: from the sheet to a page, without any code.

python examples/walks/ecologist.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from _shell import shell


def abundances() -> pd.DataFrame:
    """Plots by species: three habitats, counts, plot numbers in the first column, a total."""
    rng = np.random.default_rng(0)
    habitat = np.repeat([0, 1, 2], 25)
    likes = rng.random((3, 24)) < 0.35
    counts = rng.poisson(np.where(likes[habitat], 2.0, 0.03))
    frame = pd.DataFrame(counts, columns=[f"species {t + 1}" for t in range(24)])
    frame.insert(0, "plot", rng.permutation(900)[:75] + 100)
    return frame.assign(total=counts.sum(axis=1))


def walk(folder: Path) -> Path:
    """What to show a colleague: a page that opens in any browser."""
    abundances().to_csv(folder / "plots.csv", index=False)
    abundances().to_excel(folder / "plots.xlsx", index=False)
    options = "--index plot --drop total --binarize 0"
    shell(folder, f"falsezero audit plots.xlsx {options} -o audit.html")
    shell(folder, f"falsezero fit plots.csv {options} -k 3 -o plots.fz")
    # The model remembers how its table was read.
    shell(folder, "falsezero gaps plots.fz plots.csv -n 20 -o gaps.csv")
    shell(folder, "falsezero denoise plots.fz plots.csv -o filled.csv")
    shell(folder, "falsezero explore plots.fz plots.csv -o explore.html")
    return folder / "audit.html"


if __name__ == "__main__":
    print(walk(Path(sys.argv[1])))
