"""request.json of an audit: what a runner is asked. The conductor writes it, complete; a runner fills in no default."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import ClassVar

from runners.contract.files import replace_text

FILE_NAME = "request.json"
OPTION = "--audit"
WIDE = "fp64"


@dataclasses.dataclass(frozen=True)
class AuditRequest:
    """One process of `python -m runners.<framework> --audit RUN_DIR`.

    families: of operators; each has `questions-<family>.json` and `.npz` beside this.
    skipped: operators that are not asked: a process has died of them.
    ways: patterns of the public names that are called. tells_names: what is public in each namespace is told as well.
    is_wide: all questions are in float64, for which JAX has to be told before its first operation.
    mutants: defects that are planted in each call, one at a time; empty: none is.
    fault: a planted fault, as in a run's spec.
    device: cpu or gpu, where the calls are made. devices: over how many of them arguments are cut.
    """

    framework: str
    mode: str
    threads: int
    cores: tuple[int, ...] | None
    families: tuple[str, ...]
    skipped: tuple[str, ...]
    ways: tuple[str, ...]
    tells_names: bool
    is_wide: bool
    mutants: tuple[str, ...]
    fault: dict[str, str] | None
    heartbeat_seconds: float
    device: str = "cpu"
    devices: int = 1

    # What a run's spec says as well (`runners.contract.compiled.Compiling`).
    task: ClassVar[str] = "verify"
    attention: ClassVar[str] = "default"
    determinism: ClassVar[str] = "off"
    shards: ClassVar[tuple[int, ...]] = ()

    @property
    def precision(self) -> str:
        """Return the precision that the process begins with."""
        return WIDE if self.is_wide else "fp32"

    def write(self, directory: Path) -> None:
        """Write it where the runner looks for it."""
        replace_text(directory / FILE_NAME, json.dumps(dataclasses.asdict(self), indent=1))


def read_request(directory: Path) -> AuditRequest:
    """Return the request of a directory. Raises OSError, ValueError or TypeError where there is none that can be read."""
    fields = json.loads((directory / FILE_NAME).read_text(encoding="utf-8"))
    named = {name: tuple(fields[name]) for name in ("families", "skipped", "ways", "mutants")}
    return AuditRequest(**fields | named | {"cores": fields["cores"] and tuple(fields["cores"])})
