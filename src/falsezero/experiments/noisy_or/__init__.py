"""The noisy-or paper: its images, its clock and its communities, beside ours.

T. Šingliar and M. Hauskrecht, "Noisy-or component analysis and its application to link analysis",
Journal of Machine Learning Research 7 (2006).
"""

from __future__ import annotations

from pathlib import Path

from falsezero.experiments._report import Report
from falsezero.experiments.noisy_or import citations, images

__all__ = ["run"]


def run(out_dir: Path, quick: bool) -> Path:
    """Repeat the paper's experiments; returns the path of the report."""
    report = Report("Noisy-or component analysis, repeated", __doc__.split("\n\n")[1], quick)
    report.text(
        "The paper shows its eight image patterns in a figure only; ours overlap as theirs do, and "
        "are lit with probability 0.8 in a quarter of the images. Its crawl of CiteSeer is not "
        "public: papers of statisticians and the 40 authors whom they cite most stand in for it, "
        "with the citations among the papers of Cora and CiteSeer."
    )
    images.recovery(report)
    images.choice(report)
    images.run_time(report)
    images.compression(report)
    citations.communities(report)
    citations.held_out(report)
    citations.fields(report)
    return report.write(Path(out_dir))
