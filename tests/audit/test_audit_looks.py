"""The audit of repeated looks: probabilities that hold, and what follows from them."""

import json
import os
import re

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

import falsezero as fz
from falsezero.audit.looks import LooksAudit, single_looks
from falsezero.data.errors import DataError
from falsezero.inference.progress import reporting_to
from falsezero.models.convex.looks_average import LooksAverage, hold_out_last_look


@pytest.fixture(scope="module")
def made():
    return fz.datasets.make_looks(150, 25, 3, 2, shape=(0.6, 0.6), random_state=0)


@pytest.fixture(scope="module")
def audit(made):
    return fz.audit(made.looks, random_state=0)


def test_present_is_calibrated_in_the_large(made, audit):
    zero = made.looks.counts[0] == 0
    assert isinstance(audit, LooksAudit)
    present = audit.present.to_numpy()
    assert present[zero].mean() == pytest.approx(made.present[zero].mean(), rel=0.2)
    assert (present[~zero] == 1).all()
    assert (audit.again.to_numpy() <= present + 1e-12).all()


def test_listed_zeros_are_there_more_often_than_others(made, audit):
    zeros = audit.zeros
    assert zeros.columns == ["row", "column", "expected", "again", "present", "why"]
    hit = made.present[zeros["row"], zeros["column"]]
    assert len(hit) > 20
    assert hit.mean() == pytest.approx(zeros["present"].mean(), abs=0.15)


def test_a_plain_array_is_the_same_audit(made, audit):
    again = fz.audit(made.looks.to_numpy(), random_state=0)
    np.testing.assert_allclose(again.present.to_numpy(), audit.present.to_numpy())


def test_more_looks_are_needed_where_detection_is_low(audit):
    needed = audit.looks_needed(0.02)
    hard = np.argsort(audit.measured.detection_)
    assert needed["looks_needed"][hard[:5]].mean() > needed["looks_needed"][hard[-5:]].mean()
    by_cell = audit.looks_needed(0.02, by="cells")
    assert (by_cell["looks_needed"][by_cell["present"] < 0.02] == 0).all()
    assert len(audit.looks_needed(by="rows")) == 150


def test_intervals_of_the_audit_hold_what_is_there(made, audit):
    for by, axis in (("columns", 0), ("rows", 1)):
        table = audit.intervals(by=by)
        there = made.present.sum(axis=axis)
        inside = (table["occupied_low"] <= there) & (there <= table["occupied_high"])
        assert inside.mean() >= 0.75
        np.testing.assert_allclose(table["occupied"], audit.present.to_numpy().sum(axis=axis))
    wide, narrow = audit.intervals(), audit.intervals(0.5)
    assert (wide["detection_low"] < narrow["detection_low"]).all()
    inside = (wide["detection_low"] <= made.detection) & (made.detection <= wide["detection_high"])
    assert inside.mean() >= 0.75


def test_progress_is_told(made):
    begun = []
    with reporting_to(lambda *stage: begun.append(stage)):
        fz.audit(made.looks.select(rows=range(20)), random_state=0)
    sizes = ["2 components", "4 components", "8 components", "12 components"]
    assert begun == [(name, number, 4) for number, name in enumerate(sizes, 1)]


def test_detection_curves_rise_to_one(audit):
    curve = audit.detection_curves(5)
    seen = curve["seen"].reshape(25, 5)
    assert (np.diff(seen, axis=1) > 0).all()
    assert seen.max() <= 1


def test_a_plan_counts_new_finds(audit):
    plan = audit.plan(3)
    assert (np.diff(plan["new_finds"]) <= 0).all()


def test_said_in_sentences(made, audit):
    low, high = map(int, re.search(r"90 %: (\d+) to (\d+)", audit.summary).groups())
    hidden = audit.present.to_numpy()[made.looks.counts[0] == 0].sum()
    assert low < hidden < high
    assert f"{hidden:.0f} more (90 %: {low} to {high}) are there although nobody" in audit.summary
    assert "Two looks say little" not in audit.summary
    assert "more likely there than not" in repr(audit)


