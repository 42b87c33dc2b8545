"""Every picture draws what it was given, on axes of the caller's choice or its own."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import falsezero as fz
from falsezero import plot

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def digits():
    return fz.datasets.make_digits_demo()


@pytest.fixture(scope="module")
def spoilt(digits):
    return fz.corrupt(digits.table, omit=0.4, random_state=0)


@pytest.fixture(scope="module")
def model(spoilt):
    return fz.AspectBernoulli(10, prior=0, tol=1e-4, n_init=4, random_state=0).fit(spoilt)


@pytest.fixture(scope="module")
def three():
    table = fz.datasets.make_aspect_bernoulli(40, 9, 3, random_state=0).table
    return fz.AspectBernoulli(3, prior=0, random_state=0).fit(table), table


def every_display(model, table, image_shape):
    groups = np.arange(len(table.rows)) % 3
    return {
        "bars": lambda ax: plot.ComponentBarsDisplay.from_estimator(model, table, ax=ax),
        "heat map": lambda ax: plot.ComponentHeatmapDisplay.from_estimator(model, table, ax=ax),
        "images": lambda ax: plot.ComponentImagesDisplay.from_estimator(model, image_shape, ax=ax),
        "convergence": lambda ax: plot.ConvergenceDisplay.from_estimator(model, ax=ax),
        "explanation": lambda ax: plot.ExplanationDisplay.from_estimator(
            model, table, rows=table.rows[[3, 1]], image_shape=image_shape, ax=ax
        ),
        "table": lambda ax: plot.OrderedTableDisplay.from_estimator(model, table, ax=ax),
        "phantom": lambda ax: plot.PhantomWeightDisplay.from_estimator(model, table, ax=ax),
        "groups": lambda ax: plot.WeightsByGroupDisplay.from_estimator(model, table, groups, ax=ax),
        "ternary": lambda ax: plot.TernaryDisplay.from_estimator(
            model, table, groups.astype(str), ax=ax
        ),
    }


@pytest.mark.parametrize("name", every_display(None, fz.Table(np.eye(2)), None))
def test_draws_on_its_own_figure_or_on_mine(three, name) -> None:
    model, table = three
    draw = every_display(model, table, (3, 3))[name]
    own = draw(None)
    own.figure_.canvas.draw()
    figure, (left, _) = plt.subplots(1, 2)
    mine = draw(left)
    figure.canvas.draw()
    assert mine.ax_ is left
    assert mine.figure_ is figure
    assert own.figure_ is not figure


def test_every_display_is_exported() -> None:
    for name in plot.__all__:
        assert hasattr(getattr(plot, name), "plot")
    with pytest.raises(AttributeError, match="no 'Nothing'"):
        plot.Nothing  # noqa: B018


def test_component_images_are_the_components(model, digits) -> None:
    display = plot.ComponentImagesDisplay.from_estimator(model, digits.image_shape)
    shown = np.stack([p.images[0].get_array() for p in display.axes_.flat if p.images])
    np.testing.assert_allclose(shown.reshape(10, -1), model.components_)
    white = fz.find_phantoms(model).white[0]
    assert "makes zeros only" in display.axes_.flat[white].get_title()


def test_images_of_the_wrong_size_are_refused(model) -> None:
    with pytest.raises(ValueError, match=r"image_shape=\(7, 7\) has 49 pixels"):
        plot.ComponentImagesDisplay.from_estimator(model, (7, 7))


def test_bars_rank_columns(three) -> None:
    model, table = three
    display = plot.ComponentBarsDisplay.from_estimator(model, table, n=4)
    widths = [bar.get_width() for bar in display.axes_[0, 1].patches]
    np.testing.assert_allclose(widths, np.sort(model.components_[1])[::-1][:4])


def test_ordered_table_holds_the_same_cells(model, spoilt) -> None:
    display = plot.OrderedTableDisplay.from_estimator(model, spoilt)
    at = np.ix_(
        [spoilt.row(label) for label in display.rows],
        [spoilt.column(label) for label in display.columns],
    )
    np.testing.assert_array_equal(display.observed, spoilt.to_numpy()[at])
    clean = fz.denoise(model, spoilt).probability.to_numpy()
    np.testing.assert_allclose(display.probability, clean[at], atol=1e-12)
    assert len(display.row_breaks) == 8  # nine components are content


def test_phantom_weight_falls_with_the_number_of_ones(model, spoilt) -> None:
    display = plot.PhantomWeightDisplay.from_estimator(model, spoilt)
    np.testing.assert_array_equal(display.n_ones, spoilt.to_numpy().sum(axis=1))
    assert [r < -0.5 for r in display.correlations.values()] == [True]


def test_explanation_is_that_of_explain(three) -> None:
    model, table = three
    display = plot.ExplanationDisplay.from_estimator(model, table, rows=[7, 2])
    np.testing.assert_allclose(display.posterior.sum(axis=0), 1)
    causes = fz.explain(model, table, rows=[7], n=3, min_posterior=0)
    ours = {
        (c, k): p
        for c, k, p in zip(*(causes[n] for n in ("column", "component", "posterior")), strict=True)
    }
    for column in range(9):
        for k in range(3):
            assert display.posterior[k, 0, column] == pytest.approx(ours[column, k], abs=1e-6)


def test_unobserved_cells_are_left_blank() -> None:
    values = fz.datasets.make_aspect_bernoulli(20, 6, 2, random_state=0).table.to_numpy()
    values[0, 1] = np.nan
    table = fz.Table(values)
    model = fz.AspectBernoulli(2, prior=0, random_state=0).fit(table)
    display = plot.ExplanationDisplay.from_estimator(model, table, rows=[0])
    assert np.isnan(display.observed[0]).sum() == 1
    assert np.isnan(plot.OrderedTableDisplay.from_estimator(model, table).observed).sum() == 1


def test_groups_of_numbers_are_of_equal_size(three) -> None:
    model, table = three
    ages = np.linspace(2, 20, 40)
    ages[0] = np.nan
    display = plot.WeightsByGroupDisplay.from_estimator(model, table, ages, n_bins=3)
    assert [(display.groups == g).sum() for g in (-1, 0, 1, 2)] == [1, 13, 13, 13]
    with pytest.raises(ValueError, match="by= has 3 values, but the table has 40 rows"):
        plot.WeightsByGroupDisplay.from_estimator(model, table, [1, 2, 3])


def test_ternary_corners_are_components() -> None:
    display = plot.TernaryDisplay(np.eye(3), ["a", "b", "c"]).plot()
    np.testing.assert_allclose(display.coordinates[2], [0.5, np.sqrt(0.75)])
    with pytest.raises(ValueError, match="3 components"):
        plot.TernaryDisplay(np.ones((4, 2)), range(4))


def test_roc_areas(digits, model, spoilt) -> None:
    display = plot.RocDisplay.from_tables(
        digits.table.to_numpy(),
        where=spoilt.to_numpy() == 0,
        restored=fz.denoise(model, spoilt).probability.to_numpy(),
        constant=np.full(spoilt.shape, 0.5),
    )
    assert display.areas["constant"] == 0.5
    assert display.areas["restored"] > 0.8


def test_model_choice_reads_a_selection(three) -> None:
    _, table = three
    choice = fz.select(fz.AspectBernoulli(tol=1e-3), table, [1, 2], random_state=0, n_splits=2)
    display = choice.plot()
    np.testing.assert_array_equal(display.n_components, [1, 2])
    np.testing.assert_array_equal(display.score, choice.table["cells"])
    assert display.best == choice.best


def test_convergence_ends_at_nothing_left(three) -> None:
    model, _ = three
    display = plot.ConvergenceDisplay.from_estimator(model, model, against="seconds")
    assert len(display.histories) == 2
    left = display.ax_.lines[0].get_ydata()
    assert (np.diff(left) <= 0).all()
    assert left[-1] < 1e-2


def test_feature_matrices_keep_like_rows_together() -> None:
    features = np.array([[1, 0], [0, 1], [1, 0], [0, 0]])
    display = plot.FeatureMatricesDisplay(features, np.eye(2), features, list("abcd")).plot()
    labels = [text.get_text() for text in display.axes_[0, 0].get_yticklabels()]
    assert labels == ["a", "c", "b", "d"]


def test_feature_matrices_of_a_factorisation(three) -> None:
    _, table = three
    model = fz.BinaryMatrixFactorization(n_chains=1, warmup=5, n_draws=5, random_state=0).fit(table)
    display = plot.FeatureMatricesDisplay.from_estimator(model, table)
    assert display.row_features.shape == (40, display.coupling.shape[0])
    assert display.column_features.shape == (9, display.coupling.shape[1])


def texts_of(figure):
    """Every text of a figure with its box in pixels."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    found = figure.findobj(mpl.text.Text)
    return [(t, t.get_window_extent(renderer)) for t in found if t.get_text() and t.get_visible()]


