"""The Aspect Bernoulli paper: its tables and figures beside ours.

E. Bingham, A. Kabán and M. Fortelius, "The aspect Bernoulli model: multiple causes of presences
and absences", Pattern Analysis and Applications 12 (2009).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from falsezero.datasets import load_fossils, load_mfeat_digits, load_newsgroups4
from falsezero.experiments._report import Report
from falsezero.experiments.aspect_bernoulli import digits as digit_images
from falsezero.experiments.aspect_bernoulli import fossils as fossil_sites
from falsezero.experiments.aspect_bernoulli import newsgroups
from falsezero.experiments.aspect_bernoulli.choice import akaike, out_of_sample

__all__ = ["run"]


def run(out_dir: Path, quick: bool) -> Path:
    """Repeat the paper on its data; returns the path of the report."""
    report = Report("The Aspect Bernoulli model, repeated", __doc__.split("\n\n")[1], quick)
    fossils, digits, news = load_fossils(), load_mfeat_digits(), load_newsgroups4()
    report.text(
        "Fossils are the very table of the paper. Digits are the 2000 images of mfeat-pix, a pixel "
        "on where its value is at least 4 of 6. Newsgroups are drawn anew from the same four "
        "groups, so that words and orders chosen may differ."
    )
    part = digits.table.select(rows=np.arange(digits.table.shape[0]) % 4 == 0)
    out_of_sample(report, "fossils", fossils.table)
    out_of_sample(report, "digits", part if quick else digits.table)
    out_of_sample(report, "newsgroups", news.table)
    akaike(report, "fossils", fossils.table, range(2, 9), 4)
    akaike(report, "newsgroups", news.table, range(2, 9), 5)
    if not quick:
        akaike(report, "digits", digits.table, range(8, 21), 15)
    model = fossil_sites.aspects(report, fossils)
    fossil_sites.gaps(report, fossils, model)
    fossil_sites.added_finds(report, fossils)
    digit_images.removal(report, digits)
    digit_images.corrosion(report, digits)
    digit_images.images(report, digits)
    newsgroups.topics(report, news)
    newsgroups.added_words(report, news)
    if quick:
        report.claim("Figure 3", "AIC chooses K = 15 for digits", "only in the full version", None)
    return report.write(Path(out_dir))
