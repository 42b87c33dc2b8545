"""The demo keeps its promises: a phantom, a better table, a picture and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.image import imread

import falsezero as fz
from falsezero.plot.demo import draw_demo


def test_the_demo_finds_the_phantom_and_names_what_it_wrote(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "demo"
    outcome = run("demo", "-o", folder)
    assert outcome.code == 0, outcome.err
    assert "found 1 white phantom" in outcome.out
    rates = {
        line[:28].strip(): [float(text.rstrip("%")) for text in line[28:].split()]
        for line in outcome.out.splitlines()
        if line.endswith("%")
    }
    kept, removed = rates["noise removal rate"]
    assert removed >= 80
    assert removed >= kept + 4
    for name in ("demo.png", "explore.html", "digits.fz", "digits.csv"):
        assert str(folder / name) in outcome.out
        assert (folder / name).exists()
    again = run("gaps", folder / "digits.fz", folder / "digits.csv", "-n", 10)
    assert again.out.count("\n") == 11
    spoilt = fz.read(folder / "digits.csv")
    omitted = fz.corrupt(fz.datasets.make_digits_demo().table, omit=0.4, random_state=0)
    assert spoilt.equals(omitted)


def test_a_file_is_no_folder(run: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = run("demo", "-o", tmp_path / "file")
    assert outcome.code == 1
    assert "is a file; name a folder" in outcome.err


def test_the_picture_colours_what_was_lost_restored_and_invented(tmp_path: Path) -> None:
    clean, spoilt = np.array([[1, 1, 1, 0]]), np.array([[1, 0, 0, 0]])
    draw_demo(
        tmp_path / "picture.png",
        clean=clean,
        spoilt=spoilt,
        restored=np.array([[1, 1, 0, 1]]),
        components=np.array([[0.0, 0, 0, 0], [1, 1, 1, 0]]),
        kinds=np.array(["white", "content"]),
        weights=np.array([0.4, 0.6]),
        image_shape=(2, 2),
    )
    picture = (imread(tmp_path / "picture.png")[:, :, :3] * 255).round().astype(int)
    shades, counts = np.unique(picture.reshape(-1, 3), axis=0, return_counts=True)
    area = dict(zip(("#" + bytes(shade.tolist()).hex() for shade in shades), counts, strict=True))
    pixel = area["#cc79a7"]
    assert pixel > 500
    assert 0.8 < area["#009e73"] / pixel < 1.25
    assert area["#0b2a45"] > 4 * pixel
    assert area["#d9d9d9"] > 2 * pixel
    assert area["#d55e00"] > 0
