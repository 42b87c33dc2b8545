"""Which component explains which cell of a row (Fig. 11 of Bingham et al.)."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np

from falsezero.analysis.gaps import positions_of
from falsezero.analysis.noise import check_convex
from falsezero.data.blocks import UNOBSERVED, Block
from falsezero.data.validate import labels_of
from falsezero.plot._canvas import INK, KIND_COLOUR, Display, kind_note, shorten
from falsezero.plot._kinds import kinds_of

__all__ = ["ExplanationDisplay"]


class ExplanationDisplay(Display):
    """A grid: components on top, rows of the table on the left, posteriors of eq. 4 between them.

    Each inner panel shows, cell by cell, the probability that this component made the observed
    zero or one of this row. With `image_shape` a row is an image, otherwise a strip.

    Parameters
    ----------
    components : array of shape (n_components, n_columns)
    observed : array of shape (n_rows, n_columns)
        The rows to explain; NaN where not observed.
    posterior : array of shape (n_components, n_rows, n_columns)
    rows : labels of the rows
    kinds : array of str
    image_shape : (height, width) or None

    Examples
    --------
    >>> import falsezero as fz
    >>> digits = fz.datasets.make_digits_demo()
    >>> model = fz.AspectBernoulli(4, tol=1e-3, random_state=0).fit(digits.table)
    >>> display = ExplanationDisplay.from_estimator(
    ...     model, digits.table, rows=[0, 1, 2], image_shape=digits.image_shape)
    >>> display.axes_.shape
    (4, 5)
    """

    def __init__(
        self,
        components: Any,
        observed: Any,
        posterior: Any,
        rows: Any,
        kinds: Any,
        image_shape: tuple[int, int] | None = None,
    ):
        self.components = np.asarray(components)
        self.observed = np.asarray(observed)
        self.posterior = np.asarray(posterior)
        self.rows = np.asarray(rows)
        self.kinds = np.asarray(kinds)
        self.image_shape = image_shape

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        table: Any,
        *,
        rows: Any,
        image_shape: tuple[int, int] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> ExplanationDisplay:
        """Draw a fitted model and the labels of a few rows of its table."""
        check_convex(model)
        labels = labels_of(model, table)[0]
        wanted = positions_of(labels, rows)
        codes, weights = zip(
            *[
                (block.codes[row - block.start], weights[row - block.start])
                for block, weights in model.weights_by_block(table)
                for row in sorted(wanted.tolist())
                if block.rows.start <= row < block.rows.stop
            ],
            strict=True,
        )
        # Blocks come in the table's order; the reader's order is given back here.
        back = np.argsort(np.argsort(wanted, kind="stable"), kind="stable")
        rows_of_codes = np.stack(codes)[back]
        block = Block(0, (rows_of_codes == 1).astype(float), rows_of_codes == UNOBSERVED)
        posterior = model.cell_posterior(block, np.stack(weights)[back])
        observed = np.where(rows_of_codes == UNOBSERVED, np.nan, rows_of_codes)
        kinds = kinds_of(model)
        display = cls(model.components_, observed, posterior, labels[wanted], kinds, image_shape)
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, max_components: int = 16) -> ExplanationDisplay:
        """Draw the grid: of many components, the `max_components` that explain most cells."""
        shape = self.image_shape or (1, self.components.shape[1])
        explained = np.nansum(self.posterior, axis=(1, 2))
        shown = np.sort(np.argsort(-explained, kind="stable")[:max_components])
        count, n_rows = len(shown), len(self.rows)
        wide, high = (0.85, 0.95) if self.image_shape else (1.6, 0.45)
        size = (0.9 + wide * (count + 1), 0.9 + high * (n_rows + 1))
        panels = self._begin_panels(ax, n_rows + 1, count + 1, size)
        panels[0, 0].set_axis_off()
        for column, k in zip(panels.T[1:], shown, strict=True):
            kind = str(self.kinds[k])
            column[0].set_title(f"{k + 1}{kind_note(kind)}", fontsize=8, color=KIND_COLOUR[kind])
            self._draw(column[0], self.components[k], shape)
            for n in range(n_rows):
                self._draw(column[n + 1], self.posterior[k, n], shape)
        panels[1, 0].set_title("as recorded", fontsize=8)
        caption = "top: the components; below: how surely each one made a cell (white 0, dark 1)"
        if count < len(self.components):
            caption += f"; the other {len(self.components) - count} components explain less"
        # A letter of this size is a fifteenth of an inch wide.
        self.figure_.supxlabel(fill(caption, int(15 * self.figure_.get_figwidth())), fontsize=8)
        for n, label in enumerate(self.rows):
            self._draw(panels[n + 1, 0], self.observed[n], shape)
            panels[n + 1, 0].set_ylabel(shorten(label, 16), fontsize=8, rotation=0, ha="right")
        return self

    @staticmethod
    def _draw(panel: Any, values: np.ndarray, shape: tuple[int, int]) -> None:
        cmap = INK.with_extremes(bad="#d9d9d9")
        aspect = "auto" if shape[0] == 1 else "equal"
        panel.imshow(
            values.reshape(shape), cmap=cmap, vmin=0, vmax=1, aspect=aspect, interpolation="nearest"
        )
        panel.set(xticks=[], yticks=[])
