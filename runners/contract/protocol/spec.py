"""spec.json: everything that one run needs, resolved. A runner fills in no default of its own."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from runners.contract.files import digest_of_values

SCHEMA = 1
FILE_NAME = "spec.json"
TASKS = ("train", "verify", "replay")


@dataclasses.dataclass(frozen=True)
class RunSpec:
    """One run. `training` is the recipe's resolved content; see recipes/*.yaml for its keys.

    shards: images of the global batch on each device; evaluation_shards: the same for an evaluation batch.
    threads: CPU threads for the whole run, all devices together.
    cores: the CPU cores that the process binds itself to before the framework starts, or None for all it may use.
    data_directory: folder of official data, or None for an embedded set.
    fault: None, or {"path", "name", "sha256"} of a planted fault.
    task: train, verify: answer the cases that lie beside the spec (cases.py), or replay: go to the step that is sought
        (replaying.py).
    attention: by which of its kernels the framework computes attention, or default.
    """

    schema: int
    run_id: str
    recipe: dict[str, Any]
    framework: str
    mode: str
    precision: str
    device: str
    devices: int
    shards: tuple[int, ...]
    evaluation_shards: tuple[int, ...]
    determinism: str
    randomness: str
    seed: int
    threads: int
    cores: tuple[int, ...] | None
    training: dict[str, Any]
    data_directory: str | None
    fault: dict[str, str] | None
    heartbeat_seconds: float
    task: str = "train"
    attention: str = "default"

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise ValueError(f"spec schema {self.schema}: this runner reads schema {SCHEMA}")
        if self.task not in TASKS:
            raise ValueError(f"task {self.task!r}: allowed are {', '.join(TASKS)}")
        if len(self.shards) != self.devices or sum(self.shards) != self.training["batch_size"]:
            raise ValueError(
                f"shards {self.shards} do not fit {self.devices} devices and batch size {self.training['batch_size']}"
            )


def write_spec(run_directory: Path, spec: RunSpec) -> None:
    """Write spec.json, with the digest of its content in `sha256`."""
    content = dataclasses.asdict(spec)
    content["sha256"] = digest_of_values(content)
    (run_directory / FILE_NAME).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_spec(run_directory: Path) -> RunSpec:
    """Read spec.json. Raises ValueError for another schema or altered content, TypeError for missing or unknown keys."""
    content = json.loads((run_directory / FILE_NAME).read_text(encoding="utf-8"))
    digest = content.pop("sha256", None)
    is_altered = digest not in (None, digest_of_values(content))
    content["shards"], content["evaluation_shards"] = tuple(content["shards"]), tuple(content["evaluation_shards"])
    content["cores"] = tuple(content["cores"]) if content["cores"] else None
    spec = RunSpec(**content)
    if is_altered:
        raise ValueError("sha256: the content is not what was written: it was altered or damaged")
    return spec
