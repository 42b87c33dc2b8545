"""The binary matrix factorization paper: bars, digits and genes, beside ours.

E. Meeds, Z. Ghahramani, R. Neal and S. Roweis, "Modeling dyadic data with binary latent factors",
Advances in Neural Information Processing Systems 19 (2007).
"""

from __future__ import annotations

from pathlib import Path

from falsezero.experiments._report import Report
from falsezero.experiments.binary_matrix_factorization.bars import bars, make_bars
from falsezero.experiments.binary_matrix_factorization.digits import digits
from falsezero.experiments.binary_matrix_factorization.genes import genes
from falsezero.experiments.binary_matrix_factorization.items import ITEMS

__all__ = ["make_bars", "run"]


def run(out_dir: Path, quick: bool) -> Path:
    """Repeat the paper's experiments; returns the path of the report."""
    title = "Binary matrix factorization, repeated"
    report = Report(title, __doc__.split("\n\n")[1], quick, ITEMS)
    bars(report)
    digits(report)
    genes(report)
    return report.write(Path(out_dir))
