"""What is asked of a runner, and what is made of one that did not end by itself."""

import dataclasses

import pytest

from tests.documents import a_record
from vigil.documents.context import make_context
from vigil.documents.failure import Failure
from vigil.process.execute import Ending
from vigil.verify import ask


def test_of_an_interrupted_runner_no_half_written_answer_is_read(tape, tmp_path, monkeypatch):
    """It is ended within a second or two, in whatever it was, and that is no reason to say that a file is damaged."""
    grace_seconds = []

    def execute(directory, framework, *, grace, **options) -> Ending:
        grace_seconds.append(grace)
        (directory / "events.jsonl").touch()
        (directory / "answers-0.npz").write_bytes(b"PK\x03\x04")
        return Ending(None, is_interrupted=True)

    monkeypatch.setattr(ask, "execute", execute)
    context = make_context(framework="torch", mode="eager")
    answers = ask.ask(ask.Setting(context, tmp_path / "answers", 0, None), tape, ask.lines_of(tape, tape.cases[:1], context))
    assert (answers.record.status, answers.tensors) == ("interrupted", {})
    assert max(grace_seconds) <= 2.0


@pytest.mark.parametrize(
    ("mode", "precision", "device", "calls", "steps"),
    [
        ("jit", "fp32", "cpu", 56, 56), ("eager", "bf16", "cpu", 56, 16), ("jit", "fp16", "cpu", 16, 16),
        ("eager", "fp16", "cpu", 16, 16), ("jit", "fp16", "gpu", 56, 56),
    ],
)  # fmt: skip
def test_calls_are_repeated_as_often_as_they_are_cheap(tape, mode, precision, device, calls, steps):
    """A CPU's float16 goes through oneDNN's reference, where a step takes seconds."""
    [repeat] = [case for case in tape.cases if case.kind == "repeat"]
    [line] = ask.lines_of(tape, [repeat], make_context(framework="torch", mode=mode, precision=precision, device=device))
    assert (line["times"], min(line["steps"], line["times"])) == (calls, steps)


@pytest.mark.parametrize("failing", [None, "answers", "answers-second"])
def test_two_processes_divide_the_cases(tape, tmp_path, monkeypatch, failing):
    """Each case is put to one of them, on its own cores, and the run is told to have failed whichever of them did."""
    asked = {}

    def put(setting, tape, lines, **options) -> ask.Answers:
        asked[setting.directory.name] = setting.cores, [line["name"] for line in lines]
        name = setting.directory.name
        failure = Failure(category="died", phase="verify", step=0, message=name, log_tail=()) if name == failing else None
        names = [line["name"] for line in lines]
        return ask.Answers(a_record(failure=failure), {name: {} for name in names}, dict.fromkeys(names, 1.0))

    monkeypatch.setattr(ask, "ask", put)
    setting = ask.Setting(make_context(framework="torch"), tmp_path / "answers", 0, None, cores=[0])
    choice = dataclasses.replace(tape.cases[0], name="init/choices", kind="choose", batches=("init/ties",))
    monkeypatch.setattr(
        ask, "lines_of", lambda tape, cases, context: [{"name": case.name, "shards": [case.rows]} for case in cases]
    )
    cases = [choice, *tape.cases]
    names = {case.name for case in cases}
    ask.ask_all(setting, tape, cases)
    assert {key: set(lines) for key, (_, lines) in asked.items()} == ({"answers": names})
    asked.clear()
    found = ask.ask_all(dataclasses.replace(setting, second_cores=[1]), tape, cases)
    of_second = {case.name for case in cases if case.is_full} | {"init/choices"}
    assert (asked["answers"][0], asked["answers-second"][0]) == ([0], [1])
    assert set(asked["answers-second"][1]) == of_second
    assert set(asked["answers"][1]) == names - of_second
    assert set(found.tensors) == set(found.seconds) == names
    assert (found.record.failure and found.record.failure.message) == failing


def test_one_compiled_evaluation_serves_all(tape):
    """PyTorch's compiler makes one: for the recipe's evaluation batch, by the trainer of the steps on margin batches."""
    sizes, cases = {}, sorted(tape.cases, key=lambda case: case.is_full)
    for framework, mode, devices in (("torch", "compile", 1), ("torch", "jit", 1), ("torch", "compile", 8)):
        context = make_context(framework=framework, mode=mode, devices=devices)
        asked = [case for case in cases if case.rows >= devices]
        lines = ask.lines_of(tape, asked, context)
        sizes[framework, mode, devices] = [
            (sum(line["shards"]), line["evaluation_rows"], sum(line["evaluation_shards"])) for line in lines
        ]
        assert [line["evaluation_rows"] for line in lines] == [case.evaluation_rows for case in asked]
    full = tape.training["evaluation_batch_size"]
    rows = tape.training["batch_size"]
    small = len(cases) - 4
    assert set(sizes["torch", "compile", 1][:small]) == {(4, 4, full)}
    assert sizes["torch", "compile", 1][small:] == [(rows, full, full)] * 3 + [(4, full, full)]
    assert sizes["torch", "jit", 1][small:] == sizes["torch", "compile", 8] == [(rows, full, full)] * 4
    assert set(sizes["torch", "jit", 1][:small]) == {(4, 4, 4)}
