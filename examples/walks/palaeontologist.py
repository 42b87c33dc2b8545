"""A palaeontologist with a long list of finds and the age of each site.

python examples/walks/palaeontologist.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

import falsezero as fz


def finds() -> pd.DataFrame:
    """One line a find: site, age in million years, genus. Faunas change with age."""
    rng = np.random.default_rng(1)
    ages = np.sort(rng.uniform(5, 15, 60)).round(1)
    first, last = rng.uniform(9, 16, 30), rng.uniform(3, 9, 30)
    lived = (ages[:, None] < first) & (ages[:, None] > last)
    seen = lived & (rng.random(lived.shape) < 0.5)
    lines = [(f"site {i}", ages[i], f"genus {t}") for i, t in np.argwhere(seen)]
    return pd.DataFrame(lines, columns=["site", "age", "genus"])


def walk(folder: Path) -> Path:
    """What to show a colleague: how the weight of each fauna changes with age."""
    matplotlib.use("Agg")
    listed = finds()
    listed.to_csv(folder / "finds.csv", index=False)
    table = fz.read(folder / "finds.csv", row="site", column="genus")
    model = fz.AspectBernoulli(3, n_init=5, random_state=0).fit(table)
    zeros = fz.surprising_zeros(model, table, n=20).to_pandas()
    age = listed.drop_duplicates("site").set_index("site")["age"]
    zeros["age"] = zeros["row"].map(age)
    zeros.to_csv(folder / "look-again.csv", index=False)
    groups = pd.cut(
        age.loc[table.rows], [0, 8, 11, 20], labels=["05-08 Ma", "08-11 Ma", "11-15 Ma"]
    )
    display = fz.plot.WeightsByGroupDisplay.from_estimator(model, table, np.asarray(groups))
    display.plot()
    display.figure_.savefig(folder / "faunas.png", dpi=100)
    display.close()
    return folder / "faunas.png"


if __name__ == "__main__":
    print(walk(Path(sys.argv[1])))
