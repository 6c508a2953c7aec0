"""Official data: verified, safely opened and downloaded, with a miniature archive and a local server."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import pickle
import tarfile
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from runners.contract.data import cifar10
from runners.contract.errors import UnusableData
from vigil.data import official as data
from vigil.errors import DataError, DirectoryError

N_IMAGES = 3


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def batch_content(name: str) -> bytes:
    """Return a miniature batch in the official files' form: protocol 2, bytes for keys, images channel first."""
    pixels = np.random.default_rng(len(name) + ord(name[-1])).integers(0, 256, (N_IMAGES, 3072), dtype=np.uint8)
    return pickle.dumps({b"data": pixels, b"labels": list(range(N_IMAGES)), b"batch_label": name.encode()}, protocol=2)


@pytest.fixture
def contents(monkeypatch) -> dict[str, bytes]:
    """Give the miniature files by name, and put their checksums in place of the official ones."""
    files = {name: batch_content(name) for name in cifar10.FILES}
    monkeypatch.setattr(cifar10, "FILES", {name: md5(content) for name, content in files.items()})
    return files


@pytest.fixture
def archive(contents, monkeypatch) -> bytes:
    """Give the miniature archive, and put its checksum in place of the official one."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entries = {f"{cifar10.FOLDER}/{name}": content for name, content in contents.items()}
        for name, content in {**entries, "../escaped": b"out", f"{cifar10.FOLDER}/readme.html": b"more"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    monkeypatch.setattr(data, "ARCHIVE_MD5", md5(packed.getvalue()))
    return packed.getvalue()


@pytest.fixture
def base(tmp_path, monkeypatch):
    """Give the data directory, which does not exist yet."""
    monkeypatch.setenv("VIGIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(data, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(data, "RETRIES", 1)  # it waits a second before each
    return tmp_path / "data"


def write(folder, contents: dict[str, bytes]):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def no_progress(done: int, total: int | None) -> None:
    """Report to nobody."""


class Server(http.server.ThreadingHTTPServer):
    """Serves `content`, or refuses; `breaks` lists after how many bytes the next answers break off."""

    def __init__(self, content: bytes, *, breaks: tuple[int, ...] = (), refuses: bool = False):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.breaks, self.refuses = content, list(breaks), refuses
        self.asked: list[str] = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.server.refuses:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        limit = self.server.breaks.pop(0) if self.server.breaks else None
        self.wfile.write(self.server.content[:limit])

    def log_message(self, *_: object) -> None:
        """Say nothing on standard error."""


@pytest.fixture
def serve(monkeypatch) -> Iterator:
    """Give a function that starts a server and makes it the archive's address."""
    started = []

    def start(content: bytes, **options) -> Server:
        server = Server(content, **options)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        started.append((server, thread))
        monkeypatch.setattr(data, "ARCHIVE_URL", f"http://127.0.0.1:{server.server_port}/{data.ARCHIVE}")
        return server

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield start
    for server, thread in started:
        server.shutdown()
        thread.join()
        server.server_close()


def test_load_gives_images_with_channels_last(contents, tmp_path):
    """A pixel of the file's red plane becomes channel 0 at its row and column, and batches keep their order."""
    images, labels, test_images, test_labels = cifar10.load(write(tmp_path, contents))
    stored = pickle.loads(contents["data_batch_2"], encoding="bytes")[b"data"]
    assert images.shape == (5 * N_IMAGES, 32, 32, 3)
    assert images.dtype == np.uint8
    assert labels.dtype == np.int64
    assert images[N_IMAGES + 1, 4, 7].tolist() == stored[1, [4 * 32 + 7, 1024 + 4 * 32 + 7, 2048 + 4 * 32 + 7]].tolist()
    assert labels.tolist() == [0, 1, 2] * 5
    assert test_images.shape == (N_IMAGES, 32, 32, 3)
    assert test_labels.tolist() == [0, 1, 2]


