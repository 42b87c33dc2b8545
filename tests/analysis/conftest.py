import pytest

import falsezero as fz


@pytest.fixture(scope="module")
def table():
    return fz.datasets.make_aspect_bernoulli(120, 16, 2, random_state=1).table
