"""Beals smoothing beside R's vegan, where R and vegan are installed."""

import shutil
import subprocess

import numpy as np
import pytest

import falsezero as fz

SCRIPT = """
suppressPackageStartupMessages(library(vegan))
table <- as.matrix(read.csv("table.csv", header = FALSE))
for (type in 0:3) for (include in c(TRUE, FALSE))
  write.table(beals(table, type = type, include = include), sprintf("%d-%s.csv", type, include),
              sep = ",", row.names = FALSE, col.names = FALSE)
"""
ABUNDANCE = ("neither", "joint", "mean", "both")


def run_r(script, folder):
    (folder / "script.R").write_text(script)
    command = ["Rscript", "--vanilla", "script.R"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def vegan_scores(tmp_path_factory):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    folder = tmp_path_factory.mktemp("vegan")
    counts = np.random.default_rng(0).poisson(0.8, (25, 9)).astype(float)
    np.savetxt(folder / "table.csv", counts, delimiter=",")
    done = run_r(SCRIPT, folder)
    if "there is no package called" in done.stderr:
        pytest.skip("vegan is not installed")
    assert done.returncode == 0, done.stderr
    return counts, {path.stem: np.loadtxt(path, delimiter=",") for path in folder.glob("[0-3]-*")}


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("number", range(4))
def test_beals_equals_vegan(vegan_scores, number, include):
    counts, theirs = vegan_scores
    model = fz.Beals(ABUNDANCE[number], include_self=include)
    table = (counts > 0).astype(float) if ABUNDANCE[number] == "neither" else counts
    expected = theirs[f"{number}-{str(include).upper()}"]
    np.testing.assert_allclose(model.fit(table).score_cells(table), expected, atol=1e-12)
