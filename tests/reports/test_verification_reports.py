"""What a verification is shown as: the block, the table and the picture say what verify.json says, whatever it is."""

from __future__ import annotations

import math

import pytest
from matplotlib.image import imread

from reports.verification_picture import draw_picture, in_order, origin_place, plain
from reports.verification_table import COLUMNS, markdown, notes, outcome, rows
from reports.verification_text import go_on, verify_block, worst_text
from tests.reports.documents import ORIGIN, a_document, a_failure, a_regression, a_tensor, write_verification
from vigil.documents.context import parse_context
from vigil.documents.verification import Origin, TensorDifference, Verification, times

COMMAND = "vigil verify resnet_cifar"


def block(document: Verification) -> str:
    return verify_block(document, directory="runs/x")


def test_a_regression_names_the_origin_what_inherits_it_and_how_to_go_on():
    """Verdict, worst tensor, origin, passengers, standard, time, directory and next command stand in the block, rounded."""
    text = block(a_regression())
    for part in (
        "vigil verify: resnet_cifar v1, profile quick",
        "context     torch-compile-fp32-x1 (torch 2.13.0)",
        "verdict     REGRESSED: 9 of 589 tensors are out",
        "5,134x its noise floor (135.1 times what is accepted)",
        "origin      stage1.block1.conv2, backward, weight gradient: 5,134x the floor, slope 1.0010",
        "inherit it  2 tensors: momentum/stage1.block1.conv2.kernel, params/stage1.block1.conv2.kernel",
        "golden tape of 2026-11-21 (oracle, torch 2.13.0, tensorflow 2.21.0, jax 0.10.2), limits from 1,234 clean rows",
        "took        21 s",
        "run         runs/x",
        f"go on with  {COMMAND} --framework torch --mode eager --precision fp32   (is it the compiler?)",
    ):
        assert " ".join(part.split()) in " ".join(text.split())
    rest = text.splitlines()[1:]  # the first is wrapped where it is printed
    assert not any(line.endswith(" ") or len(line) > 130 for line in rest)


def test_a_right_context_has_no_origin_and_nothing_to_go_on_with():
    """`reproduced` is shown with its worst tensor, and suggests nothing."""
    text = block(a_document(verdict={"name": "reproduced", "reason": "1021 tensors within their limits"}))
    assert "verdict     reproduced: 1,021 tensors within their limits" in text
    assert "worst " in text
    assert not any(word in text for word in ("origin", "inherit", "go on with", "fault", "remark", "also", "known"))


def test_a_tape_that_fewer_than_all_agreed_on_says_who_did_not_vote():
    """One line below what the context is held to; none where all three voted."""
    document = a_document()
    assert "voters" not in block(document)
    votes = {name: vote for name, vote in (document.golden.votes or {}).items() if name in ("oracle", "jax")}
    golden = document.golden.model_copy(update={"votes": votes})
    text = block(document.model_copy(update={"golden": golden}))
    assert "voters      oracle and jax alone agreed on the tape: torch and tensorflow did not vote" in text


def test_origins_remarks_looks_and_passengers_are_cut_to_what_is_readable():
    """Of eight origins six are told, of nine passengers four; remarks of the origin stand before the others."""
    origins = [{**ORIGIN, "layer": f"layer{number}", "remark": "call 3 differs" if number == 0 else ""} for number in range(8)]
    look = {"name": "early/margin/layers", "tensors": 113, "out": 0, "worst": "output/pool", "ratio": 1.234}
    text = block(
        a_regression(
            origin=origins[0],
            origins=origins,
            passengers=[f"params/p{number}" for number in range(9)],
            looks=[look],
            remarks=["every layer alone is right"],
        )
    )
    lines = text.splitlines()
    assert lines[lines.index("  remark      call 3 differs") + 1] == "              every layer alone is right"
    assert "also        layer1, " in text
    assert "layer5, " in text
    assert "layer6" not in text
    assert "              and 2 more" in lines
    assert "inherit it  9 tensors: params/p0, params/p1, params/p2, params/p3, ..." in text
    assert "looking     early/margin/layers: 0 of 113 tensors out, worst output/pool, 1.23x its floor" in text


