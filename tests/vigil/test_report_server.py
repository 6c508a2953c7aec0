"""The report on loopback: its pages, and nothing else of the disk, to nobody else's pages."""

from __future__ import annotations

import http.client
import os

import pytest

from tests.vigil.tracked import closed_port
from vigil.cli.report_server import file_of, serve_report
from vigil.errors import CannotRun

PAGES = {
    "index.html": b"<p>first", "cells/a+b-x1.html": b"<p>cell", "style.css": b"p {}", "report.js": b"1", "feed.xml": b"<feed/>",
    "badge.svg": b"<svg/>", "data.json": b"{}", "cells/index.html": b"<p>cells", "strange.bin": b"?",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A report, beside it a file that is none of its pages."""
    (tmp_path / "secret.txt").write_bytes(b"secret")
    for name, content in PAGES.items():
        path = tmp_path / "html" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "html"


@pytest.fixture
def ask(folder):
    """Return a function that asks the server of the folder, and returns status, headers and content."""
    port = closed_port()

    def ask(target: str, *, method: str = "GET", host: str | None = None) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.putrequest(method, target, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{port}")
        connection.endheaders()
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return found

    with serve_report(folder, port=port) as address:
        assert address == f"http://127.0.0.1:{port}/"
        yield ask
    with pytest.raises(ConnectionRefusedError):
        ask("/")


def test_a_page_is_served_as_what_it_is(ask):
    """Content and type of each; a query and an escaped sign are those of the address; a folder is its first page."""
    types = {"html": "text/html", "css": "text/css", "js": "text/javascript", "xml": "application/atom+xml",
             "svg": "image/svg+xml", "json": "application/json", "bin": "application/octet-stream"}  # fmt: skip
    for name, content in PAGES.items():
        status, headers, found = ask(f"/{name}")
        assert (status, found, headers["Content-Length"]) == (200, content, str(len(content)))
        assert headers["Content-Type"].split(";")[0] == types[name.rsplit(".")[-1]]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert ask(f"/{name}", method="HEAD")[::2] == (200, b"")
    assert ask("/")[2] == ask("/?verdict=regressed")[2] == PAGES["index.html"]
    assert ask("/cells/a%2Bb-x1.html")[2] == PAGES["cells/a+b-x1.html"]
    assert ask("/cells/")[2] == PAGES["cells/index.html"]


@pytest.mark.parametrize(
    "target",
    [
        "/../secret.txt", "/%2e%2e/secret.txt", "/cells/../../secret.txt", "//etc/passwd", "/%2fetc/passwd", "/out.txt", "/away/",
        "/away/secret.txt", "/none.html", "/cells", "/round", "/a%00b", "/" + "a" * 5000, "/pipe",
    ],
)  # fmt: skip
def test_nothing_else_is_served(ask, folder, target):
    """What lies outside, by a path or by a link; what is not there; a folder without a page; a pipe, which never ends."""
    (folder / "out.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "away").symlink_to(folder.parent)
    (folder / "round").symlink_to(folder / "round")
    os.mkfifo(folder / "pipe")
    status, _, content = ask(target)
    assert status in (404, 414)
    assert b"secret" not in content.replace(b"secret.txt", b"")
    assert b"index.html" not in content


def test_a_link_within_the_report_is_followed(ask, folder):
    """Also where the report itself is a link."""
    (folder / "newest.html").symlink_to(folder / "cells" / "a+b-x1.html")
    assert ask("/newest.html")[2] == PAGES["cells/a+b-x1.html"]
    (folder.parent / "link").symlink_to(folder)
    assert file_of(folder.parent / "link", "/index.html") == folder / "index.html"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_it_can_only_be_read(ask, method):
    """Whatever else is asked is refused."""
    assert ask("/index.html", method=method)[0] == 501


@pytest.mark.parametrize("host", ["evil.example", "evil.example:5001", "127.0.0.1", ""])
def test_a_page_of_another_name_reads_nothing(ask, host):
    """A name that is made to lead here, after a page was loaded from it, is another host's all the same."""
    assert ask("/index.html", host=host or "-")[0] == 403


def test_a_report_that_is_written_later_is_served(tmp_path):
    """The folder need not be there when the server starts."""
    port = closed_port()
    with serve_report(tmp_path / "html", port=port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert (answer.status, b"`vigil report` writes it" in answer.read()) == (404, True)
        (tmp_path / "html").mkdir()
        (tmp_path / "html" / "index.html").write_text("late", encoding="utf-8")
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"late"
        connection.close()


def test_a_taken_port_is_told_with_the_option_that_chooses_another(tmp_path):
    """The dashboard does not go on without the pages that its links lead to."""
    port = closed_port()
    taken, again = serve_report(tmp_path, port=port), serve_report(tmp_path, port=port)
    with taken, pytest.raises(CannotRun, match="with `--report-port`"), again:
        pass
