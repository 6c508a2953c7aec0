"""Hosts: each runner forked from one is alone in its process, and where there is no host it starts as it would without."""

from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from vigil.paths import project_root
from vigil.process import hosts
from vigil.process.hosts import Host, HostEnded, Hosts

# In the place of a runner that imports a framework: what is under test here is the host, not an import of seconds.
RUNNER = """
import os, sys
from runners.contract.protocol import host
host.main(sys.argv[2:], prepare=lambda: exec(os.environ.get("PREPARE", ""), {}))
"""


@pytest.fixture
def make_host(tmp_path, monkeypatch):
    """Return a function that starts a host of a framework which is imported by some lines of Python."""
    package = tmp_path / "runners"
    (package / "toy").mkdir(parents=True)
    (package / "__init__.py").write_text(f"__path__.append({str(project_root() / 'runners')!r})\n")
    (package / "toy" / "__main__.py").write_text(RUNNER)
    popen = hosts.subprocess.Popen

    def started(command, *, cwd, **options):
        return popen(command, cwd=tmp_path, **options)

    monkeypatch.setattr(hosts.subprocess, "Popen", started)
    opened: list[Host] = []

    def made(prepare: str = "") -> Host:
        monkeypatch.setenv("PREPARE", prepare)
        opened.append(Host("toy", python=Path(sys.executable), cores=()))
        return opened[-1]

    yield made
    for each in opened:
        each.close()


@pytest.fixture
def host(make_host):
    """A host of a framework without anything in it."""
    return make_host()


def script(folder: Path, text: str) -> str:
    path = folder / f"script-{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    return str(path)


def test_a_fork_has_its_arguments_its_log_and_its_exit_code(host, tmp_path):
    """What is printed is in the log, and the exit code is that of the script."""
    path = script(tmp_path, "import os, sys\nprint(sys.argv[1:], os.getpgid(0) == os.getpid())\nsys.exit(7)\n")
    forked = host.start(path, "a", "b", log=tmp_path / "log.txt")
    assert forked.wait() == forked.poll() == 7
    assert (tmp_path / "log.txt").read_text() == "['a', 'b'] True\n"


def test_a_fork_that_is_killed_takes_no_neighbour_with_it(host, tmp_path):
    """One dies by a signal while another works: that one ends well, and the host starts a third."""
    waiting = script(tmp_path, f"import os, time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)\n")
    neighbour = host.start(waiting, log=tmp_path / "log.txt")
    killed = host.start(script(tmp_path, "import os\nos.kill(os.getpid(), 11)\n"), log=tmp_path / "log.txt")
    assert killed.wait() == -signal.SIGSEGV
    assert neighbour.poll() is None
    (tmp_path / "go").touch()
    assert neighbour.wait() == 0
    assert host.start(script(tmp_path, ""), log=tmp_path / "log.txt").wait() == 0


def test_nothing_of_a_fork_reaches_the_next(host, tmp_path, monkeypatch):
    """What one process sets, in modules or in its environment, another does not see; the environment is the asker's of then."""
    first = script(tmp_path, "import os, json\njson.left = os.environ['LEFT'] = 'here'\n")
    second = script(tmp_path, "import os, json, sys\nsys.exit(hasattr(json, 'left') + 2 * (os.environ.get('LEFT') != 'asked'))\n")
    assert host.start(first, log=tmp_path / "log.txt").wait() == 0
    monkeypatch.setenv("LEFT", "asked")
    assert host.start(second, log=tmp_path / "log.txt").wait() == 0


def test_a_number_that_comes_back_is_another_process(host, tmp_path):
    """Of a process that has the number of one that has ended, it is not told that it has ended."""
    waiting = script(tmp_path, f"import os, time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)\n")
    forked = host.start(waiting, log=tmp_path / "log.txt")
    host._ended[4321] = 0
    host._rest = b"[4321, null]\n"
    (tmp_path / "go").touch()
    assert forked.wait() == 0
    assert host.exit_code(4321) is None


def test_forks_end_with_their_host(host, tmp_path):
    """A host that is killed leaves no runner behind, and whoever waits is told that it was killed."""
    watched = "import time\nfrom runners.contract.protocol import launch\nlaunch._end_with_conductor()\n"
    waiting = script(tmp_path, watched + "print('on', flush=True)\ntime.sleep(60)\n")
    forked = host.start(waiting, log=tmp_path / "log.txt")
    deadline = time.monotonic() + 20
    while not (tmp_path / "log.txt").exists() or not (tmp_path / "log.txt").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    host._process.kill()
    assert forked.wait(timeout=20) == -signal.SIGKILL
    with pytest.raises(HostEnded):
        host.start(waiting, log=tmp_path / "log.txt")
    while psutil.pid_exists(forked.pid) and psutil.Process(forked.pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline + 20
        time.sleep(0.05)


def test_the_wait_for_an_import_ends_when_it_is_stopped(make_host, tmp_path):
    """Ctrl-C does not wait until a framework is imported, and the host that was waited for answers nobody else."""
    stop, host = threading.Event(), make_host("import time; time.sleep(60)")
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        host.start(script(tmp_path, ""), log=tmp_path / "log.txt", stop=stop)
    assert time.monotonic() - began < 20
    with pytest.raises(HostEnded):
        host.start(script(tmp_path, ""), log=tmp_path / "log.txt")


def test_a_host_may_be_closed_while_its_fork_is_followed(host, tmp_path):
    """As where it is out of memory: the neighbour is told as killed, and nobody who asks for it fails."""
    forked = host.start(script(tmp_path, "import time\ntime.sleep(60)\n"), log=tmp_path / "log.txt")
    host.close()
    assert forked.poll() == -signal.SIGKILL


def test_a_fork_that_the_system_refuses_ends_no_neighbour(make_host, tmp_path):
    """It is started anew by whoever asked, and the host goes on."""
    refuse = """
import os
fork, left = os.fork, [True, False, True]
def refuse():
    if not left.pop():
        raise BlockingIOError("Resource temporarily unavailable")
    return fork()
os.fork = refuse
"""
    host = make_host(refuse)
    neighbour = host.start(script(tmp_path, "import time\ntime.sleep(2)\n"), log=tmp_path / "log.txt")
    assert host.start(script(tmp_path, ""), log=tmp_path / "log.txt") is None
    assert host.start(script(tmp_path, ""), log=tmp_path / "log.txt").wait() == 0
    assert neighbour.wait() == 0


def test_forks_draw_other_numbers(make_host, tmp_path):
    """What is drawn without a seed differs from process to process, as it does where each begins anew."""
    host = make_host("import numpy, random")
    path = script(tmp_path, "import numpy, random\nprint(numpy.random.rand(), random.random(), flush=True)\n")
    for _ in range(2):
        host.start(path, log=tmp_path / "log.txt").wait()
    first, second = (line.split() for line in (tmp_path / "log.txt").read_text().splitlines())
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_a_framework_that_cannot_be_imported_has_no_host(tmp_path):
    """Its runner is then started as any process is, and says in its last event what stands in the way."""
    opened = Hosts()
    arguments = {"python": None, "cores": None, "log": tmp_path / "log.txt"}
    try:
        assert opened.start("no_such_framework", tmp_path, **arguments) is None
        assert opened.start("no_such_framework", tmp_path, **arguments) is None
    finally:
        opened.close()