def test_the_caption_of_an_explanation_fits_the_figure(three) -> None:
    model, table = three
    one = fz.AspectBernoulli(1, prior=0).fit(table)
    for fitted, shape in ((one, (3, 3)), (one, None), (model, (3, 3))):
        figure = plot.ExplanationDisplay.from_estimator(
            fitted, table, rows=[0], image_shape=shape
        ).figure_
        (box,) = (box for text, box in texts_of(figure) if "how surely" in text.get_text())
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


def test_of_many_components_those_are_explained_with_that_explain_most() -> None:
    posterior = np.zeros((40, 1, 4))
    posterior[[7, 30, 2], 0] = [[0.5], [0.3], [0.2]]
    display = plot.ExplanationDisplay(
        np.ones((40, 4)), np.ones((1, 4)), posterior, ["a"], ["content"] * 40
    ).plot(max_components=3)
    assert [panel.get_title() for panel in display.axes_[0, 1:]] == ["3", "8", "31"]
    assert "other 37 components explain less" in display.figure_.get_supxlabel().replace("\n", " ")


def test_names_of_dots_do_not_hide_each_other() -> None:
    weights = np.random.default_rng(0).dirichlet([0.2] * 3, 40)
    rows = [f"locality number {i}" for i in range(40)]
    display = plot.TernaryDisplay(weights, rows, np.arange(40) % 3).plot()
    boxes = [box for text, box in texts_of(display.figure_) if "local" in text.get_text()]
    assert len(boxes) > 25
    shared = [
        (a, b)
        for i, a in enumerate(boxes)
        for b in boxes[:i]
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 2 and min(a.y1, b.y1) - max(a.y0, b.y0) > 3
    ]
    assert not shared


