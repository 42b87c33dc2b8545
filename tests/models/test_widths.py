"""A fitted model answers for tables of its own width only, whatever it is asked."""

import numpy as np
import pytest

import falsezero as fz

TABLE = (np.random.default_rng(0).random((12, 5)) < 0.5).astype(float)

MODELS = {
    "aspect": fz.AspectBernoulli(2, max_iter=3, tol=1.0, random_state=0),
    "ica": fz.BinaryICA(2, max_iter=3, tol=1.0, random_state=0),
    "noisy-or": fz.NoisyOr(2, max_iter=3, tol=1.0, random_state=0),
    "topics": fz.DiscretePCA(2, max_iter=3, tol=1.0, random_state=0),
    "looks": fz.RepeatedLooks(2, max_iter=3, tol=1.0, random_state=0),
    "drawn looks": fz.RepeatedLooks(2, inference="gibbs", n_draws=2, tol=1.0, random_state=0),
    "average": fz.StackedAverage([("ease", fz.EASE())], random_state=0),
}
ANSWERS = (
    *("transform", "reconstruct", "score_samples", "completion_samples", "codes", "predict"),
    *("coding_error", "log_likelihood", "present", "again", "intervals"),
)


@pytest.mark.parametrize("name", MODELS)
def test_tables_of_another_width_are_refused(name):
    model = MODELS[name].fit(TABLE)
    asked = [answer for answer in ANSWERS if hasattr(model, answer)]
    assert asked
    for answer in asked:
        with pytest.raises(ValueError, match="features"):
            getattr(model, answer)(TABLE[:, :4])
        assert model.n_features_in_ == 5
        getattr(model, answer)(TABLE)
