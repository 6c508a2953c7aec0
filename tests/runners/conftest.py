"""Fixtures of the runner tests: each framework, and runs that are remembered for the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runners.harness import FRAMEWORKS, Outcome, make_spec, name_of, outcome, start
from vigil.process.environment import is_installed


@pytest.fixture(scope="session", params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in FRAMEWORKS])
def framework(request):
    """Each framework; one that is not installed fails rather than passing unseen.

    Of the session, so that pytest puts the tests of a framework side by side: two workers seldom wait for the same run then.
    """
    assert is_installed(request.param), f"{request.param} is not installed: run `make setup`"
    return request.param


@pytest.fixture(scope="session")
def run(once):
    """Return a function that runs a spec to its end; the same spec is run once a session, on whichever core."""
    known: dict[str, Outcome] = {}

    def run_spec(framework: str, **changes) -> Outcome:
        spec = make_spec(framework, **changes)
        name = name_of(spec)
        if name not in known:

            def make(directory: Path) -> None:
                (directory / "exit_code").write_text(str(start(directory, spec).wait(timeout=300)))

            directory = once(name, make)
            known[name] = outcome(directory, int((directory / "exit_code").read_text()))
        return known[name]

    return run_spec
