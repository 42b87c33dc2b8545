"""`falsezero demo`: spoil handwritten digits on purpose, and find out which zeros are false."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import click

from falsezero.cli._common import say, shown_number
from falsezero.cli._output import Target, force_option, new_file

N_COMPONENTS, OMIT, SEED = 10, 0.4, 0
_FILES = ("demo.png", "digits.csv", "digits.fz", "explore.html")


class _Findings(NamedTuple):
    """Everything that the demo shows."""

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
    """See in half a minute what this is good for.

    It needs no data of yours and no network. Handwritten digits (bundled with scikit-learn) lose up
    to 40 % of their ones; a model finds the component that made those zeros, and the digits are
    restored without it. FOLDER receives the picture, the spoilt table, the model, and a page to
    explore them in a browser.
    """
    import falsezero as fz

    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    picture, table, saved, page = (new_file(str(folder / name), force) for name in _FILES)
    found = _find()
    click.echo(_report(found))
    _draw(found, picture)
    Target(str(table), force=True, as_json=False).write_table(found.spoilt)
    fz.save(found.model, saved)
    say(f"Wrote {saved}.")
    if hasattr(fz, "explore"):
        fz.explore(found.model, found.spoilt, page)
    click.echo(
        f"\nLook at {picture}, and open {page} in a browser.\n"
        f"Go on with: falsezero gaps {saved} {table} -n 10"
    )


def _find() -> _Findings:
    import numpy as np

    import falsezero as fz

    clean = fz.datasets.make_digits_demo().table
    spoilt = fz.corrupt(clean, omit=OMIT, random_state=SEED)
    model = fz.AspectBernoulli(N_COMPONENTS, n_init=3, tol=1e-6, random_state=SEED).fit(spoilt)
    kept = fz.denoise(model, spoilt, keep=np.ones(N_COMPONENTS)).binary
    restored = fz.denoise(model, spoilt).binary
    answers = {"kept": kept.to_numpy(), "restored": restored.to_numpy()}
    return _Findings(clean, spoilt, model=model, phantoms=fz.find_phantoms(model), **answers)


def _report(found: _Findings) -> str:
    """What was found, in a few lines."""
    clean, spoilt = found.clean.to_numpy(), found.spoilt.to_numpy()
    lost = (clean == 1) & (spoilt == 0)
    n_images, n_pixels = clean.shape
    numbers = [shown_number(int(k)) for k in found.phantoms.white]
    share = found.phantoms.weights[found.phantoms.white].sum()
    lines = [
        f"{n_images} handwritten digits of {n_pixels} pixels; {lost.sum() / clean.sum():.0%} of "
        "their ones were turned to zeros.",
        f"{type(found.model).__name__} with {N_COMPONENTS} components found {len(numbers)} white "
        f"phantom (component {', '.join(map(str, numbers))}, weight {share:.2f}): it makes zeros "
        "only.",
        "",
        f"{'':28}{'phantom kept':>16}{'phantom removed':>18}",
    ]
    rates = [_rates(answer, clean, lost) for answer in (found.kept, found.restored)]
    for title in rates[0]:
        kept, removed = (f"{rate[title]:.1%}" for rate in rates)
        lines.append(f"{title:28}{kept:>16}{removed:>18}")
    return "\n".join(lines)


def _rates(answer: Any, clean: Any, lost: Any) -> dict[str, float]:
    """Section 3.4.2 of Bingham et al.: the noise removal rate is 1 - (fp + fn) / 2."""
    restored = float(answer[lost].mean())
    invented = float(answer[clean == 0].mean())
    return {
        "lost ones restored": restored,
        "true zeros turned to ones": invented,
        "noise removal rate": 1 - (invented + (1 - restored)) / 2,
    }


def _draw(found: _Findings, path: Path) -> None:
    """One image a digit: of those that lost much, the one restored neither best nor worst."""
    import numpy as np

    from falsezero import datasets
    from falsezero.plot.demo import draw_demo

    clean, spoilt = found.clean.to_numpy(), found.spoilt.to_numpy()
    lost = (clean == 1) & (spoilt == 0)
    digits = datasets.make_digits_demo()
    spoilt_much = lost.sum(axis=1) >= 0.3 * clean.sum(axis=1)
    restored = (lost & (found.restored == 1)).sum(axis=1) / np.maximum(lost.sum(axis=1), 1)
    shown = []
    for digit in range(10):
        candidates = np.flatnonzero(spoilt_much & (digits.target == digit))
        shown.append(candidates[np.argsort(restored[candidates])[len(candidates) // 2]])
    draw_demo(
        path,
        clean=clean[shown],
        spoilt=spoilt[shown],
        restored=found.restored[shown],
        components=found.model.components_,
        kinds=found.phantoms.kinds,
        weights=found.phantoms.weights,
        image_shape=digits.image_shape or (8, 8),
    )
    say(f"Wrote {path}.")
