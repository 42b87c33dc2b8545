"""An engineer with a large sparse table: Ctrl-C again and again, and on from there each time.

python examples/walks/engineer.py FOLDER [ROWS COLUMNS]
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from _shell import shell
from scipy import sparse

import falsezero as fz


def table(n_rows: int, n_columns: int) -> sparse.csr_array:
    """Twelve ones a row, from the columns of the row's group."""
    rng = np.random.default_rng(5)
    group = rng.integers(8, size=n_rows)
    columns = (rng.integers(n_columns // 8, size=(n_rows, 12)) * 8 + group[:, None]) % n_columns
    rows = np.repeat(np.arange(n_rows), 12)
    ones = sparse.csr_array((np.ones(rows.size), (rows, columns.ravel())), (n_rows, n_columns))
    ones.data[:] = 1
    return ones


def fit(folder: Path, model: str, patience: float | None = None) -> bool:
    """Run `falsezero fit`, with Ctrl-C after so many seconds; whether it came to its end."""
    line = ["fit", "large.npz", "-k", "8", "--restarts", "2", "-q", "-o", model]
    command = [sys.executable, "-m", "falsezero", *line, "--checkpoint", f"{model}.ckpt"]
    checkpoint = folder / f"{model}.ckpt"
    had_checkpoint = checkpoint.exists()
    running = subprocess.Popen(
        command,
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Whatever runs in the background is deaf to Ctrl-C, and so would be its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(patience)
    if running.poll() is None:
        running.send_signal(signal.SIGINT)
    said = running.communicate()[1].decode()
    if running.returncode == 0:
        return True
    # A shell says 130 of both.
    assert running.returncode in (130, -signal.SIGINT), said
    can_resume = had_checkpoint or "Run the same command again to resume" in said
    assert (folder / model).exists() or checkpoint.exists() or not can_resume, said
    return False


def walk(folder: Path, n_rows: int = 1500, n_columns: int = 240) -> Path:
    """What to show a colleague: the zeros to look at, after a fit interrupted in every phase."""
    sparse.save_npz(folder / "large.npz", table(n_rows, n_columns))
    began = time.monotonic()
    assert fit(folder, "straight.fz")
    seconds = time.monotonic() - began
    # From the imports to the last pass and the writing of the file.
    for part in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95):
        if fit(folder, "resumed.fz", part * seconds) or (folder / "resumed.fz").exists():
            break
    else:
        assert fit(folder, "resumed.fz")
    resumed, straight = (fz.load(folder / f"{name}.fz") for name in ("resumed", "straight"))
    assert np.array_equal(resumed.components_, straight.components_)
    assert not list(folder.glob("*.ckpt"))
    shell(folder, "falsezero gaps resumed.fz large.npz -n 20 --min-expected 0 -o look-again.csv")
    return folder / "look-again.csv"


if __name__ == "__main__":
    print(walk(Path(sys.argv[1]), *map(int, sys.argv[2:])))
