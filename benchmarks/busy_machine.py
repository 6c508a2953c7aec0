"""What waiting threads cost on a busy machine: `python -m benchmarks.busy_machine [--spins 5000,20000] [--repeats 2]`.

Trains the smoke profile of a recipe on all cores by PyTorch, whose threads of OpenMP wait for each other spinning: on a machine
that is left alone, and beside a loop on every core. Prints the images a second for each number of spins after which a thread lets
others have its core (GOMP_SPINCOUNT), and their ratio to those under libgomp's own number in the same round.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from vigil.documents.record import Record
from vigil.process.environment import describe_machine
from vigil.process.side_by_side import available_cores

_OWN = "300000"  # libgomp's, where nothing is said
_LOOP = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


def trained(recipe: str, mode: str, spins: str) -> float:
    """Return the images a second of one run."""
    with tempfile.TemporaryDirectory() as folder:
        places = {"VIGIL_RUNS_DIR": folder, "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db"}
        words = ["reproduce", recipe, "--framework", "torch", "--mode", mode, "--profile", "smoke", "--no-verify"]
        environment = {**os.environ, **places, "GOMP_SPINCOUNT": spins}
        subprocess.run([sys.executable, "-m", "vigil.cli.main", *words], env=environment, capture_output=True)
        (place,) = Path(folder).glob(f"*/*/{Record.FILE_NAME}")
        rate = Record.read(place.parent).timing.images_per_second
    assert rate is not None, "the run failed"
    return rate


@contextlib.contextmanager
def beside_loops(cores: list[int]) -> Iterator[None]:
    """Keep these cores busy."""
    loops = [subprocess.Popen([sys.executable, "-c", _LOOP, str(core)]) for core in cores]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="resnet_cifar")
    parser.add_argument("--mode", default="eager")
    parser.add_argument("--spins", default="1000,5000,20000,60000")
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    settings = [_OWN, *arguments.spins.split(",")]
    print("| machine | spins | images/s, median | of those at 300000 |\n|---|--:|--:|--:|")
    for name, cores in (("left alone", []), ("a loop on each core", available_cores())):
        rounds = []
        for _ in range(arguments.repeats):
            with beside_loops(cores):
                rounds.append({setting: trained(arguments.recipe, arguments.mode, setting) for setting in settings})
        for setting in settings:
            rate = statistics.median(each[setting] for each in rounds)
            ratio = statistics.median(each[setting] / each[_OWN] for each in rounds)
            print(f"| {name} | {setting} | {rate:.0f} | {ratio:.2f} |", flush=True)
    print(f"\n{describe_machine()['hardware']}")


if __name__ == "__main__":
    main()
