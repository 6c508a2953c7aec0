"""The memory that a run will take is told before it is made, and what would tell it wrongly is seen."""

from __future__ import annotations

import re

import pytest

from runners.contract.protocol.events import read_events
from vigil.cli.main import main
from vigil.documents.context import make_context
from vigil.documents.preflight import HOLDS, LEFT_OUT, Preflight
from vigil.runs import memory
from vigil.runs.memory import MemoryLine, allocator_of, before_it_runs, fitting, line_through, parts_of, told_line
from vigil.runs.own_rehearsal import rehearsed_step, step_line
from vigil.steps.verify import Setting, asked_of

MIB = 2**20
BASE, OF_A_ROW = 400 * MIB, 3 * MIB
# Forward and backward hold four tensors of 1 MiB a row at once, so that 96 rows take 384 MiB besides the framework itself.
STEP = """
import torch
def build():
    return torch.nn.Linear(4, 1)
def batch(seed):
    return torch.randn(96, 4, generator=torch.Generator().manual_seed(seed))
def loss(model, batch):
    wide = (model(batch) * torch.ones(1, 2**18)).exp()
    return (wide * wide).mean()
"""
WIDE_IN_JAX = """
import jax
import jax.numpy as jnp
def build():
    return {"w": jnp.full((4, 1), 0.1)}
def batch(seed):
    return jax.random.normal(jax.random.key(seed), (64, 4))
def loss(model, batch):
    wide = jnp.sort((batch @ model["w"]) * jnp.linspace(0.0, 1.0, 2**18), axis=1)
    return (wide * wide[::-1]).mean()
"""


def growing(size: int) -> int:
    """Return a peak that grows as memory should."""
    return BASE + OF_A_ROW * size


def off(line: MemoryLine | None, batch: int = 32) -> float:
    assert line is not None
    return line.at(batch) / growing(batch) - 1.0


@pytest.mark.parametrize(("batch", "least", "rows", "parts"), [
    (32, 1, 1, [16, 8, 4, 2, 1]), (64, 16, 16, [32, 16]), (16, 16, 16, [16]), (3, 1, 1, [1]), (5, 2, 1, [2]),
])  # fmt: skip
def test_parts_are_halves_down_to_the_least(batch, least, rows, parts) -> None:
    assert list(parts_of(batch, least=least, rows=rows)) == parts


def test_a_line_goes_through_the_largest_part_that_ends() -> None:
    """Half a batch is killed for memory; a quarter is not."""
    line = line_through([16, 8, 4, 1], lambda size: growing(size) if size < 16 else None)
    assert line == MemoryLine((1, growing(1)), (8, growing(8)))
    assert abs(off(line)) < 1e-9
    assert line_through([16, 8, 1], lambda size: None) is None
    assert line_through([1], growing) is None


def test_what_scatters_is_enlarged_less_than_by_small_batches() -> None:
    """A twentieth more in the larger peak: 15 % too much by a quarter and an eighth, under 10 % by a half and one row."""

    def scattering(largest: int):
        return lambda size: int(growing(size) * (1.05 if size == largest else 1.0))

    assert off(line_through([8, 4], scattering(8))) > 0.15
    assert 0.0 < off(line_through([16, 1], scattering(16))) < 0.1


def test_a_peak_that_falls_tells_no_less_than_was_measured() -> None:
    """Allocators keep what is small: half a batch took more than a whole one."""
    line = MemoryLine((1, 700 * MIB), (16, 650 * MIB))
    assert line.at(32) == 650 * MIB
    assert line.most(10 * MIB) is None


@pytest.mark.parametrize(("framework", "mode", "asked"), [
    ("jax", "jit", "compiled"), ("jax", "compile", "compiled"), ("jax", "eager", "taken"), ("torch", "compile", "taken"),
    ("tensorflow", "jit", "taken"),
])  # fmt: skip
def test_programs_are_asked_where_they_tell(framework, mode, asked) -> None:
    found: list[str] = []

    def one(name: str):
        return lambda size: found.append(name) or growing(size)

    told_line(make_context(framework=framework, mode=mode), 32, [16, 8, 1], compiled=one("compiled"), taken=one("taken"))
    assert found == [asked, asked]


