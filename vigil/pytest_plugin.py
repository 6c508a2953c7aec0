"""The fixture `vigil_verify`, so that a training step of one's own is verified in one's own tests.

def test_our_step_computes_what_it_should(vigil_verify):
    vigil_verify("my_step.py", mode="eager,compile", precision="fp32,bf16")
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def vigil_verify(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return a function that runs `vigil verify` on a file, from the folder of the test, and fails unless it is reproduced."""

    def verify(file: str | Path, **options: str) -> None:
        """Verify a file. options: those of `vigil verify`, as `mode="eager"`; underscores stand for dashes."""
        from vigil.cli.main import main
        from vigil.errors import EXIT_REPRODUCED

        path = request.path.parent / file
        given = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
        code = main(["verify", str(path), *given])
        if code != EXIT_REPRODUCED:
            pytest.fail(f"vigil verify {path}: exit code {code}; what it found is printed above", pytrace=False)

    return verify