def test_what_is_not_finite_is_said_in_words():
    """Infinite ratios, a NaN slope and a problem are words, and none of them is formatted as a number."""
    numbers = a_tensor("early/margin", "loss", ratio="inf", score="inf") | {"slope": "nan"}
    worst = TensorDifference.model_validate(numbers | {"problem": "1 of 1 values are infinite"})
    assert worst_text(worst) == "early/margin loss: 1 of 1 values are infinite"
    many = "infinitely many times"
    assert worst_text(worst.replace(problem=None)).endswith(f"{many} its noise floor ({many} what is accepted)")
    nowhere = Origin.model_validate({**ORIGIN, "ratio": "inf", "slope": "nan"})
    assert nowhere.text.endswith("gradient: infinitely far from what is expected")
    assert Origin.model_validate({**ORIGIN, "slope": "nan"}).text.endswith("5,134x the floor")


def test_a_tensor_that_is_out_by_its_slope_says_so():
    """Under bf16 the distance may look like noise: the slope that gave it away is told."""
    worst = a_tensor("late/full", "params/head.kernel", ratio=1.1, score=3.0) | {"slope": 1.0101, "slope_z": 41.0}
    told = "1.1x its noise floor, slope 1.0101, 41x the deviation that rounding gives it (3 times what is accepted)"
    assert worst_text(TensorDifference.model_validate(worst)).endswith(told)


@pytest.mark.parametrize(
    ("context", "options"),
    [
        ("jax-jit-bf16-x2", "--framework jax --mode jit --precision bf16"),
        ("torch-compile-fp32-x2-s20+12-det", "--framework torch --mode compile --precision fp32 --determinism on"),
        ("jax-jit-bf16-x1", "--framework jax --mode eager --precision bf16"),
        ("jax-eager-bf16-x1", "--framework jax --mode eager --precision fp32"),
        ("jax-eager-fp32-gpu-x1", "--framework jax --mode eager --precision fp64 --device gpu"),
        ("jax-eager-fp64-x1", None),
    ],
)
def test_the_next_command_narrows_devices_then_mode_then_precision(context, options):
    """One thing changes at a time; from the plainest context there is nowhere to go."""
    found = go_on(a_regression(context=parse_context(context).as_dict()))
    assert found == (options and (f"{COMMAND} {options}", found[1]))


def test_the_next_command_is_of_the_same_recipe_release_and_fault():
    """A user's own file, the release as it was asked for and the planted fault of the first command are in the next."""
    release = {"request": "torch==2.12.0", "key": None, "pins": None}
    document = a_regression(release=release, command="vigil verify my.yaml --fault 'a b.py'")
    told, _ = go_on(document, source="./my.yaml")
    context = "--framework torch --mode eager --precision fp32"
    assert told == f"vigil verify ./my.yaml {context} --release torch==2.12.0 --fault 'a b.py'"


def test_nothing_is_narrowed_where_nothing_is_wrong():
    """Known findings, failures and a stale entry of the list, whose tensors are right, suggest no command."""
    known = {"name": "known-finding", "reason": "9 of 589 tensors are out"}
    stale = {"name": "regressed", "reason": "known finding x no longer fails: remove it"}
    for document in (a_regression(verdict=known), a_document(verdict=stale), a_failure()):
        assert go_on(document) is None


def test_a_known_finding_is_shown_as_one():
    """Its name and evidence stand in the block, and nothing reads `reproduced`."""
    entry = {
        "name": "bf16_statistics", "recipe": "resnet_cifar", "framework": "torch", "releases": ["2.13.0"], "contexts": ["*"],
        "layers": ["*"], "quantity": "*", "evidence": "docs/findings/statistics.py",
    }  # fmt: skip
    text = block(a_regression(verdict={"name": "known-finding", "reason": "9 of 589 tensors are out"}, known=[entry]))
    assert "verdict     KNOWN-FINDING: 9 of 589" in text
    assert "known       bf16_statistics: docs/findings/statistics.py" in text
    assert "reproduced" not in text


