"""Results as other programs want them: AnnData, data frames, arrays, pages in a notebook."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import falsezero as fz
from falsezero.cli import main

DRAWN = fz.datasets.make_aspect_bernoulli(40, 10, 2, random_state=0).table
TABLE = fz.Table(DRAWN.values, [f"r{i}" for i in range(40)], [f"g{t}" for t in range(10)])


@pytest.fixture(scope="module")
def model() -> fz.AspectBernoulli:
    return fz.AspectBernoulli(2, random_state=0).fit(TABLE)


def test_results_go_back_into_anndata(model: fz.AspectBernoulli) -> None:
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(TABLE.values[:, ::-1])
    adata.obs_names, adata.var_names = TABLE.rows, TABLE.columns[::-1]
    p = model.reconstruct(TABLE).to_numpy()
    answer = fz.audit(TABLE, probabilities=p, verbose=0)
    assert fz.to_anndata(answer, adata) is adata
    np.testing.assert_allclose(adata.layers["falsezero"], p[:, ::-1])
    counted = np.asarray(answer.columns["surprising"], dtype=float)
    np.testing.assert_array_equal(adata.var["falsezero_surprising"], counted[::-1])
    assert adata.uns["falsezero"]["sentences"] == answer.sentences
    fz.to_anndata(model, adata, key="parts")
    np.testing.assert_array_equal(adata.obsm["X_parts"], model.row_weights_)
    np.testing.assert_array_equal(adata.varm["parts"], model.components_.T[::-1])
    fz.to_anndata(fz.denoise(model, TABLE), adata, key="clean")
    np.testing.assert_allclose(adata.layers["clean"], p[:, ::-1])
    with pytest.raises(TypeError, match="an audit, a fitted model or a denoised table"):
        fz.to_anndata(TABLE, adata)
    adata.var_names = [f"other{t}" for t in range(10)]
    with pytest.raises(fz.DataError, match="No name of the AnnData object, such as 'other0'"):
        fz.to_anndata(model, adata)


def test_a_clean_table_as_anndata(model: fz.AspectBernoulli, tmp_path: Path) -> None:
    pytest.importorskip("anndata")
    fz.save(model, tmp_path / "m.fz")
    TABLE.to_pandas().astype(int).to_csv(tmp_path / "t.csv")
    arguments = ["denoise", "m.fz", "t.csv", "-o", "clean.h5ad"]
    assert main([a if "." not in a else str(tmp_path / a) for a in arguments]) == 0
    assert fz.read(tmp_path / "clean.h5ad").equals(fz.denoise(model, TABLE).binary)


def test_cells_of_a_table_by_label_and_position() -> None:
    assert TABLE["r3", "g1"] == TABLE.to_numpy()[3, 1]
    assert TABLE[["r3", "r1"]].rows.tolist() == ["r3", "r1"]
    assert TABLE[2:4, :].equals(TABLE.select(rows=slice(2, 4)))
    assert TABLE[:, ["g2"]].shape == (40, 1)
    np.testing.assert_array_equal(np.asarray(TABLE), TABLE.to_numpy())


def test_frames_of_tables_and_results() -> None:
    polars = pytest.importorskip("polars")
    frame = TABLE.to_polars()
    assert frame.columns[:2] == ["row", "g0"]
    assert fz.as_table(frame).equals(TABLE)
    assert fz.as_table(TABLE.to_xarray()).equals(TABLE)
    assert isinstance(fz.Tidy(row=["a"], expected=[0.5]).to_polars(), polars.DataFrame)


def test_weights_are_turned_back_into_a_table(model: fz.AspectBernoulli) -> None:
    weights = model.transform(TABLE)
    np.testing.assert_allclose(model.inverse_transform(weights), model.reconstruct(TABLE))
    assert model.inverse_transform(weights).columns.tolist() == TABLE.columns.tolist()
    with pytest.raises(ValueError, match="one column for each of the 2 components"):
        model.inverse_transform(np.ones((3, 5)))
    assert not hasattr(fz.PLSA(2).fit(DRAWN.to_numpy()), "inverse_transform")


def test_cells_not_observed_are_predicted(model: fz.AspectBernoulli) -> None:
    values = TABLE.to_numpy()
    holes = np.random.default_rng(0).random(values.shape) < 0.2
    masked = TABLE.with_values(np.where(holes, np.nan, values))
    fitted = fz.AspectBernoulli(2, random_state=0).fit(masked)
    found = fz.impute(fitted, masked)
    assert len(found) == holes.sum()
    expected = fitted.reconstruct(masked).to_numpy()[holes]
    np.testing.assert_allclose(found["expected"], expected)
    truth = values[holes]
    assert expected[truth == 1].mean() > expected[truth == 0].mean() + 0.2
    surest = fz.impute(fitted, masked, n=3)["expected"]
    assert np.abs(surest - 0.5).min() >= np.sort(np.abs(expected - 0.5))[-3]
    with pytest.raises(TypeError, match="treats an unobserved cell as a zero"):
        fz.impute(fz.DiscretePCA(2).fit(DRAWN.to_numpy()), masked)
    for n in (-1, 1.5):
        with pytest.raises(ValueError, match="n= needs a whole number from 0"):
            fz.impute(fitted, masked, n=n)


def test_impute_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, model = tmp_path / "votes.csv", tmp_path / "votes.fz"
    lines = [f"m{i},{i % 2},{i % 2},{'NA' if i == 3 else i % 2},{1 - i % 2}" for i in range(30)]
    table.write_text("member,a,b,c,d\n" + "\n".join(lines) + "\n")
    assert main(["fit", str(table), "-k", "2", "-o", str(model), "-q"]) == 0
    capsys.readouterr()
    assert main(["impute", str(model), str(table), "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)
    assert (cell["row"], cell["column"]) == ("m3", "c")
    assert cell["expected"] > 0.8


def test_a_notebook_shows_pages_and_tables(model: fz.AspectBernoulli) -> None:
    page = fz.explore(model, TABLE)
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert "for display in a notebook" in repr(page)
    clean = fz.denoise(model, TABLE)
    assert clean.summary in clean._repr_html_()
    assert "<table>" in fz.find_phantoms(model)._repr_html_()
    assert set(fz.plot.__all__) <= set(dir(fz.plot))
