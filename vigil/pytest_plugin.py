"""The fixture `vigil_verify`, so that a training step of one's own is verified in one's own tests.

def test_our_step_computes_what_it_should(vigil_verify):
    vigil_verify("my_step.py", mode="eager,compile", precision="fp32,bf16")
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

# Options whose values name contexts: one that cannot be had is no part of what is reproduced.
_NAMING = ("mode", "precision", "threads", "devices")


@pytest.fixture
def vigil_verify(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return a function that runs `vigil verify` on a file, from the folder of the test, and fails unless it is reproduced.

    What a test names by mode, precision, threads or devices must be verified, too, in some context of these names.
    """

    def verify(file: str | Path, **options: str) -> None:
        """Verify a file. options: those of `vigil verify`, as `mode="eager"`; underscores stand for dashes."""
        from vigil.cli.main import main
        from vigil.errors import EXIT_REPRODUCED

        path = request.path.parent / file
        with tempfile.TemporaryDirectory(prefix="vigil-") as folder:
            answer = Path(options.get("json", Path(folder) / "answer.json"))
            given = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
            code = main(["verify", str(path), *given, "--json", str(answer)])
            document = json.loads(answer.read_text(encoding="utf-8")) if code == EXIT_REPRODUCED else {}
        if code != EXIT_REPRODUCED:
            pytest.fail(f"vigil verify {path}: exit code {code}; what it found is printed above", pytrace=False)
        named = {name: value for name, value in options.items() if name in _NAMING}
        if named and (left := not_verified(document, named)):
            pytest.fail(f"vigil verify {path}: not verified: {'; '.join(left)}", pytrace=False)

    return verify


def not_verified(document: Mapping[str, Any], named: Mapping[str, str]) -> list[str]:
    """Return what a test names and the answer of `vigil verify` has verified in no context, each with its reason."""
    reasons: dict[tuple[str, ...], list[str]] = {}
    for each in document.get("contexts", ()):  # of a step
        facts = {"devices": 1, **each["context"], "threads": each["threads"]}
        key = tuple(f"{name} {facts[name]}" for name in _NAMING if name in named)
        reasons.setdefault(key, []).append(each["verdict"]["reason"] if each["verdict"]["name"] == "unsupported" else "")
    found = [f"{', '.join(key)}: {said[0]}" for key, said in reasons.items() if all(said)]
    tried = document.get("precisions")  # of an operator
    if tried is not None:
        asked = [word.strip() for word in named.get("precision", "").split(",") if word.strip()]
        found += [f"{name}: the file says to try {', '.join(tried)} alone" for name in asked if name not in tried]
    return found
