"""No estimated probability is shown as certain, wherever numbers are rounded for people."""

from __future__ import annotations

import numpy as np
import pytest

import falsezero as fz
from falsezero.analysis.gaps import cause_text
from falsezero.cli._describe import _filled
from falsezero.data.rounding import percent, probability, significant
from falsezero.io.tables import short_number
from falsezero.plot._canvas import share_of

NEARLY = [1.0, 1 - 1e-16, 1 - 1e-7, 0.99996]


@pytest.mark.parametrize("p", NEARLY)
def test_a_column_of_probabilities_never_reads_one(p: float) -> None:
    shown = fz.Tidy(expected=[p, 0.5])
    assert "0.9999+" in repr(shown)
    assert "0.9999+" in shown._repr_html_()


@pytest.mark.parametrize("p", NEARLY[2:])
def test_a_number_below_one_stays_below_one(p: float) -> None:
    assert float(significant(p, 4)) < 1
    assert float(short_number(p)) < 1
    assert percent(p) == ">99%"


def test_other_columns_may_be_one() -> None:
    assert "0.9999+" not in repr(fz.Tidy(ratio=[1.0, 0.5]))
    assert short_number(1.0) == "1"
    assert significant(1.2345678, 3) == "1.23"


def test_causes_components_and_weights() -> None:
    assert cause_text(np.array([0.001, 0.999])) == "1 (0.99+)"
    members = [{"column": "Sus", "strength": 1.0}, {"column": "Felis", "strength": 0.9999}]
    assert _filled("", members, None).split() == ["Sus", "0.99+,", "Felis", "0.99+"]
    counts = [{"column": "Sus", "strength": 1.0}, {"column": "Felis", "strength": 3.0}]
    assert _filled("", counts, None).split() == ["Sus", "1,", "Felis", "3"]
    assert share_of(np.array([0.9999, 0.0001]), 0) == "weight >99%"
    assert [probability(p) for p in (1.0, 0.995, 0.5)] == ["0.99+", "0.99+", "0.50"]
