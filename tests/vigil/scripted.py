"""A run that ends as it is told, without training."""

from __future__ import annotations

from pathlib import Path

from runners.contract.protocol.events import EventWriter
from runners.contract.protocol.spec import read_spec


def end_run(directory: Path, outcome: float | str) -> None:
    """Write the events of a run of four steps: a metric's value, or the category of a failure."""
    writer = EventWriter(directory, heartbeat_seconds=60.0)
    writer.emit("started", pid=1, framework="torch")
    writer.emit("environment", environment={"framework_version": "1.0"})
    writer.emit("data", checksum="c0ffee")
    writer.emit("steps", step=4, losses=[2.5, 2.0, 1.5, 1.25])
    if isinstance(outcome, str):
        writer.emit("failed", category=outcome, message=f"{outcome} on purpose", step=4, traceback="")
    else:
        metrics = {read_spec(directory).training["metric"]["name"]: outcome, "test_loss": 0.5}
        writer.emit("evaluated", step=4, epoch=0.5, train_loss=1.8, metrics=metrics, images_per_second=900.0)
        writer.emit(
            "finished",
            step=4,
            metrics=metrics,
            state_sha256="ab" * 32,
            images_per_second=900.0,
            first_step_seconds=1.0,
            peak_memory_bytes=1,
            cpu_seconds=1.0,
        )
    writer.close()