def test_observers_of_one_thing():
    rng = np.random.default_rng(1)
    z = rng.random(120) < 0.5
    hit, alarm = rng.uniform(0.5, 0.95, 9), rng.uniform(0.02, 0.4, 9)
    labels = (rng.random((120, 9)) < np.where(z[:, None], hit, alarm)).astype(float)
    audit = fz.audit(labels[:, :, None], random_state=0)
    assert audit.present.shape == (120, 9)
    assert ((audit.present.to_numpy()[:, 0] > 0.5) == z).mean() > 0.85
    assert np.corrcoef(audit.observers["detection"], hit[audit.observers["observer"]])[0, 1] > 0.9
    wrong_ones = labels[audit.ones["row"], audit.ones["column"]]
    assert (wrong_ones == 1).all()
    assert (~z[audit.ones["row"]]).mean() > 0.8
    for asked in (audit.looks_needed, audit.intervals):
        with pytest.raises(DataError, match="not observers of one thing"):
            asked()


def test_single_looks_are_audited_as_a_table(made):
    once = made.looks.select(looks=[0])
    assert single_looks(made.looks) is None
    assert single_looks(once) == made.looks.look(0)
    with pytest.raises(DataError, match="No cell was looked at twice"):
        LooksAverage().fit(once)


def test_stated_rates_belong_to_single_looks(made):
    with pytest.raises(DataError, match="Repeated looks measure detection"):
        fz.audit(made.looks, loss=0.2)


def test_the_last_look_is_held_out(made):
    chosen = np.arange(150) < 50
    held = hold_out_last_look(made.looks, chosen, None)
    assert held.looks.tries[:50, 2].sum() == 0
    np.testing.assert_array_equal(
        held.hit, made.looks.look(2).to_numpy()[held.rows, held.columns] == 1
    )


def test_intervals_cover_what_they_promise():
    """A quick simulation-based check; 90 % intervals within what 180 columns can tell."""
    inside = []
    for seed in range(3):
        drawn = fz.datasets.make_looks(200, 60, 4, 2, shape=(0.6, 0.6), random_state=seed)
        table = fz.RepeatedLooks(2, random_state=0).fit(drawn.looks).intervals(drawn.looks)
        there = drawn.present.sum(axis=0)
        inside.append((table["occupied_low"] <= there) & (there <= table["occupied_high"]))
        d = drawn.detection
        inside.append((table["detection_low"] <= d) & (d <= table["detection_high"]))
    assert 0.8 < np.mean(inside) <= 0.97


def test_the_hardest_column_is_drawn_lowest(audit):
    display = fz.plot.DetectionCurvesDisplay.from_audit(audit, 6)
    lines = {line.get_label(): line.get_ydata() for line in display.ax_.lines}
    assert lines[display.hardest][0] == min(y[0] for y in lines.values())
    assert display.hardest == str(int(np.argmin(audit.measured.detection_)))


def test_visits_are_audited_in_a_shell(tmp_path, made, capsys):
    from falsezero.cli import main

    ones = np.argwhere(made.looks.to_numpy()[:60] == 1)
    lines = [f"s{row},{visit},t{column}" for row, visit, column in ones]
    (tmp_path / "seen.csv").write_text("\n".join(["site,visit,species", *lines]))
    visits = [f"s{row},{visit}" for row in range(60) for visit in range(3)]
    (tmp_path / "visits.csv").write_text("\n".join(["site,visit", *visits]))
    named = ["--row", "site", "--column", "species", "--look", "visit"]
    where = ["--surveyed", str(tmp_path / "visits.csv"), "-o", str(tmp_path / "zeros.csv")]
    assert main(["audit", str(tmp_path / "seen.csv"), *named, *where]) == 0
    assert (tmp_path / "zeros.csv").read_text().startswith("row,column,expected,again,present,why")
    sites = ["site,height", *(f"s{row},{row % 7}" for row in range(60))]
    (tmp_path / "sites.csv").write_text("\n".join(sites[:-1]))
    missing = ["--row-variables", str(tmp_path / "sites.csv"), "--force"]
    assert main(["audit", str(tmp_path / "seen.csv"), *named, *where, *missing]) == 1
    assert "has no line for row 's59', which was looked at" in capsys.readouterr().err


