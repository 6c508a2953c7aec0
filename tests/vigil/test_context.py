"""The context: its checks, its text form and its shards."""

from __future__ import annotations

import dataclasses
import itertools
import json

import pytest

from vigil.documents import context as contexts
from vigil.documents.context import Context, make_context, parse_context
from vigil.errors import UsageError


def every_context():
    """Yield a context for every combination of words, with one, two and uneven devices."""
    words = itertools.product(
        contexts.FRAMEWORKS,
        contexts.MODES,
        contexts.PRECISIONS,
        contexts.DEVICES,
        [(1, None), (2, None), (2, (80, 48)), (12, None), (1, (64,))],
        contexts.DETERMINISM,
        contexts.RANDOMNESS,
        ("default", "math"),
    )
    for framework, mode, precision, device, (devices, shards), determinism, randomness, attention in words:
        yield make_context(
            framework=framework,
            mode=mode,
            precision=precision,
            device=device,
            devices=devices,
            shards=shards,
            determinism=determinism,
            randomness=randomness,
            attention=attention,
        )


def test_text_form_is_short():
    """What is usual is left out of the text form, and what is not is named in a fixed order."""
    assert make_context(framework="jax", precision="bf16", devices=2).text == "jax-jit-bf16-x2"
    assert make_context(framework="torch", mode="eager", device="gpu").text == "torch-eager-fp32-gpu-x1"
    unusual = {"devices": "2", "shards": "80,48", "determinism": "on", "randomness": "native", "attention": "flash"}
    assert make_context(framework="torch", **unusual).text == "torch-jit-fp32-x2-s80+48-det-native-flash"


def test_text_form_and_dict_read_back_for_every_context():
    """Every context has a text form of its own, and both forms read back to the same context."""
    everything = list(every_context())
    assert len({context.text for context in everything}) == len(everything)
    for context in everything:
        assert parse_context(context.text) == context
        assert Context.from_dict(json.loads(json.dumps(context.as_dict()))) == context


def test_documents_are_as_they_were_before_there_was_a_choice_of_attention():
    """The kernel stands in a document only where it was chosen; where it is not there, it was the framework's own choice."""
    usual = make_context(framework="torch")
    assert "attention" not in usual.as_dict()
    assert Context.from_dict(usual.as_dict()).attention == "default"
    assert make_context(framework="torch", attention="math").as_dict()["attention"] == "math"


def test_a_context_cannot_be_changed():
    """A context is frozen, so that it can be a dictionary key."""
    context = make_context(framework="jax")
    with pytest.raises(dataclasses.FrozenInstanceError):
        context.mode = "eager"
    assert {context: 1}[parse_context("jax-jit-fp32-x1")] == 1


@pytest.mark.parametrize(
    ("option", "found", "says"),
    [
        ("framework", "pytorch", "Did you mean torch?"),
        ("framework", "", "found nothing"),
        ("mode", "complie", "Did you mean compile?"),
        ("precision", "bfloat16", "Did you mean bf16?"),
        ("precision", "FP32", "Allowed: fp32, bf16, fp16, tf32, fp64."),
        ("device", "tpu", "Allowed: cpu, gpu."),
        ("determinism", "yes", "Allowed: off, on."),
        ("randomness", "nativ", "Did you mean native?"),
        ("devices", 0, "Allowed: a whole number, 1 or more."),
        ("devices", "-1", "found '-1'"),
        ("devices", "two", "found 'two'"),
        ("devices", "2.0", "found '2.0'"),
        ("devices", "\u00b2", "Allowed: a whole number"),
        ("devices", True, "Allowed: a whole number"),
        ("shards", "80", "Set devices to 1"),
        ("shards", "80,48,1", "found 3 sizes"),
        ("shards", "80,-48", "found '-48'"),
        ("shards", "80,", "found ''"),
        ("shards", 80, "separated by commas"),
    ],
)
def test_a_wrong_option_is_named(option, found, says):
    """A wrong value is refused with the option, what was found and what is allowed."""
    options = {"framework": "jax", "devices": 2, option: found}
    with pytest.raises(UsageError) as raised:
        make_context(**options)
    assert str(raised.value).startswith(f"{option}: ")
    assert says in str(raised.value)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "jax",
        "jax-jit-fp32",
        "jax-jit-fp32-2",
        "jax-jit-fp32-gpu",
        "jax-jit-fp32-x",
        "jax-jit-fp32-x02",
        "jax-jit-fp32-cpu-x1",
        "jax-jit-fp32-x1-native-det",
        "jax-jit-fp32-x2-s80",
        "jax-jit-fp32-x2-s80,48",
        "jax-jit-fp32-x1-fast",
        "caffe-jit-fp32-x1",
    ],
)
def test_what_is_no_text_form_is_refused(text):
    """Text that is not the one form of a context is refused, never read as the nearest one."""
    with pytest.raises(UsageError):
        parse_context(text)


def test_even_shards_differ_by_at_most_one():
    """An even split gives away every image, larger shards first."""
    for devices in range(1, 9):
        context = make_context(framework="jax", devices=devices)
        for batch_size in range(devices, 40):
            sizes = context.shard_sizes(batch_size)
            assert sum(sizes) == batch_size
            assert len(sizes) == devices
            assert max(sizes) - min(sizes) <= 1
            assert list(sizes) == sorted(sizes, reverse=True)


def test_given_shards_must_make_up_the_batch():
    """Uneven shards are used as they are given and refused for a batch of another size."""
    context = make_context(framework="jax", devices=2, shards="80,48")
    assert context.shard_sizes(128) == (80, 48)
    assert context.evaluation_shards(251) == (126, 125)
    with pytest.raises(UsageError, match=r"80\+48 = 128.*batch size, 64"):
        context.shard_sizes(64)


def test_a_device_without_an_image_is_refused():
    """More devices than images is an error, not an empty shard."""
    with pytest.raises(UsageError, match="found 5"):
        make_context(framework="jax", devices=5).shard_sizes(4)