def test_programs_that_tell_nothing_are_rehearsed() -> None:
    line = told_line(make_context(framework="jax", mode="jit"), 32, [16, 8, 1], compiled=lambda size: None, taken=growing)
    assert line == MemoryLine((1, growing(1)), (16, growing(16)))


def test_an_estimate_that_forgets_what_programs_take_is_too_low() -> None:
    """moco_lite with a batch of 256 in JAX, as measured: 508 MiB when compiled, 380 MiB by XLA's word, 957 MiB at its peak."""
    told, forgetful = before_it_runs(508 * MIB, 380 * MIB), before_it_runs(508 * MIB, 0)
    assert abs(told / (957 * MIB) - 1.0) < 0.15
    assert forgetful / (957 * MIB) - 1.0 < -0.4


@pytest.mark.jax
def test_a_programs_temporaries_are_in_what_it_tells() -> None:
    """Of rows times rows numbers nothing is given or returned: they are there only while it runs."""
    jax = pytest.importorskip("jax")
    from runners.jax.modes import bytes_of, compile_ahead

    rows = 1024
    program = compile_ahead(jax.jit(lambda x: jax.numpy.sort(x @ x.T).sum()), jax.ShapeDtypeStruct((rows, 8), "float32"))
    given = 4 * (rows * 8 + 1)
    assert 4 * rows * rows <= bytes_of(program) - given <= 5 * 4 * rows * rows
    assert bytes_of(lambda x: x) is None  # a release that tells nothing


@pytest.mark.slow
@pytest.mark.jax
def test_the_memory_of_jax_is_told_before_a_step_is_taken(tmp_path) -> None:
    """What XLA says of a step with wide temporaries is no less than it takes; without them it would be told far too little."""
    file = tmp_path / "wide.py"
    file.write_text(WIDE_IN_JAX, encoding="utf-8")
    asked, setting = asked_of(file, "jax"), Setting(make_context(framework="jax"), 1)
    rows, peak = rehearsed_step(asked, setting, tmp_path)
    line = step_line(asked, setting, tmp_path, rows)
    assert (line.large[0], line.small[0], rows) == (64, 32, 64)
    assert line.at(rows) / peak - 1.0 > -0.1
    compiled = read_events(tmp_path / "compiled-for-64")[-1]["peak_memory_bytes"]
    assert before_it_runs(compiled, 0) / peak - 1.0 < -0.15


def peak_under(size: int, kept_below: int) -> int:
    """Return a peak with four tensors of 1 MiB a row at once, of which the allocator keeps twice as many where they are small."""
    kept = 8 * MIB * size if MIB * size < kept_below else 0
    return BASE + 4 * MIB * size + kept


def test_parts_are_rehearsed_with_an_allocator_in_proportion(monkeypatch) -> None:
    """A batch of 48 has tensors that are given back at once; those of its half would be kept, and told 50 % too much."""
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)

    def in_small(size: int) -> int:
        return peak_under(size, int(re.search(r"mmap_threshold=(\d+)", allocator_of(size, 48)["GLIBC_TUNABLES"])[1]))

    true, parts = peak_under(48, 32 * MIB), list(parts_of(48, least=2))
    assert line_through(parts, in_small).at(48) == true
    assert line_through(parts, lambda size: peak_under(size, 32 * MIB)).at(48) / true > 1.5


def test_what_a_batch_that_is_kept_takes_is_told_with_what_is_kept(monkeypatch) -> None:
    """A batch of 24 has tensors that are kept, and so must be those of its parts."""
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)

    def in_small(size: int) -> int:
        return peak_under(size, int(re.search(r"mmap_threshold=(\d+)", allocator_of(size, 24)["GLIBC_TUNABLES"])[1]))

    assert line_through(list(parts_of(24, least=2)), in_small).at(24) == peak_under(24, 32 * MIB)


def test_an_allocator_that_the_user_has_set_stays(monkeypatch) -> None:
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=1")
    assert allocator_of(1, 2) == {}


def test_a_line_that_forgets_what_rows_take_tells_too_little() -> None:
    """Planted: peaks of processes that have built a model, and taken no step."""
    assert abs(off(line_through([16, 1], growing))) < 1e-9
    assert off(line_through([16, 1], lambda size: BASE)) < -0.15


