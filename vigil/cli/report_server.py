"""The report on 127.0.0.1 beside MLflow: browsers follow no link from a page of a server to a file on the disk.

It reads one folder and nothing else: no list of what is there, no link out of it, and no page for another host's name, under
which a foreign page could read it. The server is a thread of the dashboard's process, and ends with it, however that ends.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from vigil.errors import CannotRun

HOST = "127.0.0.1"
INDEX = "index.html"
IDLE_SECONDS = 30
# Python's own table of types is the machine's.
_TYPES = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png", ".xml": "application/atom+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8",
}  # fmt: skip


@contextlib.contextmanager
def serve_report(folder: Path, *, port: int) -> Iterator[str]:
    """Serve a report, which may be written later or anew, and yield its address. Raises CannotRun for a port that is taken."""
    try:
        server = _Server(folder, port=port)
    except OSError as error:
        raise CannotRun(
            f"{HOST}:{port} cannot be listened on ({error.strerror}). Choose another port for the report with `--report-port`."
        ) from error
    threading.Thread(target=server.serve_forever, name="report", daemon=True).start()
    try:
        yield f"http://{HOST}:{port}/"
    finally:
        server.shutdown()
        server.server_close()


def file_of(folder: Path, target: str) -> Path | None:
    """Return the file below a folder that a request asks for; None where there is none, or where it would lie outside."""
    name = unquote(urlsplit(target).path).lstrip("/")
    if "\0" in name:
        return None
    root = folder.resolve()
    try:
        path = (root / (name + INDEX if name.endswith("/") or not name else name)).resolve()
        return path if path.is_relative_to(root) and path.is_file() else None
    except (OSError, RuntimeError):  # a name that is too long, links in a circle
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path, *, port: int) -> None:
        super().__init__((HOST, port), _Pages)
        self.folder = folder
        self.names = tuple(f"{host}:{port}" for host in (HOST, "localhost"))


class _Pages(BaseHTTPRequestHandler):
    server: _Server
    timeout = IDLE_SECONDS

    def do_GET(self) -> None:
        self._answer(has_body=True)

    def do_HEAD(self) -> None:
        self._answer(has_body=False)

    def version_string(self) -> str:
        return "vigil"

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing: the terminal has the dashboard's addresses."""

    def _answer(self, *, has_body: bool) -> None:
        if self.headers.get("Host") not in self.server.names:
            self.send_error(HTTPStatus.FORBIDDEN, explain=f"Ask for {' or '.join(self.server.names)}.")
            return
        path = file_of(self.server.folder, self.path)
        try:
            content = path.read_bytes() if path else None
        except OSError:
            content = None
        if path is None or content is None:
            self.send_error(HTTPStatus.NOT_FOUND, explain="The report has no such page. `vigil report` writes it anew.")
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", _TYPES.get(path.suffix, "application/octet-stream"))
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")  # `vigil report` writes it anew
        self.end_headers()
        if has_body:
            self.wfile.write(content)
