"""Keep a report of `falsezero reproduce` as what the documentation shows of a paper.

python docs/papers/record.py aspect-bernoulli FOLDER
"""

import base64
import html
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
PICTURES = {
    "aspect-bernoulli-table-4": "Decrease in gaps over",
    "aspect-bernoulli-entropies": "Equations 18-20",
    "aspect-bernoulli-figure-10": "Figure 10:",
    "binary-ica-figure-2-left": "Figure 2, left",
    "binary-ica-figure-2-right": "Figure 2, right: evidence by K, sparse",
    "binary-ica-figure-19": "Figure 19 on the simulated chat",
    "binary-matrix-factorization-figure-2": "Figure 2 D",
    "binary-matrix-factorization-figure-5": "Figure 5: table",
    "discrete-pca-documents": "newsgroups, K = 20.",
    "discrete-pca-evidence": "vidence over K, Reuters",
    "noisy-or-figure-6": "Figure 6",
    "noisy-or-figure-14": "components matched, 10 components",
}
"""Pictures of the pages, and a part of the caption that each has in its report."""


def record(paper, folder):
    """Copy the report and its verdicts, and take the pictures of the page out of it."""
    for name, kind in (("report.html", "reports"), ("items.json", "results")):
        target = HERE / kind / f"{paper}{Path(name).suffix}"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(Path(folder) / name, target)
    page = (Path(folder) / "report.html").read_text(encoding="utf-8")
    figures = re.findall(
        r'<img alt="([^"]*)" src="data:image/png;base64,([^"]*)"', page
    )
    for name, caption in PICTURES.items():
        if name.startswith(paper):
            data = next(
                data for text, data in figures if caption in html.unescape(text)
            )
            target = HERE.parent / "images" / "papers" / f"{name}.png"
            target.write_bytes(base64.b64decode(data))


if __name__ == "__main__":
    record(*sys.argv[1:])