@pytest.mark.parametrize(
    "display",
    [
        plot.RocDisplay([0, 1, 1], {f"a method {i}": [0.1, 0.2, 0.3] for i in range(9)}),
        plot.CurvesDisplay({f"a method {i}": ([1, 2], [0.5, 0.7]) for i in range(9)}),
        plot.PhantomWeightDisplay([1, 2], {0: np.array([0.1, 0.9])}, {0: "white"}),
    ],
    ids=lambda display: type(display).__name__,
)
def test_a_legend_hides_no_data(display) -> None:
    drawn = display.plot()
    drawn.figure_.canvas.draw()
    legend = drawn.ax_.get_legend().get_window_extent()
    inside = drawn.ax_.get_window_extent()
    assert legend.x0 >= inside.x1 - 1 or legend.y0 >= inside.y1 - 1
    assert legend.x1 <= drawn.figure_.bbox.x1


def test_numbers_that_are_no_probabilities_are_drawn_in_full(three) -> None:
    _, table = three
    model = fz.LogisticPCA(2, random_state=0, tol=1e-2).fit(table)
    assert model.components_.min() < 0
    bars = plot.ComponentBarsDisplay.from_estimator(model, table)
    low, high = bars.axes_[0, 0].get_xlim()
    assert low <= model.components_.min()
    assert high >= model.components_.max()
    assert bars.figure_.get_supxlabel() == "weight in the component"
    assert "%" not in bars.axes_[0, 0].get_title()
    heat = plot.ComponentHeatmapDisplay.from_estimator(model, table)
    assert heat.ax_.images[0].get_clim() == (model.components_.min(), model.components_.max())
    boxes = plot.WeightsByGroupDisplay.from_estimator(model, table, np.arange(40) % 2)
    weights = np.asarray(model.transform(table))
    middle = [np.median(weights[i::2, 0]) for i in range(2)]
    low, high = boxes.axes_[0, 0].get_ylim()
    assert low < min(middle) < max(middle) < high


def test_pictures_of_zeros_and_ones_refuse_counts_and_take_factorisations(three) -> None:
    _, table = three
    counts = fz.PLSA(2, random_state=0).fit(table)
    with pytest.raises(TypeError, match="zeros and ones, but PLSA"):
        plot.OrderedTableDisplay.from_estimator(counts, table)
    with pytest.raises(TypeError, match="In PLSA a cell is not made by a single component"):
        plot.ExplanationDisplay.from_estimator(counts, table, rows=[0])
    model = fz.BinaryMatrixFactorization(n_chains=1, warmup=5, n_draws=5, random_state=0).fit(table)
    display = plot.OrderedTableDisplay.from_estimator(model, table)
    assert display.observed.sum() == table.n_ones
    blocks = np.concatenate([weights for _, weights in model.weights_by_block(table)])
    np.testing.assert_allclose(blocks, np.asarray(model.transform(table)))


