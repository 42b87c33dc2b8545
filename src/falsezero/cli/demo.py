"""`falsezero demo`: spoil handwritten digits on purpose, and find out which zeros are false."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import click

from falsezero.cli._common import is_watched, say, shown_number
from falsezero.cli._output import Target, force_option, new_file

N_COMPONENTS, OMIT, SEED = 10, 0.4, 0
IMAGE_SHAPE = (8, 8)
_FILES = ("demo.png", "digits.csv", "digits.fz", "explore.html")


class _Findings(NamedTuple):
    """The tables of the demo, and what the model infers from them."""

    digit: Any
    clean: Any
    spoilt: Any
    model: Any
    phantoms: Any
    kept: Any
    restored: Any


@click.command()
@click.option("--output", "-o", default="falsezero-demo", show_default=True, metavar="FOLDER")
@force_option
def command(output: str, force: bool) -> None:
    """See in half a minute what falsezero does.

    It needs no data of yours and no network. Handwritten digits (bundled with scikit-learn) lose up
    to 40 % of their ones; a model finds the component that made those zeros, and the digits are
    restored without it. FOLDER receives the picture, the spoilt table, the model, and a page to
    explore them in a browser.
    """
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise click.ClickException(f"{folder} is a file; name a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    picture, table, saved, page = (new_file(str(folder / name), force) for name in _FILES)
    found = _find()
    click.echo(_report(found))
    _draw(found, picture)
    Target(str(table), force=True, as_json=False).write_table(found.spoilt)
    _write_model_and_page(found, saved, page)
    click.echo(
        f"\nLook at {picture}, and open {page} in a browser.\n"
        f"Go on with: falsezero gaps {saved} {table} -n 10"
    )


def _find() -> _Findings:
    import numpy as np

    import falsezero as fz

    say(f"Spoiling handwritten digits and fitting {N_COMPONENTS} components ...")
    digits = fz.datasets.make_digits_demo()
    spoilt = fz.corrupt(digits.table, omit=OMIT, random_state=SEED)
    model = fz.AspectBernoulli(
        N_COMPONENTS,
        prior=0,
        n_init=3,
        tol=1e-6,
        random_state=SEED,
        verbose=int(is_watched()),
    ).fit(spoilt)
    return _Findings(
        digit=digits.target,
        clean=digits.table,
        spoilt=spoilt,
        model=model.set_params(verbose=0),
        phantoms=fz.find_phantoms(model),
        kept=fz.denoise(model, spoilt, keep=np.ones(N_COMPONENTS)).binary,
        restored=fz.denoise(model, spoilt).binary,
    )


def _report(found: _Findings) -> str:
    """What was found, in a few lines."""
    from falsezero.analysis.metrics import noise_removal

    n_images, n_pixels = found.clean.shape
    lost = 1 - found.spoilt.n_ones / found.clean.n_ones
    white = found.phantoms.white
    numbers = ", ".join(str(shown_number(int(k))) for k in white) or "none"
    weight = found.phantoms.weights[white].sum()
    lines = [
        f"{n_images} handwritten digits of {n_pixels} pixels; {lost:.0%} of their ones were turned "
        "to zeros.",
        f"{type(found.model).__name__} with {N_COMPONENTS} components found {len(white)} white "
        f"phantom (component {numbers}, weight {weight:.2f}): it makes zeros only.",
        "",
        f"{'':28}{'phantom kept':>16}{'phantom removed':>18}",
    ]
    rates = [
        noise_removal(found.clean, found.spoilt, answer) for answer in (found.kept, found.restored)
    ]
    for title, values in {
        "lost ones restored": [1 - rate.false_negative for rate in rates],
        "true zeros turned to ones": [rate.false_positive for rate in rates],
        "noise removal rate": [rate.rate for rate in rates],
    }.items():
        kept, removed = (f"{value:.1%}" for value in values)
        lines.append(f"{title:28}{kept:>16}{removed:>18}")
    return "\n".join(lines)


def _draw(found: _Findings, path: Path) -> None:
    """One image per digit: a typical one among those that lost much."""
    import numpy as np

    from falsezero.plot.demo import draw_demo

    clean, spoilt, restored = (
        table.to_numpy() for table in (found.clean, found.spoilt, found.restored)
    )
    lost = (clean == 1) & (spoilt == 0)
    share = (lost & (restored == 1)).sum(axis=1) / np.maximum(lost.sum(axis=1), 1)
    lost_much = lost.sum(axis=1) >= 0.3 * clean.sum(axis=1)
    shown = []
    for digit in range(10):
        candidates = np.flatnonzero(lost_much & (found.digit == digit))
        shown.append(candidates[np.argsort(share[candidates])[len(candidates) // 2]])
    draw_demo(
        path,
        clean=clean[shown],
        spoilt=spoilt[shown],
        restored=restored[shown],
        components=found.model.components_,
        kinds=found.phantoms.kinds,
        weights=found.phantoms.weights,
        image_shape=IMAGE_SHAPE,
    )
    say(f"Wrote {path}.")


def _write_model_and_page(found: _Findings, saved: Path, page: Path) -> None:
    import falsezero as fz

    fz.save(found.model, saved)
    say(f"Wrote {saved}.")
    title = "Handwritten digits with lost pixels"
    fz.explore(found.model, found.spoilt, page, title=title, image_shape=IMAGE_SHAPE)
    say(f"Wrote {page}.")
