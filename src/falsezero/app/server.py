"""The routes of the server: open a desk, upload files, preview them, audit them, get results."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from falsezero.app.desk import Desk, Desks, safe_name
from falsezero.app.guard import PAGE_POLICY, RESULT_POLICY, Guard

__all__ = ["make_app"]

_MOST_JSON = 100_000
_PARTS = {
    "": ("index.html", "text/html"),
    "app.js": ("app.js", "text/javascript"),
    "view.js": ("view.js", "text/javascript"),
    "app.css": ("app.css", "text/css"),
}
_RESULTS = ("audit.html", "zeros.csv", "ones.csv", "filled.csv", "expected.csv")


class _Refused(Exception):  # noqa: N818
    """A request that cannot be met: a status and a sentence."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


def make_app(
    folder: Path, *, token: str, first_key: str, hosts: frozenset[str], max_bytes: int
) -> Any:
    """The ASGI application; `folder` is where everything is kept while it runs."""
    server = _Server(Desks(folder), max_bytes)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        server.desks.close_all()

    routes = [
        Route("/", server.part),
        Route("/page.css", server.page_css),
        Route("/{part}", server.part),
        Route("/desks", server.open, methods=["POST"]),
        Route("/desks/{desk}", server.state),
        Route("/desks/{desk}/files/{name}", server.receive, methods=["POST"]),
        Route("/desks/{desk}/{what}", server.act, methods=["POST"]),
        Route("/desks/{desk}/out/{name}", server.result),
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={_Refused: _refusal})
    app.state.desks = server.desks
    return Guard(app, token=token, first_key=first_key, hosts=hosts)


class _Server:
    def __init__(self, desks: Desks, max_bytes: int):
        self.desks, self.max_bytes = desks, max_bytes

    async def part(self, request: Request) -> Response:
        """A file of the page itself."""
        name = request.path_params.get("part", "")
        if name not in _PARTS:
            raise _Refused(404, "There is no such page.")
        file, kind = _PARTS[name]
        text = resources.files("falsezero.app").joinpath(file).read_text("utf-8")
        if not name:
            text = text.replace("MAX_MEGABYTES", f"{self.max_bytes / 1e6:,.3g}")
            text = text.replace("MAX_BYTES", str(self.max_bytes))
        return Response(text, media_type=kind, headers={"content-security-policy": PAGE_POLICY})

    async def page_css(self, request: Request) -> Response:
        """The styles of all pages of falsezero."""
        text = resources.files("falsezero.report").joinpath("page.css").read_text("utf-8")
        return Response(text, media_type="text/css")

    async def open(self, request: Request) -> Response:
        """A desk for a new table; its process starts at once, while files are on their way."""
        desk = self.desks.open()
        desk.wake()
        return JSONResponse({"desk": desk.key}, status_code=201)

    async def state(self, request: Request) -> Response:
        """How the work is going."""
        return JSONResponse(self._desk(request).state())

    async def receive(self, request: Request) -> Response:
        """A file, as the body of the request; never more of it than fits."""
        desk, name = self._desk(request), safe_name(request.path_params["name"])
        target = desk.place(name)
        if name in desk.arriving:
            raise _Refused(409, f"{name} is on its way already.")
        if target is None:
            raise _Refused(
                413, "There are too many files; drop in the table and what belongs to it."
            )
        desk.files.pop(name, None)
        desk.arriving[name] = 0
        try:
            with open(target, "wb") as stream:
                async for chunk in request.stream():
                    desk.arriving[name] += len(chunk)
                    if desk.bytes > self.max_bytes:
                        raise _Refused(413, self._too_large(name))
                    stream.write(chunk)
            desk.files[name] = desk.arriving[name]
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        finally:
            del desk.arriving[name]
        return JSONResponse({"name": name, "bytes": desk.files[name]}, status_code=201)

    async def act(self, request: Request) -> Response:
        """Look at a file, audit it, or cancel what is being done."""
        desk, what = self._desk(request), request.path_params["what"]
        if what == "cancel":
            desk.cancel()
            return JSONResponse(desk.state())
        if what not in ("look", "audit"):
            raise _Refused(404, "There is no such page.")
        task = _task(what, await _json(request), desk)
        return JSONResponse({"number": desk.start(task)}, status_code=202)

    async def result(self, request: Request) -> Response:
        """A page to show, or a table to save."""
        desk, name = self._desk(request), request.path_params["name"]
        path = desk.folder / "out" / name
        if name not in _RESULTS or not path.is_file():
            raise _Refused(404, "There is no such result; it may have been cleared away.")
        if name == "audit.html" and "save" not in request.query_params:
            return FileResponse(
                path, media_type="text/html", headers={"content-security-policy": RESULT_POLICY}
            )
        return FileResponse(path, media_type="application/octet-stream", filename=name)

    def _desk(self, request: Request) -> Desk:
        desk = self.desks.get(request.path_params["desk"])
        if desk is None:
            raise _Refused(404, "This table has been cleared away; drop it in again.")
        return desk

    def _too_large(self, name: str) -> str:
        return (
            f"{name} is larger than {self.max_bytes / 1e6:,.3g} MB, which this page takes; start "
            "`falsezero app --max-megabytes` with more, or use `falsezero audit` in the terminal."
        )


async def _json(request: Request) -> dict[str, Any]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_JSON:
            raise _Refused(413, "The request is too long.")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise _Refused(400, "The request is not JSON.") from None
    if not isinstance(given, dict):
        raise _Refused(400, "The request is not a JSON object.")
    return given


def _task(what: str, given: dict[str, Any], desk: Desk) -> dict[str, Any]:
    """The task for the process, which checks the options itself."""
    file = given.get("file")
    if not isinstance(file, str) or file not in desk.files:
        raise _Refused(400, "Name one of the files that were dropped in.")
    options, audit = given.get("options"), given.get("audit") or {}
    if not isinstance(audit, dict) or not isinstance(options, dict | None):
        raise _Refused(400, "Options are a JSON object.")
    if what == "audit" and options is None:
        raise _Refused(400, "Say how the file is to be read.")
    task = {"do": what, "file": given["file"], "options": options, "audit": audit}
    return {
        **task,
        "title": str(given.get("title") or given["file"])[:200],
        "transpose": given.get("transpose") is True,
    }


async def _refusal(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, _Refused)
    return JSONResponse({"problem": problem.sentence}, status_code=problem.status)