def test_broken_invariants_are_lines_and_at_most_five():
    """Each says case, tensor and what; the rest is counted."""
    broken = [{"case": "init/margin", "tensor": f"params/p{number}", "what": "did not move"} for number in range(7)]
    text = block(a_regression(broken=broken))
    assert "broken      init/margin params/p0: did not move" in text
    assert "p5" not in text
    assert "              and 2 more" in text


def test_a_crash_shows_where_and_the_end_of_its_log():
    """Category, phase and the last six lines are there, and nothing that looks like a comparison."""
    text = block(a_failure("failed:died"))
    assert "FAILED:DIED: the machine is on fire" in text
    assert "failed      died in phase build" in text
    assert "    | line 8" in text
    assert "line 2" not in text
    assert "worst" not in text


def test_a_refusal_shows_its_reason_alone():
    """An unsupported context is no failure, and has no log."""
    text = block(a_failure("unsupported"))
    assert "UNSUPPORTED: the machine is on fire" in text
    assert "    | " not in text


def test_a_planted_fault_is_said_in_the_block():
    """A faulted run cannot be mistaken for a clean one."""
    assert "fault       scaled, planted:" in block(a_regression(fault={"name": "scaled", "sha256": "1"}))


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        *((0.5, "0.5x"), (99.97, "100x"), (135.2, "135x"), (5134.4, "5,134x"), (3.2e9, "3.2e+09x")),
        (math.inf, "infinitely many times"),
    ],
)
def test_ratios_read_well(ratio, text):
    """Small ones keep three digits, large ones are grouped, huge ones have a power of ten."""
    assert times(ratio) == text


def test_the_table_has_a_row_a_context_and_its_numbers():
    """Verdict, tensors out, worst tensor, origin and seconds stand in the row; a crash has dashes and its reason."""
    documents = [a_regression(), a_document(), a_failure()]
    table = rows(documents)
    assert all(len(row) == len(COLUMNS) for row in table)
    assert table[0][1:3] == ("regressed", "9 / 589")
    assert table[0][4:] == ("5,134x", "135", Origin.model_validate(ORIGIN).text, "21")
    assert table[1][6] == ""
    assert table[2][1:] == ("failed:crash", "-", "-", "-", "-", "the machine is on fire", "21")
    assert outcome(documents[0]) == f"regressed: {Origin.model_validate(ORIGIN).text} (21 s)"
    assert outcome(documents[1]) == "reproduced (21 s)"


def test_the_short_form_is_told_in_row_line_and_note():
    """A document about margin steps alone says so; a full one, and one in which nothing was answered, do not."""
    full, failed = a_document(), a_failure()
    short = full.replace(cases=tuple(case for case in full.cases if not case.name.endswith("/full")))
    table = rows([short, full, failed])
    assert [row[0].endswith(" (short)") for row in table] == [True, False, False]
    assert outcome(short) == "reproduced (21 s, short form)"
    assert [line for line in notes([short, full, failed], missing=[]) if line.startswith("1 in the short form")]
    assert not [line for line in notes([full, failed], missing=[]) if "short form" in line]


def test_a_neighbour_that_said_nothing_is_named():
    """What a short form leaves out is looked at nowhere where the neighbour crashed, or was refused."""
    full = a_document()
    cases = tuple(case for case in full.cases if not case.name.endswith("/full"))
    short = full.replace(cases=cases, context=parse_context("jax-compile-bf16-x1"))
    one, two = (parse_context(f"jax-{rest}") for rest in ("compile-fp32-x1", "jit-bf16-x1"))
    lines = notes([short, a_failure().replace(context=one), a_failure("unsupported").replace(context=two)], missing=[])
    assert [line for line in lines if line.startswith("except")] == [
        "except jax-compile-fp32-x1 (failed:crash)",
        "except jax-jit-bf16-x1 (unsupported)",
    ]
    assert not [line for line in notes([short, full.replace(context=one)], missing=[]) if line.startswith("except")]


