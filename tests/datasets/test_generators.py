import numpy as np
import pytest

from falsezero.data.table import Table
from falsezero.datasets import make_aspect_bernoulli, make_digits_demo, make_noisy_or_images
from falsezero.datasets._stem import stem


def test_cells_follow_the_model():
    table, weights, components = make_aspect_bernoulli(
        2000, 50, 3, concentration=0.5, shape=(1.0, 2.0), random_state=0
    )
    assert isinstance(table, Table)
    assert table.is_binary
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert components.mean() == pytest.approx(1 / 3, abs=0.1)
    probability = weights @ components
    excess = (table.to_numpy() - probability).sum(axis=0)
    spread = np.sqrt((probability * (1 - probability)).sum(axis=0))
    assert np.abs(excess / spread).max() < 4.5


def test_seeds_decide():
    first, again, other = (make_aspect_bernoulli(random_state=seed).table for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_digits():
    data = make_digits_demo()
    assert data.table.shape == (1797, 64)
    assert data.image_shape == (8, 8)
    assert data.target.shape == (1797,)
    assert make_digits_demo(16).table.n_ones < data.table.n_ones


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"), ("ponies", "poni"), ("ties", "ti"), ("cats", "cat"),
        ("feed", "feed"), ("agreed", "agre"), ("plastered", "plaster"), ("bled", "bled"),
        ("motoring", "motor"), ("sing", "sing"), ("conflated", "conflat"), ("troubled", "troubl"),
        ("sized", "size"), ("hopping", "hop"), ("tanned", "tan"), ("falling", "fall"),
        ("hissing", "hiss"), ("fizzed", "fizz"), ("failing", "fail"), ("filing", "file"),
        ("happy", "happi"), ("sky", "sky"), ("relational", "relat"), ("conditional", "condit"),
        ("rational", "ration"), ("valenci", "valenc"), ("digitizer", "digit"),
        ("radicalli", "radic"), ("vietnamization", "vietnam"), ("operator", "oper"),
        ("feudalism", "feudal"), ("decisiveness", "decis"), ("hopefulness", "hope"),
        ("formaliti", "formal"), ("sensibiliti", "sensibl"), ("triplicate", "triplic"),
        ("electrical", "electr"), ("goodness", "good"), ("revival", "reviv"),
        ("allowance", "allow"), ("airliner", "airlin"), ("adjustable", "adjust"),
        ("replacement", "replac"), ("adoption", "adopt"), ("communism", "commun"),
        ("effective", "effect"), ("probate", "probat"), ("rate", "rate"), ("cease", "ceas"),
        ("controll", "control"), ("roll", "roll"), ("generalizations", "gener"), ("be", "be"),
        ("employed", "emploi"), ("yes", "ye"), ("toy", "toi"),
    ],
)  # fmt: skip
def test_stems_are_those_of_porter(word, expected):
    assert stem(word) == expected


def test_pixels_of_a_sure_pattern_are_always_lit():
    images = make_noisy_or_images(50, loading=1.0, leak=0.0, random_state=0)
    lit = images.table.to_numpy()
    expected = (images.sources @ images.loadings) > 0
    assert (lit[expected] == 1).all()
    assert lit[~expected].mean() < 0.02
