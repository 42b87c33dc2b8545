"""Components as images, for tables whose columns are pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.plot._canvas import INK, KIND_COLOUR, Display, grid_of, kind_note, share_of
from falsezero.plot._images import check_image_shape
from falsezero.plot._kinds import kinds_of, meaning_of

__all__ = ["ComponentImagesDisplay"]


class ComponentImagesDisplay(Display):
    """Each component as an image: dark where it makes a one. Noise components are framed.

    Parameters
    ----------
    images : array of shape (n_components, height, width)
        Probability of a one, or whatever the components hold.
    weights : array of shape (n_components,)
        Mean weight of each component.
    kinds : array of str
        "content", "white" or "black", as `find_phantoms` says.
    limits : (low, high)
        Drawn white and dark.

    Examples
    --------
    >>> import falsezero as fz
    >>> digits = fz.datasets.make_digits_demo()
    >>> model = fz.AspectBernoulli(4, tol=1e-3, random_state=0).fit(digits.table)
    >>> display = ComponentImagesDisplay.from_estimator(model, digits.image_shape)
    >>> len(display.axes_.flat)
    4
    """

    def __init__(
        self, images: Any, weights: Any, kinds: Any, limits: tuple[float, float] = (0.0, 1.0)
    ):
        self.images = np.asarray(images)
        self.weights = np.asarray(weights)
        self.kinds = np.asarray(kinds)
        self.limits = limits

    @classmethod
    def from_estimator(
        cls, model: Any, image_shape: tuple[int, int] | None, *, ax: Any = None, **options: Any
    ) -> ComponentImagesDisplay:
        """Draw a fitted model; `image_shape` is (height, width), as data sets give it."""
        components = model.components_
        if image_shape is None:
            raise ValueError("Components are drawn as images with image_shape=(height, width).")
        check_image_shape(image_shape, components.shape[1])
        images = components.reshape(-1, *image_shape)
        weights, limits = model.row_weights_.mean(axis=0), meaning_of(model)[1]
        display = cls(images, weights, kinds_of(model), limits)
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, n_columns: int = 7) -> ComponentImagesDisplay:
        """Draw the images in rows of `n_columns`."""
        count = len(self.images)
        down, across = grid_of(count, n_columns)
        panels = self._begin_panels(ax, down, across, (1.3 * across, 1.65 * down))
        for panel in panels.flat[count:]:
            panel.set_axis_off()
        for k, (panel, image) in enumerate(zip(panels.flat, self.images, strict=False)):
            low, high = self.limits
            panel.imshow(image, cmap=INK, vmin=low, vmax=high, interpolation="nearest")
            panel.set(xticks=[], yticks=[])
            kind = str(self.kinds[k])
            title = f"{k + 1}, {share_of(self.weights, k)}{kind_note(kind)}"
            if kind != "content":
                for spine in panel.spines.values():
                    spine.set(color=KIND_COLOUR[kind], linewidth=3)
            panel.set_title(title, fontsize=8)
        return self
