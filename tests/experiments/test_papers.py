"""The heart of the experiments, on real data and in seconds; whole reports are run by hand."""

import os

import numpy as np
import pytest

from falsezero.data.corrupt import corrupt
from falsezero.experiments._report import Report

needs_data = pytest.mark.skipif(
    not os.environ.get("FALSEZERO_DATA"), reason="FALSEZERO_DATA names no folder of data sets"
)


@needs_data
@pytest.mark.slow
def test_removing_the_phantom_beats_every_rival_on_a_subset():
    from falsezero.datasets import load_mfeat_digits
    from falsezero.experiments.aspect_bernoulli.digits import METHODS, removal_rates

    clean = load_mfeat_digits().table
    spoilt = corrupt(clean, omit=0.4, random_state=0)
    rows = np.arange(clean.shape[0]) % 5 == 0
    rates = removal_rates(clean.select(rows=rows), spoilt.select(rows=rows), 14)
    assert max(rates, key=rates.get) == METHODS[0]
    assert rates[METHODS[0]] > 0.77


@needs_data
def test_fossils_have_one_phantom_that_fills_gaps():
    from falsezero.datasets import load_fossils
    from falsezero.experiments.aspect_bernoulli.fossils import aspects, gaps

    report = Report("fossils", "", quick=True)
    data = load_fossils()
    gaps(report, data, aspects(report, data))
    verdicts = {row["claim"]: row["verdict"] for row in report.claims.to_rows()}
    assert verdicts["one of four aspects is a white phantom"] == "holds"
    assert verdicts["the phantom is strong where finds are few"] == "holds"
    filled = "the same, counting only the gaps filled, not the ones added outside"
    assert verdicts[filled] == "holds"


@needs_data
def test_the_toy_of_binary_ica_never_falls():
    from falsezero.experiments.binary_ica import toy

    report = Report("toy", "", quick=True)
    toy(report)
    assert report.claims["verdict"][0] == "holds"
