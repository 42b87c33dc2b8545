"""Make finds.csv (what was found) and lived.csv (what was there): a table whose truth is known.

Each of 200 sites has one of three faunas, some have two. An animal of the fauna lived there with
probability 0.9, any other with 0.02. Then finds are lost, at a rate of its own in every site.
"""

import csv
from pathlib import Path

import numpy as np

import falsezero as fz

FAUNAS = {
    "forest": "deer boar tapir beaver bear lynx marten squirrel badger moose dormouse owl",
    "savanna": "horse gazelle giraffe elephant hyena lion ostrich rhino baboon zebra kudu jackal",
    "steppe": "camel saiga bison marmot wolf fox hare bustard hamster polecat jerboa eagle",
}


def make_finds(random_state: int = 0) -> tuple[fz.Table, fz.Table]:
    """The table of what was found, and the table of what lived there."""
    generator = np.random.default_rng(random_state)
    belongs = np.kron(np.eye(3), np.ones(12))[generator.integers(3, size=200)]
    second = np.kron(np.eye(3), np.ones(12))[generator.integers(3, size=200)]
    belongs = np.maximum(belongs, second * (generator.random((200, 1)) < 0.1))
    lived = generator.random(belongs.shape) < np.where(belongs > 0, 0.9, 0.02)
    sites = [f"site-{i:03d}" for i in range(1, 201)]
    animals = [animal for fauna in FAUNAS.values() for animal in fauna.split()]
    truth = fz.Table(lived, rows=sites, columns=animals)
    return fz.corrupt(truth, omit=0.7, random_state=random_state), truth


def write_pairs(table: fz.Table, path: Path) -> None:
    """One line per presence, as in a field book."""
    rows, columns = table.to_numpy().nonzero()
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["site", "animal"])
        writer.writerows(
            zip(table.rows[rows], table.columns[columns], strict=True)
        )


if __name__ == "__main__":
    found, lived = make_finds()
    write_pairs(found, Path(__file__).with_name("finds.csv"))
    write_pairs(lived, Path(__file__).with_name("lived.csv"))
