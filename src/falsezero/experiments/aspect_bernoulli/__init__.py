"""The Aspect Bernoulli paper: its tables and figures beside ours.

E. Bingham, A. Kabán and M. Fortelius, "The aspect Bernoulli model: multiple causes of presences
and absences", Pattern Analysis and Applications 12 (2009).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from falsezero.datasets import load_fossils, load_mfeat_digits, load_newsgroups4
from falsezero.experiments._dictionary import WORDS
from falsezero.experiments._report import Report
from falsezero.experiments.aspect_bernoulli import bases, entropy, newsgroups
from falsezero.experiments.aspect_bernoulli import digits as digit_images
from falsezero.experiments.aspect_bernoulli import fossils as fossil_sites
from falsezero.experiments.aspect_bernoulli import gaps as fossil_gaps
from falsezero.experiments.aspect_bernoulli.choice import akaike, intermediate, out_of_sample
from falsezero.experiments.aspect_bernoulli.items import ITEMS

__all__ = ["run"]


def run(out_dir: Path, quick: bool) -> Path:
    """Repeat the paper on its data; returns the path of the report."""
    title = "The Aspect Bernoulli model, repeated"
    report = Report(title, __doc__.split("\n\n")[1], quick, ITEMS)
    fossils, digits = load_fossils(), load_mfeat_digits()
    news = load_newsgroups4(words=WORDS)
    report.text(
        "The fossils are the paper's own table. Digits are the 2000 images of mfeat-pix, a pixel "
        "on where its value is at least 4 of 6. Newsgroups are the first hundred messages of the "
        f"same four groups, which need not be the paper's, with {news.table.shape[1]} of the "
        f"{len(WORDS)} words that the papers' tables print ({news.table.density:.1%} ones)."
    )
    part = digits.table.select(rows=np.arange(digits.table.shape[0]) % 4 == 0)
    out_of_sample(report, "fossils", fossils.table, "Figure 2 (a)")
    out_of_sample(report, "digits", part if quick else digits.table, "Figure 2 (b)")
    out_of_sample(report, "newsgroups", news.table, "Figure 2 (c)")
    intermediate(report, fossils.table)
    akaike(report, "Figure 3 (a)", "fossils", fossils.table, range(2, 9), 4)
    akaike(report, "Figure 3 (b)", "newsgroups", news.table, range(2, 9), 5)
    if not quick:
        akaike(report, "Section 3.2.2", "digits", digits.table, range(10, 20), 15, n_init=4)
        bases.corrupted_orders(report, digits)
    entropy.steps(report, fossils)
    model = fossil_sites.aspects(report, fossils)
    fossil_sites.rivals(report, fossils)
    fossil_gaps.gaps(report, fossils, model)
    fossil_gaps.over_iterations(report, fossils)
    fossil_sites.added_finds(report, fossils)
    digit_images.removal(report, digits)
    digit_images.corrosion(report, digits)
    digit_images.images(report, digits)
    bases.rivals(report, digits)
    newsgroups.topics(report, news)
    newsgroups.added_words(report, news)
    return report.write(Path(out_dir))
