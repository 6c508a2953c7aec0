"""What a person calls a release: what each form asks for, and what is no form of one."""

from __future__ import annotations

import dataclasses
import platform
import sys
from pathlib import Path

import pytest

from vigil.errors import UsageError
from vigil.frameworks import TABLE, Framework
from vigil.releases.naming import parse_hold, parse_release

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("text", "framework", "requirements"),
    [
        ("jax==0.9.2", "jax", ["numpy", "jax==0.9.2", "flax", "optax", "jaxlib<=0.9.2"]),
        ("jax == 0.9.2", "jax", ["numpy", "jax==0.9.2", "flax", "optax", "jaxlib<=0.9.2"]),
        ("jax", "jax", ["numpy", "jax", "flax", "optax"]),
        ("jax@pre", "jax", ["numpy", "jax>=0.dev0", "flax", "optax", "jaxlib>=0.dev0"]),
        ("torch==2.13.0+cpu", "torch", ["numpy", "torch==2.13.0+cpu", "setuptools"]),
        ("torch@pre", "torch", ["numpy", "torch>=0.dev0", "setuptools"]),
        ("tensorflow==2.20.0rc1", "tensorflow", ["numpy", "tensorflow-cpu==2.20.0rc1"]),
        ("tensorflow_cpu", "tensorflow", ["numpy", "tensorflow-cpu"]),
    ],
)
def test_a_release_asks_for_its_framework_and_what_its_runner_is_written_in(monkeypatch, text, framework, requirements):
    """numpy, the framework, in JAX flax and optax, and in PyTorch setuptools; versions are left to the resolver, nothing else."""
    monkeypatch.setattr(Framework, "distribution", property(lambda row: row.carriers[-1]))
    release = parse_release(text)
    assert (release.framework, release.requirements()) == (framework, requirements)
    assert release.text == text.replace(" ", "")


@pytest.mark.parametrize(
    ("name", "framework", "distribution", "version"),
    [
        ("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", "torch", "torch", "2.13.0+cpu"),
        ("tensorflow_cpu-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl", "tensorflow", "tensorflow-cpu", "2.21.0"),
        ("tensorflow-2.21.0-1-cp311-cp311-macosx_12_0_arm64.whl", "tensorflow", "tensorflow", "2.21.0"),
        ("jaxlib-0.11.0.dev20261122-cp311-cp311-manylinux_2_27_x86_64.whl", "jax", "jaxlib", "0.11.0.dev20261122"),
    ],
)
def test_a_wheel_is_of_the_framework_that_its_name_says(tmp_path, name, framework, distribution, version):
    """A wheel takes the place of its own package; JAX of its own accord goes with a jaxlib."""
    (tmp_path / name).touch()
    release = parse_release(str(tmp_path / name))
    assert (release.framework, release.distribution, release.version) == (framework, distribution, version)
    assert f"{distribution} @ {(tmp_path / name).as_uri()}" in release.requirements()
    assert (f"{framework}" in release.requirements()) == (distribution == "jaxlib")
    assert release.text == str(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "found", "hint"),
    [
        ("jaxx==0.9.2", "found 'jaxx==0.9.2'", "Did you mean jax?"),
        ("jax=0.9.2", "found 'jax=0.9.2'", "NAME==VERSION"),
        ("jax>=0.9", "found 'jax>=0.9'", "NAME==VERSION"),
        ("jax==", "whose version is ''", "As in jax==0.9.2"),
        ("jax==newest", "whose version is 'newest'", "As in jax==0.9.2"),
        ("jax==0.9.*", "whose version is '0.9.*'", "As in jax==0.9.2"),
        ("jax==0.9.2 --index-url=https://x", "whose version is", "As in jax==0.9.2"),
        ("jax==0.9.2\n--index-url=https://x", "whose version is", "As in jax==0.9.2"),
        ("jax@nightly", "found 'jax@nightly'", "NAME@pre"),
        ("jaxlib==0.9.2", "found 'jaxlib==0.9.2'", "Did you mean jax?"),
        ("", "found ''", "NAME==VERSION"),
        ("gone/jax-0.9.2-py3-none-any.whl", "no such file", "NAME==VERSION"),
        ("scipy-1.0-py3-none-any.whl", "found 'scipy-1.0-py3-none-any.whl'", "the wheel of a framework"),
        ("jax.whl", "found 'jax.whl'", "NAME-VERSION-PYTHON-ABI-PLATFORM.whl"),
    ],
)
def test_what_is_no_release_is_refused_with_what_is_allowed(text, found, hint):
    """Each malformed name is quoted; nothing that an installer would read as an option gets through."""
    with pytest.raises(UsageError) as caught:
        parse_release(text)
    assert found in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize("index", ["", "example.com/simple", "https://x/simple --trusted-host x", "https://x/\n-e .", "-r file"])
