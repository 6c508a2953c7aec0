"""The processes of a user's step: begun anew, or forked from one that has the framework imported."""

from __future__ import annotations

import json
import os
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from runners.contract.protocol.events import read_events
from runners.contract.steps import frame
from runners.contract.steps.request import FILE_NAME
from vigil.process import side_by_side
from vigil.process.hosts import hosts
from vigil.process.side_by_side import available_cores, take_cores
from vigil.steps.judge import differences_of
from vigil.steps.processes import run
from vigil.steps.verify import asked_of

STEP = """
import torch

def build():
    return torch.nn.Linear(5, 3)

def batch(seed):
    return torch.randn(4, 5, generator=torch.Generator().manual_seed(seed))

def loss(model, batch):
    return model(batch).square().mean()
"""


@pytest.mark.torch
def test_a_forked_step_is_the_same(tmp_path):
    """Its host has the framework alone; the step is what it is in a process of its own, and is repeated as often as is said."""
    file = tmp_path / "my_step.py"
    file.write_text(STEP, encoding="utf-8")
    with hosts() as opened:
        ended = [
            run(asked_of(file, "torch", hosts=each), tmp_path / name, task="oracle", precision="fp32", seeds=[0])
            for name, each in (("anew", None), ("forked", opened))
        ]
        asked = asked_of(file, "torch", hosts=opened, repeats=3)
        context = run(asked, tmp_path / "context", task="context", precision="fp32", expected=[ended[1].directory])
    assert [each.failure for each in (*ended, context)] == [None] * 3
    assert ended[0].read(frame.FLOORS) == ended[1].read(frame.FLOORS)
    assert context.read(frame.ANSWERS)[frame.REPEAT]["calls"] == 3
    assert context.environment["framework_version"]


@pytest.mark.torch
@pytest.mark.skipif(os.cpu_count() == 1 or not hasattr(os, "sched_setaffinity"), reason="needs two cores")
def test_a_process_of_one_thread_leaves_a_core_that_another_command_has(tmp_path, monkeypatch):
    """It is where its request says that it is."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # a worker of pytest-xdist has one core
    monkeypatch.setattr(side_by_side.tempfile, "tempdir", str(tmp_path))
    file = tmp_path / "my_step.py"
    file.write_text("import os\nprint(os.sched_getaffinity(0))\n" + STEP, encoding="utf-8")
    try:
        two = available_cores()[:2]
        for name, taken in (("alone", 0), ("beside", 1)):
            with take_cores(taken, two):
                ended = run(asked_of(file, "torch"), tmp_path / name, task="oracle", precision="fp32", seeds=[0], cores=two)
            assert ended.failure is None
            assert json.loads((tmp_path / name / FILE_NAME).read_text())["cores"] == [two[taken]]
            assert f"{{{two[taken]}}}" in (tmp_path / name / "log.txt").read_text()
    finally:
        os.sched_setaffinity(0, own)


@pytest.mark.torch
def test_a_variable_that_a_file_sets_is_there_before_what_reads_it(tmp_path):
    """A host has imported modules that read variables once: a step that sets some begins anew, in the same process."""
    file = tmp_path / "my_step.py"
    begins = 'import os, sys\nos.environ["TORCHINDUCTOR_EMULATE_PRECISION_CASTS"] = "1"\n'
    begins += 'BEFORE = "torch._dynamo" in sys.modules\n'
    asks = "    from torch._inductor import config\n    assert config.emulate_precision_casts and not BEFORE\n"
    file.write_text(begins + STEP.replace("def build():\n", "def build():\n" + asks), encoding="utf-8")
    with hosts() as opened:
        ended = run(asked_of(file, "torch", hosts=opened), tmp_path / "forked", task="oracle", precision="fp32", seeds=[0])
    assert ended.failure is None
    pids = [event["pid"] for event in read_events(tmp_path / "forked") if event["kind"] == "started"]
    assert len(pids) == 2
    assert len(set(pids)) == 1


@pytest.mark.torch
@pytest.mark.parametrize("seed", ['hash("train") + seed', "LEFT + seed"], ids=["of a hash", "of numpy"])
def test_a_batch_that_is_another_in_another_process_is_told(tmp_path, seed):
    """Though both processes are forked: an oracle and what is held to it have hosts of their own."""
    file = tmp_path / "my_step.py"
    begins = "import numpy\nLEFT = int(numpy.random.randint(10**9))\n"
    file.write_text(begins + STEP.replace("manual_seed(seed)", f"manual_seed({seed})"), encoding="utf-8")
    with hosts() as opened:
        asked = asked_of(file, "torch", hosts=opened, repeats=2)
        oracle = run(asked, tmp_path / "oracle", task="oracle", precision="fp32", seeds=[0])
        context = run(asked, tmp_path / "context", task="context", precision="fp32", expected=[oracle.directory])
    assert oracle.failure is None
    assert "seed 0 gives other numbers in another process" in context.failure.message


@pytest.mark.torch
def test_an_update_that_is_wrong_when_it_is_repeated_is_judged(tmp_path):
    """The first update is right, and a later one is not: what it should have been is held to it as well."""
    file = tmp_path / "my_step.py"
    optimizer = """
