import numpy as np
import pytest

import falsezero as fz
from falsezero.analysis.ordering import by_strongest, order_by_component, ternary_coordinates
from falsezero.datasets import DatasetNotFoundError, load_monks


@pytest.fixture(scope="module")
def shuffled():
    """Three groups of rows that have three groups of columns, in disorder."""
    rng = np.random.default_rng(0)
    groups, kinds = (
        rng.permutation(np.repeat([0, 1, 2], 20)),
        rng.permutation(np.repeat([0, 1, 2], 8)),
    )
    rates = np.array([0.95, 0.8, 0.65])[groups]
    ones = (groups[:, None] == kinds) & (rng.random((60, 24)) < rates[:, None])
    names = [f"r{i}" for i in range(60)], [f"c{j}" for j in range(24)]
    return fz.Table(ones.astype(float), *names), groups, kinds


@pytest.fixture(scope="module")
def model(shuffled):
    return fz.BinaryICA(3, n_init=3, random_state=0).fit(shuffled[0])


def test_groups_lie_side_by_side(shuffled, model):
    table, groups, kinds = shuffled
    order = order_by_component(model, table)
    assert len(order.row_breaks) == len(order.column_breaks) == 2
    assert np.count_nonzero(np.diff(groups[order.rows])) == 2
    assert np.count_nonzero(np.diff(kinds[order.columns])) == 2
    np.testing.assert_array_equal(np.sort(order.rows), np.arange(60))
    # Components that make most ones come first, and so do the rows they explain best.
    expected = model.components_.sum(axis=1)[order.components]
    assert (np.diff(expected) <= 0).all()
    weights = model.transform(table).to_numpy()
    for component in range(3):
        inside = order.rows[order.row_component[order.rows] == component]
        assert (np.diff(weights[inside, component]) <= 1e-12).all()


def test_apply_moves_labels_with_their_cells(shuffled, model):
    table = shuffled[0]
    order = order_by_component(model, table)
    moved = order.apply(table)
    assert list(moved.rows) == list(table.rows[order.rows])
    assert moved.select(rows=list(table.rows), columns=list(table.columns)).equals(table)


def test_a_network_has_one_order():
    links = np.kron(np.eye(2), np.ones((4, 4)))
    names = list("abcdefgh")
    shuffle = np.random.default_rng(1).permutation(8)
    table = fz.Table(
        links[shuffle][:, shuffle], [names[i] for i in shuffle], [names[i] for i in shuffle]
    )
    fitted = fz.BinaryICA(2, random_state=0).fit(table)
    order = order_by_component(fitted, table)
    np.testing.assert_array_equal(order.rows, order.columns)
    np.testing.assert_array_equal(order.apply(table).to_numpy(), links)
    apart = order_by_component(fitted, table, network=False)
    assert sorted(apart.columns) == list(range(8))


def test_a_network_must_be_square(model, shuffled):
    with pytest.raises(ValueError, match="60 x 24; leave network= out"):
        order_by_component(model, shuffled[0], network=True)


def test_a_directed_graph_keeps_its_nodes():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("ann", "bob"), ("bob", "ann"), ("cid", "dot"), ("dot", "cid")])
    graph.add_edge("ann", "eve")
    table = fz.as_table(graph)
    assert list(table.rows) == list(table.columns) == list(graph.nodes)
    moved = order_by_component(fz.BinaryICA(2, random_state=0).fit(table), table).apply(table)
    row, column = moved.row("ann"), moved.column("eve")
    assert moved.to_numpy()[row, column] == 1
    assert moved.to_numpy()[moved.row("eve"), moved.column("ann")] == 0
    assert list(moved.rows) == list(moved.columns)


def test_triangle():
    inside = ternary_coordinates(np.random.default_rng(0).dirichlet(np.ones(3), size=50))
    assert (inside[:, 1] >= 0).all()
    assert (inside[:, 1] <= np.sqrt(3) * np.minimum(inside[:, 0], 1 - inside[:, 0]) + 1e-12).all()
    np.testing.assert_allclose(ternary_coordinates([[0, 0, 0]]), [[0.5, np.sqrt(0.75) / 3]])
    with pytest.raises(ValueError, match="n_components=3"):
        ternary_coordinates(np.ones((4, 2)))


def test_monks_fall_into_their_groups():
    """Sampson's monastery: best evidence of 50 restarts, at least 16 of 18 with their group."""
    try:
        monks = load_monks()
    except DatasetNotFoundError as problem:
        pytest.skip(str(problem))
    fitted = fz.BinaryICA(3, n_init=50, random_state=0).fit(monks.table)
    order = order_by_component(fitted, monks.table)
    np.testing.assert_array_equal(order.rows, order.columns)
    component, group = order.row_component[:, None], monks.target[:, None]
    agree = (component == range(3)).T.astype(int) @ (group == np.unique(group))
    permutations = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    assert max(agree[range(3), p].sum() for p in permutations) >= 16
    assert ternary_coordinates(fitted.row_weights_).shape == (18, 2)


def test_removed_components_have_no_rows_and_columns():
    weights = np.array([[0.6, 0.4, 0.0], [0.1, 0.2, 0.7], [0.2, 0.3, 0.5]])
    components = np.array([[0.9, 0.1], [0.3, 0.2], [0.2, 0.8]])
    rows, columns, row_groups, column_groups = by_strongest(weights, components, np.ones(3))
    assert (rows.tolist(), row_groups.tolist()) == ([0, 1, 2], [0, 2, 2])
    assert (columns.tolist(), column_groups.tolist()) == ([0, 1], [0, 2])
    kept = by_strongest(weights, components, np.array([0.0, 1.0, 0.5]))
    assert (kept[0].tolist(), kept[2].tolist()) == ([0, 2, 1], [1, 1, 2])
    # Weights are scaled by a part that is kept, columns are not: they are where they are frequent.
    assert (kept[1].tolist(), kept[3].tolist()) == ([0, 1], [1, 2])