def test_an_index_is_a_url_or_a_path(index):
    """What is written into a requirements file must not be able to hold another line of it."""
    with pytest.raises(UsageError, match="--extra-index: found"):
        parse_release("jax", indexes=[index])


def test_the_password_of_an_index_is_shown_nowhere():
    """The installer gets it; what is shown and recorded has three stars."""
    release = parse_release("jax", indexes=["https://user:hidden-word@example.com/simple"])
    assert release.indexes == ("https://user:hidden-word@example.com/simple",)
    assert release.shown_indexes == ("https://***@example.com/simple",)
    with pytest.raises(UsageError) as caught:
        parse_release("jax", indexes=["ftp://user:hidden-word@example.com/simple"])
    assert "hidden-word" not in str(caught.value)


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("linux", "x86_64", "tensorflow-cpu"),
        ("win32", "AMD64", "tensorflow-cpu"),
        ("linux", "aarch64", "tensorflow"),
        ("darwin", "arm64", "tensorflow"),
    ],
)
def test_tensorflow_is_the_package_that_the_project_installs(monkeypatch, system, machine, expected):
    """The rule in the code is the markers of pyproject.toml, on each kind of machine."""
    markers = {
        line.split(">=")[0].strip(' "'): line.split(";")[1].strip(' ",')
        for line in (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
        if line.strip().startswith('"tensorflow') and ";" in line
    }
    values = {"sys_platform": system, "platform_machine": machine}
    true = [name for name, marker in markers.items() if eval(marker, {}, values)]
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert true == [expected] == [TABLE["tensorflow"].distribution]


@pytest.mark.parametrize(
    ("framework", "texts", "message"),
    [
        ("jax", ["keras==3.15.1"], "found 'keras==3.15.1'. Allowed: NAME==VERSION, as flax==1.2.3; NAME is flax, optax, numpy"),
        ("tensorflow", ["flax==0.12.8"], "NAME is keras, numpy beside tensorflow"),
        ("torch", ["keras==3.15.1"], "NAME is numpy beside torch"),
        ("jax", ["jax==0.9.2"], "found 'jax==0.9.2', which is compared or released with what is"),
        ("jax", ["jaxlib==0.9.2"], "found 'jaxlib==0.9.2', which is compared or released with what is"),
        ("jax", ["flax"], "found 'flax', whose version is ''"),
        ("jax", ["flax==new"], "found 'flax==new', whose version is 'new'"),
        ("jax", ["flaxx==0.12.8"], "Did you mean flax?"),
        ("jax", ["flax==0.12.8", "flax==0.12.6"], "found two of flax, 0.12.8 and 0.12.6"),
    ],
)
def test_what_cannot_be_held_is_refused_with_what_can(framework, texts, message):
    """Each framework has packages of its own that stay at one version beside it; what is compared is none of them."""
    with pytest.raises(UsageError, match="--hold: ") as caught:
        parse_hold(texts, framework=framework)
    assert message in str(caught.value)


def test_what_is_held_is_asked_for_at_its_version_and_nothing_else_changes():
    """Of flax no other version, of optax any, and the framework's own bound stays."""
    release = dataclasses.replace(parse_release("jax==0.9.2"), hold=parse_hold(["flax == 0.12.6"], framework="jax"))
    assert release.requirements() == ["numpy", "jax==0.9.2", "flax==0.12.6", "optax", "jaxlib<=0.9.2"]