def test_a_pickle_as_python_2_wrote_it_is_read(contents, tmp_path, monkeypatch):
    """The official files were written by Python 2: old module names, and text that is bytes."""
    pixels = bytes(3072)
    old = (
        b"\x80\x02}(U\x04datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x01M\x00\x0c\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        b"T\x00\x0c\x00\x00" + pixels + b"tbU\x06labels]K\x07au."
    )
    monkeypatch.setitem(cifar10.FILES, "test_batch", md5(old))
    contents["test_batch"] = old
    _, _, test_images, test_labels = cifar10.load(write(tmp_path, contents))
    assert test_images.shape == (1, 32, 32, 3)
    assert test_labels.tolist() == [7]


def test_a_flipped_bit_is_refused_with_both_checksums(contents, tmp_path):
    """One altered bit is an error that names the file, the expected and the found MD5."""
    altered = bytearray(contents["data_batch_3"])
    altered[100] ^= 1
    write(tmp_path, contents | {"data_batch_3": bytes(altered)})
    with pytest.raises(UnusableData) as raised:
        cifar10.load(tmp_path)
    assert raised.value.category == "data"
    for part in (str(tmp_path / "data_batch_3"), md5(contents["data_batch_3"]), md5(bytes(altered))):
        assert part in str(raised.value)


def test_a_missing_file_is_named(contents, tmp_path):
    """The message says which file to put where."""
    write(tmp_path, contents)
    (tmp_path / "test_batch").unlink()
    with pytest.raises(UnusableData, match=r"test_batch: cannot be read.*Put the file test_batch"):
        cifar10.load(tmp_path)


class _Attack:
    def __init__(self, path: str):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_pickle_that_runs_code_is_refused(contents, tmp_path, monkeypatch):
    """Even a file with the right checksum cannot make the reader call anything but numpy's constructors."""
    attack = pickle.dumps(_Attack(str(tmp_path / "made")), protocol=2)
    monkeypatch.setitem(cifar10.FILES, "data_batch_1", md5(attack))
    write(tmp_path, contents | {"data_batch_1": attack})
    with pytest.raises(UnusableData, match="only numpy arrays are admitted"):
        cifar10.load(tmp_path)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("inside", [True, False])
def test_an_unpacked_folder_is_used_where_it_lies(contents, base, inside, monkeypatch):
    """VIGIL_DATA_DIR may hold the official folder or be it."""
    folder = write(base / cifar10.FOLDER, contents)
    monkeypatch.setenv("VIGIL_DATA_DIR", str(base if inside else folder))
    assert data.ensure_cifar10(progress=no_progress) == folder


def test_an_altered_unpacked_file_ends_before_training(contents, base):
    """An altered file is exit 3 and is neither repaired nor replaced by a download."""
    write(base / cifar10.FOLDER, contents | {"test_batch": b"altered"})
    with pytest.raises(DataError, match="expected MD5") as raised:
        data.ensure_cifar10(progress=no_progress)
    assert raised.value.exit_code == 3


def test_an_archive_is_unpacked_and_nothing_else_of_it(archive, contents, base):
    """Only the expected files come out of the archive, into a folder of their own."""
    write(base, {data.ARCHIVE: archive})
    folder = data.ensure_cifar10(progress=no_progress)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == contents
    assert sorted(path.name for path in base.iterdir()) == sorted([data.ARCHIVE, cifar10.FOLDER])
    assert not (base.parent / "escaped").exists()


def test_an_altered_archive_is_refused_and_kept(archive, base):
    """A user's altered archive is named with both checksums and left where it is."""
    write(base, {data.ARCHIVE: archive[:-1]})
    with pytest.raises(DataError) as raised:
        data.ensure_cifar10(progress=no_progress)
    assert data.ARCHIVE_MD5 in str(raised.value)
    assert md5(archive[:-1]) in str(raised.value)
    assert [path.name for path in base.iterdir()] == [data.ARCHIVE]


