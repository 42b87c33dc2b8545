"""Tables whose columns are the pixels of an image."""

from __future__ import annotations


def check_image_shape(image_shape: tuple[int, int] | None, n_columns: int) -> None:
    """Refuse a (height, width) that does not fit the columns; None fits any."""
    if image_shape is None:
        return
    n_pixels = image_shape[0] * image_shape[1]
    if n_pixels != n_columns:
        raise ValueError(
            f"image_shape={tuple(image_shape)} has {n_pixels} pixels, but there are {n_columns} "
            "columns; it is (height, width)."
        )
