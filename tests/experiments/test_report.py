import json

import numpy as np
import pytest

from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.experiments._report import Report
from falsezero.plot import BoxesDisplay, CurvesDisplay, GroupedBarsDisplay


@pytest.fixture
def written(tmp_path, capsys):
    report = Report("A paper <repeated>", "Somebody & others, 2009", quick=True)
    report.section("Figure 1", "What was done.")
    report.claim("Figure 1", "a < b", "1 < 2", True)
    report.claim("Figure 2", "b < a", "1 < 2", False)
    report.claim("Figure 3", "unknown", "no data", None)
    report.table(Tidy(method=["AB", "MB"], rate=[0.91234567, 0.5]), "Rates.")
    report.figure(CurvesDisplay({"AB": ([1, 2], [3, 4], [0.1, 0.1])}, "K", "y").plot(), "A curve")
    report.figure(BoxesDisplay({"AB": [1.0, 2.0], "MB": [2.0, 3.0]}, "y").plot(), "Boxes")
    report.figure(GroupedBarsDisplay({"ones": [0.2, 0.8], "zeros": [1, 0]}).plot(), "Bars")
    return report.write(tmp_path), tmp_path, capsys.readouterr()


def test_the_page_holds_everything_and_asks_for_nothing(written):
    page, _, _ = written
    text = page.read_text()
    assert text.count("data:image/png;base64,") == 3
    assert "http" not in text.split("</head>")[1]
    assert "A paper &lt;repeated&gt;" in text
    assert "0.9123" in text
    assert "1 holds, 1 does not hold, 1 cannot be tested" in text


def test_claims_are_there_for_machines(written):
    _, folder, _ = written
    claims = json.loads((folder / "claims.json").read_text())
    assert [c["verdict"] for c in claims] == ["holds", "does not hold", "cannot be tested"]


def test_progress_goes_to_standard_error(written):
    _, _, said = written
    assert said.out == ""
    assert "Figure 1" in said.err


def test_methods_restore_probabilities():
    from falsezero.experiments._methods import fitted, restored, without_emptiest

    rng = np.random.default_rng(0)
    table = Table((rng.random((40, 12)) < rng.random(12)).astype(float))
    for name in ("AB", "MB", "LPCA", "NMF", "PLSA", "BNMF", "BICA", "bBICA"):
        model = fitted(name, table, 3, rough=True)
        values = restored(model, table)
        assert values.shape == table.shape
        assert ((values >= 0) & (values <= 1)).all()
    assert without_emptiest(model).sum() == 2