import sys

class Tired(torch.optim.SGD):
    made = 0

    def step(self, closure=None):
        super().step()
        Tired.made += 1
        if Tired.made > 5 and sys.argv[-1].endswith('context'):
            with torch.no_grad():
                for each in self.param_groups[0]["params"]:
                    each.mul_(1.0 if each.dim() == 1 else 1.01)

def optimizer(model):
    return Tired(model.parameters(), lr=0.1)
"""
    file.write_text(STEP + optimizer, encoding="utf-8")
    asked = asked_of(file, "torch", repeats=6)
    oracle = run(asked, tmp_path / "oracle", task="oracle", precision="fp32", seeds=[0])
    context = run(asked, tmp_path / "context", task="context", precision="fp32", expected=[oracle.directory])
    updates = run(asked, tmp_path / "updates", task="updates", precision="fp32", expected=[context.directory])
    assert [each.failure for each in (oracle, context, updates)] == [None] * 3
    answers, floors = context.read(frame.ANSWERS), oracle.read(frame.FLOORS)["floors"]
    found = differences_of(answers, floors, context.read(frame.UPDATES))
    far = {each.tensor for each in found if each.case.startswith(frame.REPEAT) and each.ratio > 1000}
    assert far == {"params/weight"}


GATED = STEP.replace("model(batch).square()", "model(batch).relu().square()")


@pytest.mark.torch
def test_shared_draws_make_the_same_floors(tmp_path):
    """Whoever makes a draw, and where one who took some was killed: floors are equal to the last bit."""
    file = tmp_path / "my_step.py"
    file.write_text(GATED, encoding="utf-8")
    asked = asked_of(file, "torch")
    whole = run(asked, tmp_path / "whole", task="oracle", precision="fp32", seeds=[0])
    shared = tmp_path / "shared"
    with ThreadPoolExecutor() as pool:
        first = pool.submit(run, asked, shared, task="oracle", precision="fp32", seeds=[0], shares_draws=True)
        second = run(asked, tmp_path / "draws", task="draws", precision="fp32", expected=[shared])
    assert [each.failure for each in (whole, second, first.result())] == [None] * 3
    assert first.result().read(frame.FLOORS) == whole.read(frame.FLOORS)
    # From draws that all are there, and from none but a lock that a killed process has left.
    drawn = sorted((shared / frame.DRAWN).glob("*.json"))
    assert len(drawn) == 6 + 6 + 12 + 12  # the other six of a step are the first of two
    for each in drawn[1:]:
        each.unlink()
    again = run(asked, shared, task="oracle", precision="fp32", seeds=[0], shares_draws=True)
    assert again.failure is None
    assert again.read(frame.FLOORS) == whole.read(frame.FLOORS)


@pytest.mark.torch
def test_a_draw_that_another_process_has_made_is_taken(tmp_path):
    """What stands in its file is the draw: one that is not its own would show in the floors."""
    file = tmp_path / "my_step.py"
    file.write_text(STEP, encoding="utf-8")
    asked, place = asked_of(file, "torch"), tmp_path / "oracle"
    first = run(asked, place, task="oracle", precision="fp32", seeds=[0], shares_draws=True).read(frame.FLOORS)
    for name, number in (("steps", 3), ("step", 8)):
        file = place / frame.DRAWN / f"{name}-{number}.json"
        drawn = json.loads(file.read_text(encoding="utf-8"))
        lines, flipped = drawn["step"]
        other = {**drawn, "step": [{name: [7.0, *rest] for name, (_, *rest) in lines.items()}, flipped]}
        file.write_text(json.dumps(other), encoding="utf-8")
    again = run(asked, place, task="oracle", precision="fp32", seeds=[0], shares_draws=True).read(frame.FLOORS)
    for found, is_other in ((first, False), (again, True)):
        step = found["floors"][frame.STEP]
        assert all((facts["draws"][number][0] == 7.0) is is_other for facts in step.values() for number in (3, 8))


OF_FOUR = STEP + "\ndef distribute(model):\n    return model\n"


@pytest.mark.torch
@pytest.mark.parametrize(
    ("of_rows", "left_out", "said"),
    [
        ("model(batch).reshape(4, -1, 3)", ["single", "parts"], "my_step.py:11: loss: RuntimeError: shape '[4, -1, 3]'"),
        ("model(batch).var(0)", ["single"], "my_step.py: loss: nan in float64, in case single: 1 of 1 values are not finite"),
    ],
    ids=["reshaped", "of a variance"],
)
def test_a_case_of_too_few_rows_is_not_asked(tmp_path, of_rows, left_out, said):
    """Of the oracle and of contexts; a remark says so. All other cases are asked."""
    file = tmp_path / "my_step.py"
    file.write_text(OF_FOUR.replace("model(batch)", of_rows), encoding="utf-8")
    asked = asked_of(file, "torch", repeats=2)
    oracle = run(asked, tmp_path / "oracle", task="oracle", precision="fp32", seeds=[0])
    context = run(asked, tmp_path / "context", task="context", precision="fp32", expected=[oracle.directory])
    assert [each.failure for each in (oracle, context)] == [None] * 2
    remarks = oracle.read(frame.FLOORS)["facts"]["remarks"]
    assert [each.partition(": not asked: the program needs more rows: ")[0] for each in remarks] == left_out
    assert said in remarks[0]
    every = {"step", "rows", "steps", "evaluation", "single", "parts", "repeat"}
    assert set(context.read(frame.ANSWERS)) == every - set(left_out)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("begins", "said"),
    [
        ("    if not model.training:\n        return torch.tensor(torch.nan)\n", "in case evaluation"),
        ("    if len(batch) == 1 and sys.argv[-1].endswith('context'):\n        return {}[0]\n", "loss: KeyError"),
    ],
    ids=["of an oracle, with all rows, too", "of a context alone"],
)
def test_what_does_not_fail_of_few_rows_alone_is_a_failure(tmp_path, begins, said):
    """Of an oracle it is told of all rows; a context that fails in a case that is asked has failed."""
    file = tmp_path / "my_step.py"
    source = STEP.replace("def loss(model, batch):\n", f"def loss(model, batch):\n{begins}")
    file.write_text(f"import sys\n{source}", encoding="utf-8")
    asked = asked_of(file, "torch", repeats=2)
    ended = run(asked, tmp_path / "oracle", task="oracle", precision="fp32", seeds=[0])
    if "argv" in begins:
        assert ended.failure is None
        ended = run(asked, tmp_path / "context", task="context", precision="fp32", expected=[ended.directory])
    assert said in ended.failure.message


@pytest.mark.parametrize(("seconds", "calls"), [(0.01, 60), (0.5, 30), (2.0, 20)])
def test_a_slow_step_is_repeated_less_often(monkeypatch, seconds, calls):
    """For so long, and twenty times at least; the answer says how often."""
    answer, taken = {"loss": np.ones(())}, []

    def train(steps):
        taken.append(seconds)
        return answer

    monkeypatch.setattr(frame, "time", types.SimpleNamespace(monotonic=lambda: sum(taken)))
    program, events = types.SimpleNamespace(train=train), types.SimpleNamespace(advance=lambda: None)
    request = types.SimpleNamespace(devices=1, repeats=60)
    found, _ = frame._repeated(frame.Case(frame.STEP, [[0]]), program, answer, answer, request, events)
    assert (found["calls"], found["results"]) == (calls, 1)
