"""Row-wise losses: found where they are, and not where a component is one too many."""

import numpy as np
import pytest

import falsezero as fz


def clean(seed):
    return fz.datasets.make_aspect_bernoulli(
        400, 50, 3, concentration=0.1, shape=(0.2, 0.3), random_state=seed
    ).table


def test_losses_by_row_are_found_and_measured():
    table = clean(0)
    rng = np.random.default_rng(0)
    kept = rng.uniform(0.4, 1, (400, 1))
    spoilt = np.where(rng.random(table.shape) < kept, table.to_numpy(), 0)
    test = fz.phantom_test(spoilt, 4, random_state=0)
    assert test.found
    assert np.corrcoef(test.row_rates, kept.ravel())[0, 1] > 0.6
    assert "Rows differ in their losses" in test.sentence


@pytest.mark.parametrize("n_components", [3, 4])
@pytest.mark.parametrize("kind", ["white", "black"])
def test_a_clean_table_has_no_phantom(n_components, kind):
    test = fz.phantom_test(clean(1), n_components, kind=kind, random_state=0)
    assert not test.found
    assert "Nothing shows" in test.sentence


def test_additions_by_row_are_found():
    spoilt = fz.corrupt(clean(2), add=0.5, random_state=0)
    assert fz.phantom_test(spoilt, 4, kind="black", random_state=0).found


def test_the_number_of_components_need_not_be_given():
    test = fz.phantom_test(fz.corrupt(clean(3), omit=0.6, random_state=0), random_state=0)
    assert test.found
    assert test.n_content == 3


def test_senseless_requests_are_refused():
    with pytest.raises(ValueError, match="white"):
        fz.phantom_test(clean(0), 3, kind="grey")
    with pytest.raises(ValueError, match="two or more"):
        fz.phantom_test(clean(0), 1)
