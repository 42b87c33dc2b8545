"""Make abundances.csv (what was counted), plots.csv (belt and effort) and grows.csv (what grows).

Ninety plots on a mountainside lie in a wood, a meadow or a scree. A plant of the belt grows in a
plot with probability 0.75, any other with 0.03. Counts rise with how plentiful the plant is there,
how showy it is, and how long the plot was searched.
"""

from pathlib import Path

import numpy as np

BELTS = {
    "wood": "anemone violet woodruff sorrel fern ivy bilberry arum wintergreen lily",
    "meadow": "clover daisy yarrow sage orchid cowslip gentian arnica vetch harebell",
    "scree": "saxifrage stonecrop toadflax poppy campion rockjasmine edelweiss pennycress "
    "houseleek oxytropis",
}


def make_plots(
    random_state: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Belt and minutes of every plot, counts of every plant, and whether it grows there."""
    generator = np.random.default_rng(random_state)
    belt = generator.integers(3, size=90)
    minutes = generator.choice([10, 20, 40, 60], size=90)
    belongs = np.kron(np.eye(3), np.ones(10))[belt]
    grows = generator.random(belongs.shape) < np.where(belongs > 0, 0.75, 0.03)
    plentiful = generator.gamma(2, 2, size=belongs.shape)
    showy = generator.uniform(0.1, 0.6, size=30)
    counts = generator.poisson(grows * plentiful * showy * minutes[:, None] / 30)
    return belt, minutes, counts, grows


def write_table(path: Path, names: list[str], lines: list[list[object]]) -> None:
    """A CSV file."""
    text = "\n".join(",".join(map(str, line)) for line in [names, *lines])
    path.write_text(text + "\n", newline="")


if __name__ == "__main__":
    here = Path(__file__).parent
    belt, minutes, counts, grows = make_plots()
    plots = (1000 + 7 * np.random.default_rng(1).permutation(90)).tolist()
    plants = [plant for names in BELTS.values() for plant in names.split()]
    for file, table in (("abundances", counts), ("grows", grows.astype(int))):
        lines = [
            [plot, *row] for plot, row in zip(plots, table.tolist(), strict=True)
        ]
        write_table(here / f"{file}.csv", ["plot", *plants], lines)
    belts = [list(BELTS)[each] for each in belt]
    lines = [
        list(line) for line in zip(plots, belts, minutes.tolist(), strict=True)
    ]
    write_table(here / "plots.csv", ["plot", "belt", "minutes"], lines)
