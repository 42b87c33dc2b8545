"""Row and column features of a binary matrix factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.validate import labels_of
from falsezero.plot._canvas import INK, Display, shorten

__all__ = ["FeatureMatricesDisplay"]


class FeatureMatricesDisplay(Display):
    """The three matrices of X ~ f(U W V'): row features, coupling, column features.

    Parameters
    ----------
    row_features : array of shape (n_rows, k)
        U, zeros and ones (or posterior probabilities of a one).
    coupling : array of shape (k, l)
        W, the strength with which a row feature and a column feature interact.
    column_features : array of shape (n_columns, l)
        V.
    rows, columns : labels, optional

    Examples
    --------
    >>> display = FeatureMatricesDisplay(np.eye(3), [[1, -1, 0], [0, 2, 0], [0, 0, 1]],
    ...                                  np.eye(4)[:, :3])
    >>> display.plot().axes_.shape
    (1, 3)
    """

    def __init__(
        self,
        row_features: Any,
        coupling: Any,
        column_features: Any,
        rows: Any = None,
        columns: Any = None,
    ):
        self.row_features = np.atleast_2d(np.asarray(row_features, dtype=float))
        self.coupling = np.atleast_2d(np.asarray(coupling, dtype=float))
        self.column_features = np.atleast_2d(np.asarray(column_features, dtype=float))
        self.rows = np.arange(len(self.row_features)) if rows is None else np.asarray(rows)
        self.columns = (
            np.arange(len(self.column_features)) if columns is None else np.asarray(columns)
        )

    @classmethod
    def from_estimator(
        cls, model: Any, table: Any, *, ax: Any = None, **options: Any
    ) -> FeatureMatricesDisplay:
        """Draw the representative draw of a fitted `BinaryMatrixFactorization` and its table."""
        rows, columns = labels_of(model, table)
        matrices = (model.row_features_, model.weights_, model.column_features_)
        return cls(*matrices, rows, columns).plot(ax, **options)

    def plot(self, ax: Any = None, max_labels: int = 60) -> FeatureMatricesDisplay:
        """Draw the matrices side by side, rows with the same features next to each other."""
        counts = [self.row_features.shape[1], self.coupling.shape[1], self.column_features.shape[1]]
        longest = min(max_labels, max(len(self.rows), len(self.columns)))
        ratios = [max(count, 3) + 1.5 for count in counts]
        size = (min(4.5 + 0.28 * sum(ratios), 18.0), max(3.2, 0.8 + 0.17 * longest))
        panels = self._begin_panels(ax, 1, 3, size, width_ratios=ratios)[0]
        self._draw_features(panels[0], self.row_features, self.rows, "row features", max_labels)
        top = float(np.abs(self.coupling).max()) or 1.0
        image = panels[1].imshow(
            self.coupling, cmap="PuOr_r", vmin=-top, vmax=top, interpolation="nearest"
        )
        for axis, n in zip((panels[1].yaxis, panels[1].xaxis), self.coupling.shape, strict=True):
            _number(axis, n)
        panels[1].set(xlabel="column feature", ylabel="row feature")
        bar = self.figure_.colorbar(image, ax=panels[1], fraction=0.06, location="bottom")
        bar.set_label("purple: they repel\norange: they attract", fontsize=8)
        self._draw_features(
            panels[2], self.column_features, self.columns, "column features", max_labels
        )
        return self

    @staticmethod
    def _draw_features(
        panel: Any, features: np.ndarray, labels: np.ndarray, title: str, max_labels: int
    ) -> None:
        order = np.lexsort(-features.T[::-1]) if features.shape[1] else np.arange(len(features))
        panel.imshow(
            features[order], cmap=INK, vmin=0, vmax=1, aspect="auto", interpolation="nearest"
        )
        panel.set_title(title, fontsize=9)
        _number(panel.xaxis, features.shape[1])
        if len(labels) <= max_labels:
            names = [shorten(labels[i], 18) for i in order]
            panel.set_yticks(np.arange(len(labels)), names, fontsize=7)
        else:
            panel.set_yticks([])


def _number(axis: Any, count: int, most: int = 20) -> None:
    """Ticks that count from 1: at every one, or every fifth, tenth ... where they are many."""
    step = 1 if count <= most else 5 * -(-count // (5 * most))
    at = np.arange(step - 1, count, step)
    axis.set_ticks(at, at + 1)