def test_the_batch_that_would_fit_is_one_that_does() -> None:
    """What the line tells is rehearsed; what takes more than was told is not said to fit, and the next one is."""
    line = MemoryLine((1, growing(1)), (16, growing(16)))
    has = int(memory.MARGIN * growing(24))
    assert fitting(line, 32, has, growing).startswith("; a batch of 24 would fit, of which a rehearsal took 472 MiB")
    more = fitting(line, 32, has, lambda size: growing(size) + 12 * MIB)
    assert "a batch of 20 would fit" in more
    assert fitting(line, 32, has, lambda size: None) == ""
    assert fitting(line, 32, int(memory.MARGIN * growing(40)), growing) == ""  # all of it fits
    assert fitting(line, 32, BASE // 2, growing) == ""  # nothing does
    assert fitting(None, 32, has, growing) == "" == fitting(line, 32, None, growing)


@pytest.fixture
def step(tmp_path, monkeypatch):
    """Return a user's step; runs lie beside it."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    file = tmp_path / "wide.py"
    file.write_text(STEP, encoding="utf-8")
    return file


def preflight_of(file, *options) -> tuple[int, Preflight]:
    """Return the exit code of a preflight, and its document, the newest."""
    code = main(["preflight", str(file), "--mode", "eager", *options])
    newest = max((file.parent / "runs").iterdir(), key=lambda each: each.stat().st_mtime)
    return code, Preflight.read(newest)


@pytest.mark.torch
def test_a_step_of_ones_own_is_tried(step, capsys) -> None:
    code, document = preflight_of(step)
    assert (code, {each.outcome for each in document.checks}) == (0, {HOLDS})
    assert "READY: wide.py, torch-eager-fp32-x1: a step, and its program in float64" in capsys.readouterr().out
    assert (document.recipe, document.ahead, document.file.path) == (None, None, str(step))
    assert [each.name for each in document.checks][2:] == ["a few steps", "the program in float64", "memory"]


@pytest.mark.slow
@pytest.mark.torch
def test_the_largest_batch_of_a_step_is_told(step, monkeypatch) -> None:
    """There is 1 MiB less than it took, of which a fifth is left free; the framework itself takes more than half."""
    _, document = preflight_of(step)
    took = MIB * int(next(each for each in document.checks if each.name == "memory").says.split()[0].replace(",", ""))
    monkeypatch.setattr("vigil.runs.own_rehearsal.available_memory", lambda: took - MIB)
    code, document = preflight_of(step)
    [check] = document.failing
    assert (code, check.name) == (3, "memory")
    assert 36 <= int(re.search(r"a batch of (\d+) would fit", check.says)[1]) <= 66


@pytest.mark.torch
@pytest.mark.parametrize(("was", "planted", "said"), [
    ("model(batch) *", "model(batch.T) *", "wide.py:8: loss: RuntimeError: mat1 and mat2 shapes cannot be multiplied"),
    (".mean()", ".mean() / 0.0", "wide.py: loss: inf after 4 steps on one batch."),
    ("import torch", "import torch, gone_module", "wide.py: needs the module gone_module"),
])  # fmt: skip
def test_what_a_step_would_fail_by_is_found(step, was, planted, said) -> None:
    step.write_text(STEP.replace(was, planted).replace("2**18", "2**4"), encoding="utf-8")
    code, document = preflight_of(step)
    assert (code, [each.name for each in document.failing]) == (3, ["a few steps"])
    assert said in document.failing[0].says
    assert [each.name for each in document.checks if each.outcome == LEFT_OUT] == ["the program in float64", "memory"]


@pytest.mark.parametrize(("options", "said"), [
    (["--devices", "2"], "--devices: not allowed with a file of your own"),
    (["--seeds", "3"], "--seeds: not allowed with a file of your own"),
    (["--profile", "nonsense"], "--profile: not allowed with a file of your own"),
    (["--framework", "jax"], "--framework: found jax, and wide.py is of torch"),
    (["--python", "nowhere"], "--python: nowhere: no such file"),
])  # fmt: skip
def test_what_a_step_has_not_is_refused(step, capsys, options, said) -> None:
    assert main(["preflight", str(step), *options]) == 2
    assert said in capsys.readouterr().err


def test_an_interpreter_is_for_a_file_alone(capsys) -> None:
    assert main(["preflight", "digits_mlp", "--framework", "torch", "--python", "nowhere"]) == 2
    assert "--python: allowed for a file of your own alone" in capsys.readouterr().err


