"""Curves, bars and matrices: labels, legends and frames."""

import numpy as np

from falsezero import plot


def test_matrices_frame_regions_and_curves_can_be_dots():
    display = plot.MatricesDisplay({"a": np.eye(4), "b": np.ones((4, 4))}, "column", "row")
    display.plot(regions=[(0, 2, 1, 3)])
    assert [len(panel.lines) for panel in display.axes_.flat] == [1, 1]
    assert display.axes_.flat[0].lines[0].get_xdata().tolist() == [1.5, 3.5, 3.5, 1.5, 1.5]
    curves = {"dots": ([1, 2], [1, 2]), "line": ([1, 2], [2, 1])}
    drawn = plot.CurvesDisplay(curves).plot(dots=["dots"]).ax_.lines
    assert [line.get_linestyle() for line in drawn] == ["None", "-"]


def test_a_logarithmic_axis_has_plain_labels():
    display = plot.CurvesDisplay({"a": ([0.1, 3, 70], [1, 2, 3])}).plot(log_x=True)
    display.figure_.canvas.draw()
    low, high = display.ax_.get_xlim()
    labels = zip(display.ax_.get_xticks(), display.ax_.get_xticklabels(), strict=True)
    shown = [label.get_text() for at, label in labels if low <= at <= high]
    assert shown == ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50"]
    minor = display.ax_.get_xticklabels(minor=True)
    assert {label.get_text() for label in minor} <= {""}


def test_the_legend_of_four_curves_stands_beside_them():
    curves = {name: ([1, 2], [1, 2]) for name in "abcd"}
    drawn = plot.CurvesDisplay(curves).plot()
    drawn.figure_.canvas.draw()
    legend = drawn.ax_.get_legend().get_window_extent()
    assert legend.x0 >= drawn.ax_.get_window_extent().x1 - 1


def test_bars_and_many_features_are_counted_from_one():
    panel = plot.GroupedBarsDisplay({"ones": [0.2, 0.8, 0.1]}).plot().axes_.flat[0]
    assert [bar.get_x() + bar.get_width() / 2 for bar in panel.patches] == [1, 2, 3]
    few, many = np.ones((4, 3)), np.ones((4, 58))
    display = plot.FeatureMatricesDisplay(many, np.ones((58, 3)), few).plot()
    rows, _, columns = display.axes_.flat
    assert [label.get_text() for label in rows.get_xticklabels()][:2] == ["5", "10"]
    assert rows.get_xticks()[:2].tolist() == [4, 9]
    assert [label.get_text() for label in columns.get_xticklabels()] == ["1", "2", "3"]
