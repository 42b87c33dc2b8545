"""Diagnostics see what is there: chains that agree, chains that do not, chains that stand still."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from falsezero.analysis.diagnostics import diagnose, stack_chains, to_datatree


class Sampled(BaseEstimator):
    """A model with chains and nothing else."""

    def __init__(self, shift=0.0, n_chains=4, n_draws=400):
        self.shift, self.n_chains, self.n_draws = shift, n_chains, n_draws
        rng = np.random.default_rng(0)
        self.chains_ = [
            {
                "log_joint": rng.standard_normal(n_draws) + shift * number,
                "n_features": np.full(n_draws, 3.0),
                "weights": rng.standard_normal((n_draws, 2)) + np.array([0, shift * number]),
            }
            for number in range(n_chains)
        ]

    def __sklearn_is_fitted__(self):
        return True

    def fit(self):
        return self


def test_chains_that_agree_have_an_r_hat_near_one():
    pytest.importorskip("arviz_stats")
    found = {row["quantity"]: row for row in diagnose(Sampled()).to_rows()}
    assert abs(found["log_joint"]["r_hat"] - 1) < 0.01
    assert 1200 < found["log_joint"]["ess_bulk"] < 2100


def test_chains_that_disagree_are_found_also_in_one_of_several_numbers():
    pytest.importorskip("arviz_stats")
    found = {row["quantity"]: row for row in diagnose(Sampled(shift=1.0)).to_rows()}
    assert found["log_joint"]["r_hat"] > 1.2
    assert found["weights"]["r_hat"] > 1.2
    assert found["log_joint"]["ess_bulk"] < 50


def test_a_quantity_that_never_moves_has_no_r_hat():
    pytest.importorskip("arviz_stats")
    found = {row["quantity"]: row for row in diagnose(Sampled()).to_rows()}
    assert np.isnan(found["n_features"]["r_hat"])


def test_chains_are_cut_to_the_shortest():
    model = Sampled()
    model.chains_[0] = {name: values[:7] for name, values in model.chains_[0].items()}
    assert stack_chains(model)["weights"].shape == (4, 7, 2)


def test_a_model_without_chains_is_told_so():
    class Plain:
        pass

    with pytest.raises(ValueError, match="Plain has no chains"):
        stack_chains(Plain())


def test_the_tree_is_what_arviz_takes():
    pytest.importorskip("xarray")
    tree = to_datatree(Sampled(), np.eye(3))
    assert tree["posterior"]["weights"].dims == ("chain", "draw", "weights_dim_0")
    assert tree["sample_stats"]["lp"].shape == (4, 400)
    assert tree["observed_data"]["cells"].shape == (3, 3)
