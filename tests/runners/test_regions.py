"""The region pieces of the three frameworks against the float64 oracle's, in every mode, with mistakes planted in each.

Each framework answers in a process of its own (ask_regions.py) everything that region_cases.py lists.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.runners import fork_server
from tests.runners.harness import FRAMEWORKS
from tests.runners.region_cases import CASES, DEFECTS, PLANTED_IN, TOGETHER, Case, cotangent
from vigil.process.environment import is_installed
from vigil.verify.oracle import region_operations as oracle

# Of an element, or of 1 where that is less. Measured over frameworks, modes and cases: 1.2e-14 and 5.2e-6, both of RoIAlign.
# Features of 8 and 11 bits are rounded once, at the end.
TOLERANCE = {"float64": 1e-13, "float32": 2e-5, "bfloat16": 1.01 * 2.0**-8, "float16": 1.01 * 2.0**-11}
# A finding in PyTorch 2.13 (pytorch/pytorch#179804): a compiled backward pass is under the autocast of the forward pass even
# where that had turned it off, so that gradients are made of products in the low precision.
KNOWN = {("torch", "compile", "align bfloat16"), ("torch", "compile", "align float16")}


def marks(framework: str, mode: str, name: str) -> list[pytest.MarkDecorator]:
    """Return what a test is marked with; slow are compilers, and JAX op by op, which compiles every op for every shape."""
    found = [getattr(pytest.mark, framework)]
    if mode == "compile" or (framework, mode) == ("jax", "eager"):
        found.append(pytest.mark.slow)
    if (framework, mode, name) in KNOWN:
        found.append(pytest.mark.xfail(raises=AssertionError, strict=True))
    return found


ASKED = [
    pytest.param(framework, mode, name, marks=marks(framework, mode, name))
    for framework in FRAMEWORKS
    for mode in ("eager", "jit", "compile")
    for name in CASES
]
MISTAKES = [
    pytest.param(framework, defect, name, marks=getattr(pytest.mark, framework))
    for defect, (names, sources) in DEFECTS.items()
    for framework in sources
    for name in names
]


def ask(once, library: str, mode: str) -> dict[str, np.ndarray]:
    """Return what ask_regions.py answers in a process of its own, which is asked once a session."""

    def make(directory: Path) -> None:
        framework = "torch" if library == "torchvision" else library
        arguments = [library, mode, str(directory / "answers.npz")]
        fork_server.ask(framework, "tests.runners.ask_regions", *arguments, folder=directory)

    with np.load(once(f"regions-{library}-{mode}", make) / "answers.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="session")
def answers(once) -> Callable[[str, str], dict[str, np.ndarray]]:
    """Return a function of framework and mode, which asks once a session."""
    known: dict[tuple[str, str], dict[str, np.ndarray]] = {}

    def answers_of(framework: str, mode: str) -> dict[str, np.ndarray]:
        assert is_installed(framework), f"{framework} is not installed: run `make setup`"
        if (framework, mode) not in known:
            known[framework, mode] = ask(once, framework, mode)
        return known[framework, mode]

    return answers_of


@pytest.fixture(scope="session")
def expected() -> dict[str, list[np.ndarray]]:
    """The oracle's answers: outputs, then gradients."""
    return {name: oracle_answers(case) for name, case in CASES.items()}


def oracle_answers(case: Case) -> list[np.ndarray]:
    """Return the oracle's outputs and gradients of a case."""
    if case.differentiated:
        moving, fixed = case.arguments[: case.differentiated], case.arguments[case.differentiated :]
        constants = dict(zip(case.constants, fixed, strict=True))
        output, backward = getattr(oracle, case.function)(*moving, **constants, **case.options)
        return [output, *backward(cotangent(output.shape))]
    if case.function in TOGETHER:
        found = TOGETHER[case.function](oracle, *case.arguments, **case.options)
    else:
        found = getattr(oracle, case.function)(*case.arguments, **case.options)
    return list(found) if isinstance(found, tuple) else [found]


def assert_agrees(found: dict[str, np.ndarray], expected: dict[str, list[np.ndarray]], name: str, variant: str = "") -> None:
    """Raise unless the answers to a case are the oracle's, in every type that it was asked in; of a mistake, in float32."""
    case = CASES[name]
    for dtype in ("float32",) if variant else case.dtypes:
        for index, right in enumerate(expected[name]):
            answer = found[f"{variant}|{name}|{dtype}|{index}"]
            assert answer.shape == right.shape, f"{name}, {dtype}, output {index}: shape {answer.shape}, expected {right.shape}"
            assert np.isfinite(answer).all(), f"{name}, {dtype}, output {index}"
            distance = np.abs(answer.astype(np.float64) - right) / np.maximum(np.abs(right), 1.0)
            tolerance = 0.0 if case.is_exact else TOLERANCE[case.features or dtype]
            assert distance.max() <= tolerance, f"{name}, {dtype}, output {index}: {distance.max():.1e} from the oracle"


@pytest.mark.parametrize(("framework", "mode", "name"), ASKED)
def test_a_piece_is_the_oracles(answers, expected, framework, mode, name):
    """Outputs and gradients to rounding, decisions to the bit, in float32 and float64."""
    assert_agrees(answers(framework, mode), expected, name)


@pytest.mark.parametrize(("framework", "defect", "name"), MISTAKES)
def test_a_mistake_is_caught(answers, expected, framework, defect, name):
    """With one line of the framework's source wrong, every case that should tell does."""
    with pytest.raises(AssertionError, match=name):
        assert_agrees(answers(framework, PLANTED_IN[framework]), expected, name, defect)


@pytest.fixture(scope="session")
def torchvision(once) -> dict[str, np.ndarray]:
    """What torchvision answers to the cases of RoIAlign and of suppression."""
    if find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    return ask(once, "torchvision", "eager")


@pytest.mark.torch
@pytest.mark.parametrize("name", ["align", "align once", "align thrice", "align border"])
def test_the_oracle_pools_as_torchvision_does(torchvision, expected, name):
    """Values and gradients, of boxes inside, outside, without area and far too large."""
    for index, right in enumerate(expected[name]):
        np.testing.assert_allclose(torchvision[f"{name}|{index}"], right, rtol=0, atol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["nms", "nms exhausted", "nms at the threshold"])
def test_the_oracle_suppresses_as_torchvision_does(torchvision, expected, name):
    """The same boxes are kept in the same order, at the threshold and among equal scores too."""
    kept, used = expected[name]
    for image, (row, in_use) in enumerate(zip(kept, used, strict=True)):
        theirs = torchvision[f"{name}|{image}"][: in_use.sum()]
        np.testing.assert_array_equal(row[in_use], theirs)