def test_the_median_leaves_out_what_was_refused():
    """A refusal takes two seconds and would make every median look good."""
    seconds = [a_document(seconds=40.0), a_document(seconds=50.0), a_failure("unsupported", seconds=2.0)]
    lines = notes(seconds, missing=["jax"])
    assert lines[0] == "2 reproduced, 1 unsupported"
    assert "median of the contexts that are supported: 45 s" in lines[1]
    assert lines[-1] == "not covered, because not installed: jax"


def test_markdown_has_versions_hardware_and_day():
    """The footnote dates the table; a bar in a text cannot break a row."""
    document = a_failure()
    document = document.replace(verdict=document.verdict.replace(reason="a | b"))
    text = markdown([a_regression(), document], missing=[])
    assert "torch 2.13.0; Python 3.11.7; a CPU, 2 cores, 8 GiB; 2026-11-22" in text
    assert all(line.count("|") == len(COLUMNS) + 1 for line in text.splitlines() if line.startswith("|"))
    assert "a / b" in text


def test_a_picture_is_drawn_of_every_kind_of_document(tmp_path):
    """A right, a wrong and an infinitely wrong context are each a PNG of the size that was asked for."""
    infinite = a_regression(origin={**ORIGIN, "tensor": "output/logits", "layer": "head", "ratio": "inf"})
    first, *others, last = infinite.tensors
    first = first.replace(ratio="inf", score="inf", problem="missing")
    infinite = infinite.replace(tensors=[first, *others, last.replace(ratio=0.0)])
    pictures = [
        imread(draw_picture(write_verification(tmp_path / str(number), document)))
        for number, document in enumerate([a_document(), a_regression(), infinite])
    ]
    assert {picture.shape for picture in pictures} == {(640, 1400, 4)}
    orange = [int((abs(picture[..., :3] - (0.835, 0.369, 0.0)) < 0.05).all(axis=-1).sum()) for picture in pictures]
    assert orange[0] == 0 < 20 < orange[1]


def test_the_arrow_points_at_the_origin_or_at_what_the_same_phase_makes_of_its_layer():
    """A gradient inside of the model is among no tensors: the layer's worst gradient stands for it, not its worse parameter."""
    document = a_regression()
    pattern = document.tensors[0]
    names = {"parameter_gradient/head.kernel": 3.0, "params/head.kernel": 9.0, "parameter_gradient/stem.conv.kernel": 20.0}
    tensors = [pattern.replace(tensor=name, ratio=ratio, score=ratio) for name, ratio in names.items()]
    order = in_order(set(names), ["stem.conv", "head"], slots=["momentum"])
    origin = {**ORIGIN, "layer": "head"}
    inside = document.replace(tensors=tensors, origin=origin | {"tensor": "leaf_gradient/x", "phase": "backward"})
    assert origin_place(inside, order)[1].tensor == "parameter_gradient/head.kernel"
    itself = document.replace(tensors=tensors, origin=origin | {"tensor": "params/head.kernel", "phase": "update"})
    assert origin_place(itself, order)[1].tensor == "params/head.kernel"
    assert origin_place(document.replace(tensors=tensors, origin={**ORIGIN, "tensor": "x/y", "layer": "nowhere"}), order) is None


def test_tensors_stand_in_the_order_of_a_step():
    """Forward, then gradients from the last layer to the first, then momentum and parameters; calls have no place."""
    tensors = {
        "params/stem.conv.kernel", "momentum/head.kernel", "momentum/stem.conv.kernel", "loss", "logits", "stats/stage1.bn.mean",
        "parameter_gradient/stem.conv.kernel", "parameter_gradient/head.kernel",
    }  # fmt: skip
    assert [tensor for _, tensor in in_order(tensors, ["stem.conv", "stage1.bn", "head"], slots=["momentum"])] == [
        "stats/stage1.bn.mean", "logits", "loss", "parameter_gradient/head.kernel", "parameter_gradient/stem.conv.kernel",
        "momentum/stem.conv.kernel", "momentum/head.kernel", "params/stem.conv.kernel",
    ]  # fmt: skip
    assert (plain("57/params/p"), plain("params/p"), plain("loss")) == ("params/p", "params/p", "loss")
