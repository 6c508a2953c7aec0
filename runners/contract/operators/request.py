"""request.json of an operator: what a runner is asked. The conductor writes it, complete; a runner fills in no default."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, ClassVar

from runners.contract.files import replace_text

FILE_NAME = "request.json"
OPTION = "--operator"


@dataclasses.dataclass(frozen=True)
class OperatorRequest:
    """One process of `python -m runners.<framework> --operator RUN_DIR`.

    file, file_sha256: the user's file, as it was when it was asked about.
    precisions: to try; the first is that of the user's own test.
    seeds: how many inputs of the usual sizes. draws: of rounding, for each floor. repeats: calls with the same inputs.
    limits: by precision and family of tensors, how many floors a large tensor of a correct operator may be off.
    reach: by how much more a tensor may be, by its degrees of freedom, in ascending order.
    fault: a planted fault, as in a run's spec.
    device: cpu or gpu, where the candidate computes; what is right is computed on the CPU.
    trial: the only inputs to try, as `Trial` has them: what is right of them is written down, and smaller ones are looked for.
    """

    framework: str
    file: str
    file_sha256: str
    mode: str
    threads: int
    cores: tuple[int, ...] | None
    precisions: tuple[str, ...]
    seeds: int
    draws: int
    repeats: int
    limits: dict[str, dict[str, float]]
    reach: tuple[tuple[float, float], ...]
    fault: dict[str, str] | None
    heartbeat_seconds: float
    trial: dict[str, Any] | None = None
    device: str = "cpu"

    # What a run's spec says as well (`runners.contract.compiled.Compiling`).
    task: ClassVar[str] = "verify"
    attention: ClassVar[str] = "default"
    determinism: ClassVar[str] = "off"
    devices: ClassVar[int] = 1
    shards: ClassVar[tuple[int, ...]] = ()

    @property
    def precision(self) -> str:
        """Return the precision of the user's own test."""
        return self.precisions[0]

    def write(self, directory: Path) -> None:
        """Write it where the runner looks for it."""
        replace_text(directory / FILE_NAME, json.dumps(dataclasses.asdict(self), indent=1))


def read_request(directory: Path) -> OperatorRequest:
    """Return the request of a directory. Raises OSError, ValueError or TypeError where there is none that can be read."""
    fields = json.loads((directory / FILE_NAME).read_text(encoding="utf-8"))
    fields |= {"precisions": tuple(fields["precisions"]), "cores": fields["cores"] and tuple(fields["cores"])}
    return OperatorRequest(**fields | {"reach": tuple(map(tuple, fields["reach"]))})
