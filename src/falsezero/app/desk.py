"""A desk: files that were uploaded together, and the process that works on them."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

__all__ = ["Desk", "Desks", "safe_name"]

_ENDED = (
    "The file was too much for the program that reads it, which ended; the file may be damaged, or "
    "too large for the memory of this computer."
)
_MOST_FILES = 8
_MOST_DESKS = 4


def safe_name(name: str) -> str:
    """A file name without folders or anything that a file system might mind.

    >>> safe_name("../../etc/pass wd.csv"), safe_name("évent?.tsv"), safe_name("..")
    ('pass wd.csv', 'évent_.tsv', 'table')
    """
    last = re.split(r"[/\\]", name)[-1]
    kept = "".join(each if each.isalnum() or each in " ._-()" else "_" for each in last)
    stem, dot, ending = kept.strip(" .").rpartition(".")
    return f"{stem[:80]}{dot}{ending[-12:]}" if stem or ending else "table"


class Desk:
    """Files in a folder of their own, and the state of the work on them."""

    def __init__(self, folder: Path):
        self.key = secrets.token_urlsafe(9)
        self.folder = folder / self.key
        self.files: dict[str, int] = {}
        self.arriving: dict[str, int] = {}
        self._lock = threading.RLock()
        self._process: subprocess.Popen[str] | None = None
        self._state: dict[str, Any] = {"state": "idle", "number": 0}
        self._began = time.monotonic()
        for part in ("in", "out", "work", "tmp"):
            (self.folder / part).mkdir(parents=True)

    @property
    def bytes(self) -> int:
        """Size of all its files, including unfinished uploads."""
        return sum(self.files.values()) + sum(self.arriving.values())

    def place(self, name: str) -> Path | None:
        """Where to write a file of this name; None where there are too many already."""
        if len(self.files) + len(self.arriving) >= _MOST_FILES and name not in self.files:
            return None
        return self.folder / "in" / name

    def state(self) -> dict[str, Any]:
        """The state, for the page."""
        with self._lock:
            state = dict(self._state)
            if state["state"] == "busy":
                state["seconds"] = time.monotonic() - self._began
        return state

    def start(self, task: dict[str, Any]) -> int:
        """Give a task to the process; what it was doing before is cancelled."""
        with self._lock:
            if self._state["state"] == "busy":
                self._end_process()
            number = self._state["number"] + 1
            self._state = {
                "state": "busy",
                "number": number,
                "stage": "Starting",
                "does": task["do"],
            }
            self._began = time.monotonic()
            process = self.wake()
            line = json.dumps({**task, "number": number, "files": list(self.files)})
            assert process.stdin is not None
            process.stdin.write(line + "\n")
            process.stdin.flush()
            return number

    def cancel(self) -> None:
        """Cancel the current task."""
        with self._lock:
            self._end_process()
            if self._state["state"] == "busy":
                self._state = {"state": "cancelled", "number": self._state["number"]}

    def close(self) -> None:
        """Cancel everything and delete the files."""
        self.cancel()
        shutil.rmtree(self.folder, ignore_errors=True)

    def wake(self) -> subprocess.Popen[str]:
        """The process, started if there is none."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "falsezero.app.worker"],
                    cwd=self.folder / "work",
                    env=self._environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,
                )
                threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
            return self._process

    def _environment(self) -> dict[str, str]:
        """Temporary files go to the desk; modules come from where this process has them.

        The process must find the package from another folder, and nothing that was dropped in may
        be taken for a module or for somebody's settings: hence absolute paths, no current folder
        among them, and an empty one to work in.
        """
        import falsezero

        known = [str(Path(falsezero.__file__).parents[1])]
        known += [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
        paths = os.pathsep.join(str(Path(each).absolute()) for each in known)
        work = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.folder / "tmp"))
        return {**os.environ, **work, "PYTHONPATH": paths, "MPLBACKEND": "agg"}

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            message = json.loads(line)
            with self._lock:
                if process is self._process and message.pop("number") == self._state["number"]:
                    self._hear(message)
        process.wait()
        with self._lock:
            if process is self._process and self._state["state"] == "busy":
                self._state = {
                    "state": "failed",
                    "number": self._state["number"],
                    "problem": _ENDED,
                }

    def _hear(self, message: dict[str, Any]) -> None:
        number = self._state["number"]
        if "result" in message:
            self._state = {
                "state": "done",
                "number": number,
                "does": self._state["does"],
                **message,
            }
        elif "problem" in message:
            self._state = {"state": "failed", "number": number, **message}
        else:
            self._state.update(message)

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


class Desks:
    """A few desks; where one more is needed, the oldest is cleared away."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._desks: dict[str, Desk] = {}

    def open(self) -> Desk:
        """A new desk."""
        while len(self._desks) >= _MOST_DESKS:
            self.close(next(iter(self._desks)))
        desk = Desk(self.folder)
        self._desks[desk.key] = desk
        return desk

    def get(self, key: str) -> Desk | None:
        """The desk of this key, if it is still there."""
        return self._desks.get(key)

    def close(self, key: str) -> None:
        """Clear a desk away."""
        self._desks.pop(key).close()

    def close_all(self) -> None:
        """Clear all desks away."""
        for key in list(self._desks):
            self.close(key)
