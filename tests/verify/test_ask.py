"""What is asked of a runner, and what is made of one that did not end by itself."""

import pytest

from vigil.documents.context import make_context
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