def test_an_archive_without_a_file_leaves_no_folder(archive, base, monkeypatch):
    """What is unpacked is whole or absent."""
    monkeypatch.setitem(cifar10.FILES, "data_batch_6", "0" * 32)
    write(base, {data.ARCHIVE: archive})
    with pytest.raises(DataError, match="holds no file"):
        data.ensure_cifar10(progress=no_progress)
    assert [path.name for path in base.iterdir()] == [data.ARCHIVE]


def test_a_download_reports_its_progress(archive, base, serve):
    """The archive is fetched in one request, with progress from nothing to all of it."""
    server = serve(archive)
    seen = []
    folder = data.ensure_cifar10(progress=lambda done, total: seen.append((done, total)))
    assert len(cifar10.load(folder)[0]) == 5 * N_IMAGES
    assert seen[0] == (0, len(archive))
    assert seen[-1] == (len(archive), len(archive))
    assert seen == sorted(seen)
    assert len(server.asked) == 1


def test_an_interrupted_download_is_tried_again(archive, base, serve):
    """A connection that ends early costs an attempt, not the run; progress begins anew, and no half of an archive is left."""
    server = serve(archive, breaks=(5000,))
    seen = []
    folder = data.ensure_cifar10(progress=lambda done, total: seen.append((done, total)))
    assert len(server.asked) == 2
    assert seen.count((0, len(archive))) == 2
    assert seen[-1] == (len(archive), len(archive))
    assert sorted(path.name for path in base.iterdir()) == sorted([data.ARCHIVE, folder.name])


def test_a_network_that_fails_for_good_leaves_nothing_and_says_what_to_do(archive, base, serve):
    """After its attempts the reason is told, with the place where the archive may be put; the next run downloads it whole."""
    server = serve(archive, breaks=(5000,) * (data.RETRIES + 1))
    with pytest.raises(DataError, match=r"cannot be downloaded .* put cifar-10-python\.tar\.gz"):
        data.ensure_cifar10(progress=no_progress)
    assert len(server.asked) == data.RETRIES + 1
    assert list(base.iterdir()) == []
    serve(archive)
    data.ensure_cifar10(progress=no_progress)
    assert (base / data.ARCHIVE).read_bytes() == archive


def test_a_server_that_refuses_is_named_with_its_answer(archive, base, serve):
    """A wrong address is no broken network: the answer stands in the message."""
    serve(b"", refuses=True)
    with pytest.raises(DataError, match="the server answered 404 Not Found"):
        data.ensure_cifar10(progress=no_progress)


def test_an_altered_download_is_removed(archive, base, serve):
    """A download with another checksum is refused and not left to be used."""
    altered = archive[:50] + bytes([archive[50] ^ 1]) + archive[51:]
    serve(altered)
    with pytest.raises(DataError) as raised:
        data.ensure_cifar10(progress=no_progress)
    assert data.ARCHIVE_MD5 in str(raised.value)
    assert md5(altered) in str(raised.value)
    assert list(base.iterdir()) == []


def test_offline_says_which_file_to_put_where(archive, base, serve, monkeypatch):
    """Without a network the message names the file, its place and VIGIL_DATA_DIR."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(data, "ARCHIVE_URL", "http://127.0.0.1:9/cifar-10-python.tar.gz")
    with pytest.raises(DataError) as raised:
        data.ensure_cifar10(progress=no_progress)
    for part in (str(base / data.ARCHIVE), str(base / cifar10.FOLDER), "VIGIL_DATA_DIR", data.ARCHIVE_MD5):
        assert part in str(raised.value)


def test_a_directory_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    """A data directory under a plain file is an error of the directory, not a traceback."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VIGIL_DATA_DIR", str(tmp_path / "file" / "data"))
    with pytest.raises(DirectoryError, match="cannot be written"):
        data.ensure_cifar10(progress=no_progress)
