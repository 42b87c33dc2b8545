"""Things that only a real process shows: start-up time, signals, pipes and terminals."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from falsezero.cli import COMMANDS

LONG = ("--row", "site", "--column", "genus")
FALSEZERO = (sys.executable, "-m", "falsezero")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from falsezero.cli import COMMANDS, main\n"
        "def heavy(): return sorted({'numpy', 'scipy', 'sklearn', 'numba', 'matplotlib', 'rich',\n"
        "                            'pandas'} & set(sys.modules))\n"
        "for command in ('', *sorted(COMMANDS, key='fit'.__eq__)):\n"
        "    main([*command.split(), '--help'])\n"
        "    if heavy(): print(command, heavy(), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # The help of fit lists the formats, whose readers need arrays.
    assert done.stderr == "fit ['numpy', 'scipy']\n"
    assert done.stdout.count("Usage: falsezero") == 1 + len(COMMANDS)


def test_an_interrupt_exits_with_130_and_writes_nothing(finds: Path, tmp_path: Path) -> None:
    # One start settles in a moment even at --tol 0; so many of them do not.
    endless = ("--tol", "0", "--restarts", "20000", "--option", "verbose=2")
    command = [*FALSEZERO, "fit", str(finds), "-o", str(tmp_path / "model.fz"), *LONG, *endless]
    # A suite that runs in the background is deaf to interrupts, and so would be its children.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("Read ")
            assert process.stderr.readline().startswith("AspectBernoulli")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "Interrupted."
    assert not os.listdir(tmp_path)


def test_a_reader_who_leaves_early_is_no_error(finds: Path, fitted: Path) -> None:
    command = " ".join([*FALSEZERO, "denoise", str(fitted), str(finds), *LONG, "--probability"])
    shell = f"{command} | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


def _on_a_terminal(command: list[str]) -> str:
    """Everything that a command prints when somebody looks."""
    main, other = pty.openpty()
    process = subprocess.Popen(command, stdout=other, stderr=other, stdin=other)
    os.close(other)
    shown = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(main)
    assert process.wait(timeout=300) == 0
    return shown.decode()


def test_a_terminal_shows_progress(finds: Path, tmp_path: Path) -> None:
    target = tmp_path / "model.fz"
    seen = _on_a_terminal([*FALSEZERO, "fit", str(finds), *LONG, "-k", "3", "-o", str(target)])
    assert re.search(r"AspectBernoulli \d/5", seen)
    assert seen.index("preparing (compiling, the first time)") < seen.index("iterations, objective")
    assert target.exists()


def test_a_narrow_terminal_gets_a_narrow_table(
    finds: Path, fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    seen = _on_a_terminal([*FALSEZERO, "denoise", str(fitted), str(finds), *LONG])
    lines = [line for line in seen.splitlines()[1:] if not line.startswith("Changed")]
    assert max(map(len, lines)) <= 40


def test_a_terminal_shows_aligned_tables(finds: Path, fitted: Path) -> None:
    seen = _on_a_terminal([*FALSEZERO, "gaps", str(fitted), str(finds), *LONG])
    assert re.search(r"row +column +expected", seen)
    assert "more rows" in seen


@pytest.mark.parametrize("how", ["| true", ">&-", ">/dev/full", ">&- 2>&-"])
def test_a_closed_standard_output_is_met_quietly(how: str, finds: Path, tmp_path: Path) -> None:
    target = tmp_path / "model.fz"
    fit = [*FALSEZERO, "fit", str(finds), "-o", str(target), *LONG, "-k", "2", "--restarts", "1"]
    shell = f"{' '.join(fit)} {how}; echo ${{PIPESTATUS[0]}} >&2"
    if "2>" in how:
        shell = f"{' '.join(fit)} {how}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert target.exists()
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if how in ("| true", ">&-"):
        assert done.stderr.splitlines()[-1] == "0"
    if how == ">/dev/full":
        assert done.stderr.splitlines()[-2:] == ["Error: No space left on device: None.", "1"]


def test_an_interrupt_among_the_imports_is_told_like_any_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import builtins

    from falsezero.__main__ import run

    bring = builtins.__import__

    def interrupted(name: str, *rest: object) -> object:
        if name == "falsezero.cli":
            raise KeyboardInterrupt
        return bring(name, *rest)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    assert run() == 130
    assert capsys.readouterr().err == "Interrupted.\n"
