"""An engineer with a large sparse table: Ctrl-C in the middle, and on from there.

python examples/walks/engineer.py FOLDER [ROWS COLUMNS]
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

import falsezero as fz


def walk(folder: Path, n_rows: int = 1500, n_columns: int = 240) -> Path:
    """What to show a colleague: the model, the same as if nobody had interrupted."""
    rng = np.random.default_rng(5)
    group = rng.integers(8, size=n_rows)
    columns = (rng.integers(n_columns // 8, size=(n_rows, 12)) * 8 + group[:, None]) % n_columns
    rows = np.repeat(np.arange(n_rows), 12)
    ones = sparse.csr_array((np.ones(rows.size), (rows, columns.ravel())), (n_rows, n_columns))
    ones.data[:] = 1
    sparse.save_npz(folder / "large.npz", ones)
    line = ["fit", "large.npz", "-k", "8", "--restarts", "2", "-q", "-o", "large.fz"]
    command = [sys.executable, "-m", "falsezero", *line, "--checkpoint", "large.ckpt"]
    began = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    while not (folder / "large.ckpt").exists() and began.poll() is None:
        time.sleep(0.01)
    began.send_signal(signal.SIGINT)
    _, said = began.communicate()
    if began.returncode == 130:
        assert b"Run the same command again to resume" in said, said
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    whole = [*command[:-2], "--force"]
    whole[whole.index("large.fz")] = "whole.fz"
    subprocess.run(whole, cwd=folder, check=True, capture_output=True)
    resumed, straight = (fz.load(folder / name) for name in ("large.fz", "whole.fz"))
    assert np.array_equal(resumed.components_, straight.components_)
    assert not (folder / "large.ckpt").exists()
    return folder / "large.fz"


if __name__ == "__main__":
    print(walk(Path(sys.argv[1]), *map(int, sys.argv[2:])))
