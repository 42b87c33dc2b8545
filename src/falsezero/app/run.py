"""Start the server on this computer alone, and open its page in the browser."""

from __future__ import annotations

import secrets
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

from falsezero.data.errors import DataError, import_for

__all__ = ["serve"]

_HOST = "127.0.0.1"


def serve(
    port: int = 0,
    *,
    open_browser: bool = True,
    max_megabytes: float = 200,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the page until Ctrl-C.

    Only this computer can reach it, and only with the token in the address. Files that are dropped
    in are kept in a temporary folder, which is deleted at the end.

    Parameters
    ----------
    port : int, default=0
        0 takes any free port.
    open_browser : bool, default=True
    max_megabytes : float, default=200
        Size of the files that a table may come in.
    say : callable
        Where messages for a person go.
    """
    with import_for("The page", "starlette and uvicorn", "falsezero[app]"):
        import uvicorn

        from falsezero.app.server import make_app
    listener = _bind(port)
    port = listener.getsockname()[1]
    token, first_key = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    with listener, tempfile.TemporaryDirectory(prefix="falsezero-app-") as folder:
        app = make_app(
            Path(folder),
            token=token,
            first_key=first_key,
            hosts=frozenset({f"{_HOST}:{port}", f"localhost:{port}"}),
            max_bytes=int(max_megabytes * 1e6),
        )
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=64,
            timeout_graceful_shutdown=2,
        )
        say(f"Open http://{_HOST}:{port}/{token}/ in a browser; Ctrl-C here ends it.")
        if open_browser:
            address = f"http://{_HOST}:{port}/{first_key}"
            threading.Timer(0.5, webbrowser.open, [address]).start()
        uvicorn.Server(config).run(sockets=[listener])


def _bind(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((_HOST, port))
        listener.listen()
    except OSError as problem:
        listener.close()
        raise DataError(
            f"Port {port} cannot be used ({problem.strerror}); leave --port out to take a free one."
        ) from None
    return listener
