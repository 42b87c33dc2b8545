"""The binary ICA paper: its tables and figures beside ours.

A. Kabán and E. Bingham, "Factorisation and denoising of 0-1 data: a variational approach",
Neurocomputing 71 (2008).
"""

from __future__ import annotations

from pathlib import Path

from falsezero.datasets import load_mfeat_digits, load_monks, load_newsgroups4, load_polblogs
from falsezero.experiments._dictionary import WORDS
from falsezero.experiments._report import Report
from falsezero.experiments.binary_ica import chat, messages, networks, toy
from falsezero.experiments.binary_ica import digits as digit_images
from falsezero.experiments.binary_ica.items import ITEMS

__all__ = ["run"]


def run(out_dir: Path, quick: bool) -> Path:
    """Repeat the paper on the data that can be had; returns the path of the report."""
    report = Report("Binary ICA, repeated", __doc__.split("\n\n")[1], quick, ITEMS)
    digits = load_mfeat_digits()
    news = load_newsgroups4(n_documents=125, words=WORDS, random_state=0)
    toy.densities(report)
    toy.steps(report)
    toy.orders(report)
    toy.extinction(report)
    digit_images.representation(report, digits)
    digit_images.curves(report, digits)
    digit_images.training_size(report, digits)
    digit_images.small_samples(report, digits)
    networks.monks(report, load_monks())
    networks.blogs(report, load_polblogs())
    chat.lags(report)
    messages.groups(report, news)
    messages.expansions(report, news)
    return report.write(Path(out_dir))