def test_the_date_of_the_next_look_is_stated_in_a_shell(tmp_path, capsys):
    """Everything shows late: later visits find more."""
    from falsezero.cli import main

    rng = np.random.default_rng(0)
    days = rng.integers(0, 60, size=(40, 2))
    seen = (rng.random((40, 1, 5)) < 0.7) & (rng.random((40, 2, 5)) < days[..., None] / 60)
    lines = [f"s{row},{visit},t{column}" for row, visit, column in np.argwhere(seen)]
    (tmp_path / "seen.csv").write_text("\n".join(["site,visit,species", *lines]))
    visits = [f"s{row},{visit},{days[row, visit]}" for row in range(40) for visit in range(2)]
    (tmp_path / "visits.csv").write_text("\n".join(["site,visit,day", *visits]))
    named = ["--row", "site", "--column", "species", "--look", "visit", "--variable", "day"]
    named += ["--surveyed", str(tmp_path / "visits.csv")]
    again = {}
    for day in ("5", "55"):
        file = tmp_path / f"{day}.json"
        where = ["-o", str(file), "--plan", "40", "--next-look", f"day={day}"]
        assert main(["audit", str(tmp_path / "seen.csv"), *named, *where]) == 0
        again[day] = sum(row["new_finds"] for row in json.loads(file.read_text()))
    assert again["55"] > 2 * again["5"]
    table = ["audit", str(tmp_path / "seen.csv"), *named]
    assert main([*table, "--next-look", "day=soon"]) == 2
    assert "'day=soon' is not a name and a number, as in date=68" in capsys.readouterr().err
    assert main([*table, "--next-look", "dya=5"]) == 1
    assert "no such variable; did you mean 'day'?" in capsys.readouterr().err


def test_single_looks_have_no_next_look(made):
    for table in (made.looks.look(0), made.looks.to_numpy()[:, :, :1]):
        with pytest.raises(DataError, match="next_look= "):
            fz.audit(table, next_look={"date": 3})


needs_data = pytest.mark.skipif(
    "FALSEZERO_DATA" not in os.environ, reason="FALSEZERO_DATA names no folder with data sets"
)


@needs_data
def test_the_third_visit_to_hubbard_brook_is_predicted():
    """Better than by an occupancy model with the same variables (0.206, AUC 0.826)."""
    data = fz.datasets.load_hubbard_brook(2008)
    whole = ~np.isnan(data.looks).any(axis=(1, 2))
    looks = data.looks[whole]
    looks = looks[:, :, looks[:, :2].max(axis=1).sum(axis=0) >= 3]
    known = {name: data.row_info[name][whole] for name in ("elevation", "slope")}
    audit = fz.audit(fz.Looks(looks[:, :2], row_variables=known), random_state=0)
    assert "Two looks say little" in audit.summary
    again = audit.again.to_numpy()
    unseen = looks[:, :2].max(axis=1) == 0
    assert log_loss(looks[:, 2][unseen], again[unseen]) <= 0.204
    assert roc_auc_score(looks[:, 2][unseen], again[unseen]) >= 0.85


@needs_data
def test_bluebird_annotators_are_told_apart():
    data = fz.datasets.load_bluebirds()
    labels, truth = data.table.to_numpy(), np.asarray(data.target)
    present = fz.audit(labels[:, :, None], random_state=0).present.to_numpy()
    each = np.broadcast_to(truth[:, None], labels.shape)
    zero = labels == 0
    assert roc_auc_score(each[zero], present[zero]) >= 0.936
    assert roc_auc_score(1 - each[~zero], 1 - present[~zero]) >= 0.926
    assert ((present[:, 0] > 0.5) == truth).mean() >= 0.889
