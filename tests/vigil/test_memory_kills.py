"""The kernel's count of processes killed for memory, of both versions of cgroups."""

import pytest

from vigil.process.memory_kills import memory_kills

COUNTS = "low 0\noom 3\noom_kill {}\noom_group_kill 0\n"


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("0::/job/7", "job/7/memory.events"),
        ("0::/", "memory.events"),
        ("0::/of/the/host", "memory.events"),  # in a container the cgroup's own root is mounted
        ("4:memory:/job/7", "memory/job/7/memory.oom_control"),
        ("9:name=systemd:/\n8:cpu,memory:/job\n0::/", "memory/job/memory.oom_control"),
    ],
)
def test_the_count_of_the_own_cgroup_is_read(tmp_path, line, file):
    """Wherever it is mounted."""
    (tmp_path / "cgroup").write_text(line + "\n")
    path = tmp_path / "fs" / file
    path.parent.mkdir(parents=True)
    path.write_text(COUNTS.format(5))
    assert memory_kills(tmp_path / "cgroup", tmp_path / "fs") == 5


def test_what_cannot_be_read_counts_nothing(tmp_path):
    """As on a system without cgroups."""
    assert memory_kills(tmp_path / "gone", tmp_path) == 0
    (tmp_path / "cgroup").write_text("nonsense\n0::/job\n")
    assert memory_kills(tmp_path / "cgroup", tmp_path) == 0
