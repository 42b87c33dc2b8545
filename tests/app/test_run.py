"""`falsezero app` as a command: an address, a page, and nothing left at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT")
def test_it_serves_until_it_is_interrupted(tmp_path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "falsezero", "app", "--no-browser"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stderr is not None
    address = re.search(r"http://127\.0\.0\.1:\d+/\S{30,}/", process.stderr.readline())
    assert address is not None
    with urllib.request.urlopen(address[0], timeout=120) as answer:
        assert b"Drop a table here" in answer.read()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(address[0].rsplit("/", 2)[0] + "/", timeout=120)
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0
    assert process.stderr.read() == "Stopped; the temporary folder is deleted.\n"
    assert not list(tmp_path.iterdir())


def test_a_port_in_use_is_one_sentence(capsys) -> None:
    import socket

    from falsezero.cli import main

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert main(["app", "--no-browser", "--port", str(other.getsockname()[1])]) == 1
    assert "cannot be used" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(monkeypatch, capsys) -> None:
    from falsezero.cli import main

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["app", "--no-browser"]) == 1
    assert "pip install 'falsezero[app]'" in capsys.readouterr().err