def test_few_different_numbers_are_groups_of_their_own(three) -> None:
    model, table = three
    years = np.tile([1998.0, 2003.0, 2011.0, np.nan], 10)
    display = plot.WeightsByGroupDisplay.from_estimator(model, table, years)
    assert display.names == ["1998", "2003", "2011"]
    assert [(display.groups == g).sum() for g in (-1, 0, 1, 2)] == [10, 10, 10, 10]
    with pytest.raises(ValueError, match="by= has no number"):
        plot.WeightsByGroupDisplay.from_estimator(model, table, np.full(40, np.nan))


def test_one_candidate_has_one_tick() -> None:
    display = plot.ModelChoiceDisplay([3], [-1.0], best=3).plot()
    assert display.ax_.get_xticks().tolist() == [3]


def test_tables_too_large_for_a_picture_are_refused(three, monkeypatch) -> None:
    from falsezero.plot import ordered_table

    monkeypatch.setattr(ordered_table, "_MOST_CELLS", 300)
    with pytest.raises(ValueError, match="40 x 9 cells is too large for a picture"):
        plot.OrderedTableDisplay.from_estimator(*three)


def test_chains_are_drawn_one_by_one(three) -> None:
    _, table = three
    model = fz.BinaryMatrixFactorization(n_chains=3, warmup=6, n_draws=4, random_state=0).fit(table)
    display = plot.ConvergenceDisplay.from_estimator(model)
    assert [len(line.get_xdata()) for line in display.ax_.lines] == [10, 10, 10]
    heights = np.concatenate([line.get_ydata() for line in display.ax_.lines])
    np.testing.assert_array_equal(heights, [row["objective"] for row in model.history_])
    assert display.ax_.get_yscale() == "linear"
    assert "3 chains of 10 iterations" in display.ax_.get_legend().texts[0].get_text()


def test_iterations_are_counted_as_the_model_counts_them(three) -> None:
    model, _ = three
    text = plot.ConvergenceDisplay.from_estimator(model).ax_.get_legend().texts[0].get_text()
    assert f"after {model.n_iter_} iterations" in text


def test_axes_that_cannot_be_cut_are_refused(three) -> None:
    ax = plt.figure().add_axes((0.1, 0.1, 0.5, 0.5))
    with pytest.raises(ValueError, match=r"ax= must come from plt.subplots\(\)"):
        plot.ComponentBarsDisplay.from_estimator(*three, ax=ax)


def test_columns_keep_their_order_on_request():
    components = np.array([[0.1, 0.9, 0.2], [0.8, 0.1, 0.7]])
    display = plot.ComponentHeatmapDisplay(components, list("abc"), ["content"] * 2)

    def drawn(**options):
        return [label.get_text() for label in display.plot(**options).ax_.get_xticklabels()]

    assert drawn() == ["b", "a", "c"]
    assert drawn(keep_order=True) == ["a", "b", "c"]


def test_weights_of_content_are_not_called_noise():
    weights = {0: np.array([0.2, 0.9]), 1: np.array([0.8, 0.1])}
    both = plot.PhantomWeightDisplay([3, 1], weights, {0: "white", 1: "content"})
    assert "noise" not in both.plot(marked=[1]).ax_.get_ylabel()
    assert sum(line.get_marker() == "o" for line in both.ax_.lines) == 2
    one = plot.PhantomWeightDisplay([3, 1], {0: weights[0]}, {0: "white"})
    assert "noise component" in one.plot().ax_.get_ylabel()


def test_of_columns_as_frequent_the_distinctive_ones_come_first() -> None:
    components = np.array([[1.0, 0.999, 1.0, 0.2], [0.9, 0.1, 0.5, 0.8]])
    kinds = ["content", "content"]
    display = fz.plot.ComponentBarsDisplay(components, list("abcd"), kinds, [0.5, 0.5])
    assert display._best_columns(0).tolist() == [1, 2, 0, 3]
    assert display._best_columns(1).tolist() == [0, 3, 2, 1]
