"""falsezero called from R through reticulate, as docs/tutorials/from-r.md does it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "tutorials" / "from-r.md"
DATA = """
set.seed(1)
group <- rep(1:2, each = 30)
likes <- matrix(runif(2 * 12) < 0.5, 2)
dune <- as.data.frame(matrix(rpois(60 * 12, 2 * likes[group, ] + 0.05), 60))
rownames(dune) <- paste("plot", 1:60)
"""
CHECK = """
stopifnot(file.exists("audit.html"), nrow(zeros) > 0, all(zeros$row %in% rownames(dune)))
stopifnot(all(present[cbind(zeros$row, zeros$column)] == 0), all(zeros$expected > 0.5))
"""


def has_reticulate() -> bool:
    if shutil.which("Rscript") is None:
        return False
    asked = ["Rscript", "-e", 'quit(status = 1 - requireNamespace("reticulate", quietly = TRUE))']
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not has_reticulate(), reason="R or reticulate is not installed")
def test_the_page_runs_in_r(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    text = PAGE.read_text(encoding="utf-8")
    script = text.split("```r\n")[1].split("```")[0]
    (tmp_path / "page.R").write_text(DATA + script + CHECK, encoding="utf-8")
    environment = {**os.environ, "RETICULATE_PYTHON": sys.executable}
    done = subprocess.run(
        ["Rscript", "page.R"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "hid" in done.stdout
