"""What is packed must be what the page unpacks; the Python half of that."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import falsezero as fz
from falsezero.explorer.cells import _expected, code_cells
from falsezero.explorer.links import factors_of
from falsezero.explorer.packing import Bundle, gaps_of, pack, quantise
from falsezero.explorer.page import _PRECISIONS


@given(arrays(bool, st.integers(0, 2000), elements=st.booleans()), st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_gaps_give_the_cells_back(cells: np.ndarray, more: int) -> None:
    cells = np.concatenate([cells, np.zeros(more, bool), [True]])
    np.testing.assert_array_equal(_places(gaps_of(cells)), np.flatnonzero(cells))


@pytest.mark.parametrize(("low", "power"), [(0, 4), (0, 2), (-1, 1)])
@pytest.mark.parametrize("levels", [255, 65535])
def test_surprises_give_the_table_back(low, power, levels) -> None:
    rng = np.random.default_rng(0)
    weights = quantise(rng.uniform(low, 1, (3, 40)), levels, power)
    components = quantise(rng.uniform(low, 1, (3, 25)) ** 3, levels)
    expected = _expected(weights, components)
    codes = (rng.random(expected.shape) < expected / expected.max()).astype(np.uint8)
    codes[2, 3] = codes[30, 20] = 2
    arrays, header = code_cells(codes, weights, components)
    bins = np.searchsorted(header["cuts"], expected, side="right").ravel()
    surprising = np.zeros(codes.size, dtype=int)
    surprising[_places(arrays["surprises"])] = 1
    back = np.empty(codes.size, dtype=int)
    order = np.argsort(bins, kind="stable")
    back[order] = surprising ^ np.array(header["mostly_one"])[bins[order]]
    back[_places(arrays["missing"])] = 2
    np.testing.assert_array_equal(back.reshape(codes.shape), codes)
    assert len(set(header["mostly_one"])) == 2 or low < 0


def _places(gaps: np.ndarray) -> list[int]:
    places, at = [], -1
    for gap in gaps.tolist():
        at += gap
        if gap < 255:
            at += 1
            places.append(at)
    return places


@pytest.mark.parametrize(
    ("levels", "power", "low", "worst"),
    [(65535, 4, 0, 1e-4), (1023, 4, 0, 2.1e-3), (255, 1, 0, 1 / 509), (1023, 1, -3, 3.1e-3)],
)
def test_quantise_loses_little(levels: int, power: int, low: float, worst: float) -> None:
    values = np.random.default_rng(0).uniform(low, 1, 5000)
    codes, how = quantise(values, levels, power)
    back = how["range"] * (codes / how["levels"] - how["shift"]) ** how["power"]
    assert codes.max() <= how["levels"]
    assert np.abs(back - values).max() <= worst


def test_pack_is_text_that_html_leaves_alone() -> None:
    numbers = np.random.default_rng(0).integers(0, 60000, 999).astype(np.uint32)
    text = pack(Bundle({"name": "Čedović <b>&"}, {"numbers": numbers}))
    assert not set(text) & set("<>&\"'`\\\n")
    size, _, body = text.partition(" ")
    plain = body.translate(str.maketrans(",./:", "&<>`"))
    data = zlib.decompress(base64.b85decode(plain)[: int(size)], -15)
    length = int.from_bytes(data[:4], "little")
    assert json.loads(data[4 : 4 + length])["name"] == "Čedović <b>&"
    high, low = np.frombuffer(data[4 + length :], np.uint8).reshape(2, 999).astype(int)
    np.testing.assert_array_equal(256 * high + low, numbers)


def test_a_model_that_the_page_cannot_compute_is_refused() -> None:
    class Odd(fz.AspectBernoulli):
        capabilities = replace(fz.AspectBernoulli.capabilities, link=None)

        def _expected(self, weights: np.ndarray) -> np.ndarray:
            return (weights @ self.components_) ** 3

    table = fz.datasets.make_aspect_bernoulli(20, 6, 2, random_state=0).table
    model = Odd(2, random_state=0).fit(table)
    with pytest.raises(TypeError, match="Odd does none of these"):
        factors_of(model, model.row_weights_)


@pytest.mark.parametrize(("density", "shape"), [(0.01, (0.1, 10.0)), (0.02, (0.1, 5.0))])
def test_the_page_is_small(tmp_path, density, shape) -> None:
    drawn = fz.datasets.make_aspect_bernoulli(
        5000, 2000, 30, concentration=0.1, shape=shape, random_state=0
    )
    assert drawn.table.density == pytest.approx(density, rel=0.02)

    class Known(fz.AspectBernoulli):
        """The generating model itself: 5000 x 2000 x 30 takes long to fit."""

        def weights_by_block(self, X):
            for block in self._blocks(X, reset=False):
                yield block, drawn.weights[block.rows]

    model = Known(30)
    model.components_, model.row_weights_ = drawn.components, drawn.weights
    model.n_features_in_ = 2000
    path = fz.explore(model, drawn.table, tmp_path / "large.html")
    assert path.stat().st_size < 400_000


@pytest.mark.parametrize("precision", _PRECISIONS, ids=str)
def test_coarse_numbers_are_fine_enough(precision) -> None:
    drawn = fz.datasets.make_aspect_bernoulli(
        1000, 500, 30, concentration=0.1, shape=(0.1, 10.0), random_state=0
    )

    def read(values: np.ndarray, levels: int, power: int) -> np.ndarray:
        codes, how = quantise(values, levels, power)
        return how["range"] * (codes / how["levels"]) ** how["power"]

    weights = drawn.weights
    removed = np.arange(30) == weights.argmax(axis=1, keepdims=True)
    kept = (weights * ~removed).sum(axis=1) > 0.1
    exact = (weights * ~removed)[kept]
    stored = read(
        np.where(weights < precision.floor, 0, weights), precision.weights, precision.root
    )
    coarse = (stored * ~removed)[kept]
    components = read(drawn.components, precision.components, 1)
    expected = exact / exact.sum(axis=1, keepdims=True) @ drawn.components
    shown = coarse / coarse.sum(axis=1, keepdims=True) @ components
    assert len(exact) > 700
    assert np.abs(shown - expected).max() < 1 / 255


def test_an_image_of_the_wrong_size_is_refused(tmp_path) -> None:
    table = fz.datasets.make_aspect_bernoulli(20, 6, 2, random_state=0).table
    model = fz.AspectBernoulli(2, random_state=0).fit(table)
    with pytest.raises(ValueError, match=r"\(2, 2\) has 4 pixels, but there are 6 columns"):
        fz.explore(model, table, tmp_path / "page.html", image_shape=(2, 2))
    assert not list(tmp_path.iterdir())


def test_a_table_too_large_is_refused() -> None:
    table = fz.Table(np.zeros((1, 1)))
    model = fz.AspectBernoulli(1).fit(table)
    from scipy import sparse

    large = sparse.csr_array((30_000, 1_000))
    with pytest.raises(ValueError, match="at most 20,000,000 cells"):
        fz.explore(model, large, "never.html")
