"""What a setting of repeated looks switches on."""

import pytest

import falsezero as fz


@pytest.mark.parametrize(
    ("row_effects", "detection", "expected"),
    [(False, None, False), (True, None, True), (True, 0.6, False), (False, 0.6, False)],
)
def test_rows_differ_where_asked_and_where_detection_is_learnt(row_effects, detection, expected):
    model = fz.RepeatedLooks(2, row_effects=row_effects, detection=detection)
    assert model._has_row_effects is expected
