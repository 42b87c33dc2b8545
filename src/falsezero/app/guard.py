"""Access control: the server answers only its own page, on this computer."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["PAGE_POLICY", "RESULT_POLICY", "Guard"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""For the page itself: nothing but its own script and styles."""

RESULT_POLICY = "sandbox allow-scripts allow-downloads; frame-ancestors 'self'"
"""For the audit page, besides the policy that it carries: it cannot touch the page around it."""

_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
}


_TELLING = (b"host", b"origin", b"sec-fetch-site")
"""Headers that say where a request comes from: twice they say nothing."""


class Guard:
    """ASGI middleware that rejects foreign requests.

    - The Host header must name this server: a foreign name that was made to point here (DNS
      rebinding) is refused.
    - The first part of the path must be the token, which only the person who started the server
      has seen; it is taken off before the request goes on.
    - Requests that another site makes a browser send are refused, and whatever changes something
      must come from this very origin.

    `first_key` opens the page once instead of the token, and never again: the command line of a
    browser, where others may read it, shows only that.
    """

    def __init__(self, app: Any, *, token: str, first_key: str, hosts: frozenset[str]):
        self.app, self.token, self.hosts = app, token, hosts
        self._first_key: str | None = first_key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it with a refusal."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        names = [name for name, _ in scope["headers"]]
        is_clear = all(names.count(name) < 2 for name in _TELLING)
        if not is_clear or not self._is_known(scope["method"], headers):
            await _answer(send, 403, "This request does not come from the page of falsezero app.")
            return
        key, _, rest = scope["path"].lstrip("/").partition("/")
        if self._first_key is not None and _same(key, self._first_key):
            self._first_key = None
            await _answer(send, 303, "", location=f"/{self.token}/")
            return
        if not _same(key, self.token):
            await _answer(send, 404, "Open the address that falsezero app printed in the terminal.")
            return
        scope = {**scope, "path": f"/{rest}", "raw_path": None, "root_path": ""}
        await self.app(scope, receive, _with_headers(send))

    def _is_known(self, method: str, headers: dict[str, str]) -> bool:
        if headers.get("host", "").lower() not in self.hosts:
            return False
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return False
        if method in ("GET", "HEAD"):
            return True
        origins = {f"http://{host}" for host in self.hosts}
        return method == "POST" and headers.get("origin", "").lower() in origins


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode(), wanted.encode())


def _with_headers(send: Send) -> Send:
    async def send_with(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = dict(message["headers"])
            message = {**message, "headers": list({**_HEADERS, **given}.items())}
        await send(message)

    return send_with


async def _answer(send: Send, status: int, text: str, location: str | None = None) -> None:
    headers = {**_HEADERS, b"content-type": b"text/plain; charset=utf-8"}
    headers[b"content-security-policy"] = b"default-src 'none'"
    if location is not None:
        headers[b"location"] = location.encode()
    start = {"type": "http.response.start", "status": status, "headers": list(headers.items())}
    await send(start)
    await send({"type": "http.response.body", "body": text.encode()})
