"""A server of the page as people meet it, once in this process and once on a socket."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsezero as fz

TOKEN, FIRST_KEY, HOST = "a-token", "a-first-key", "127.0.0.1:8123"


class Page:
    """What the page's script does, without a browser."""

    def __init__(self, client: Any):
        self.client = client
        self.desk = ""

    def post(self, path: str, body: bytes | dict[str, Any] = b"", **headers: str) -> Any:
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        given = {"origin": f"http://{HOST}", **headers}
        return self.client.post(f"/{TOKEN}/{path}", content=content, headers=given)

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(f"/{TOKEN}/{path}", headers=headers)

    def on_server(self) -> Any:
        """The desk itself."""
        return self.client.app.app.state.desks.get(self.desk)

    def drop(self, *files: tuple[str, bytes]) -> list[str]:
        self.desk = self.post("desks").json()["desk"]
        said = [self.post(f"desks/{self.desk}/files/{name}", body) for name, body in files]
        return [answer.json()["name"] for answer in said]

    def ask(self, what: str, file: str, options: dict[str, Any] | None, **more: Any) -> dict:
        body = {"file": file, "options": options, **more}
        answer = self.post(f"desks/{self.desk}/{what}", body)
        assert answer.status_code == 202, answer.text
        return self.wait()

    def wait(self, seconds: float = 120) -> dict[str, Any]:
        for _ in range(int(seconds / 0.05)):
            state = self.get(f"desks/{self.desk}").json()
            if state["state"] != "busy":
                return state
            time.sleep(0.05)
        raise AssertionError(f"still busy: {state}")


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    testclient = pytest.importorskip("starlette.testclient", reason="starlette is not installed")
    from falsezero.app.server import make_app

    app = make_app(
        tmp_path / "served",
        token=TOKEN,
        first_key=FIRST_KEY,
        hosts=frozenset({HOST}),
        max_bytes=50_000,
    )
    with testclient.TestClient(app, base_url=f"http://{HOST}", follow_redirects=False) as client:
        yield Page(client)


@pytest.fixture(scope="session")
def small() -> fz.Table:
    """Two communities with losses; small, so that an audit takes a moment."""
    truth = np.zeros((40, 8))
    truth[:20, :4] = truth[20:, 4:] = 1
    names = [f"site {i}" for i in range(40)], [f"species {t}" for t in range(8)]
    return fz.Table(fz.corrupt(truth, omit=0.3, random_state=0), *names)


def as_csv(table: fz.Table) -> bytes:
    from falsezero.data.plain_text import separated
    from falsezero.io.tables import table_lines

    return separated(table_lines(table)).encode()


@pytest.fixture(scope="session")
def small_csv(small: fz.Table) -> bytes:
    return as_csv(small)


@pytest.fixture(scope="session")
def slow_csv() -> bytes:
    """Its audit takes half a minute: whoever ends it is never too late."""
    values = np.random.default_rng(0).random((300, 60)) < 0.3
    names = [f"s{i}" for i in range(300)], [f"t{t}" for t in range(60)]
    return as_csv(fz.Table(values.astype(float), *names))
