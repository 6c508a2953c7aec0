"""Is a framework installed, and what is recorded about this machine and this code.

Nothing here imports a framework, and only the environment variables named here are ever recorded.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

import psutil

from runners.contract.compiled import cpuinfo
from vigil.documents.record import Code, Environment
from vigil.errors import FrameworkMissing
from vigil.frameworks import FRAMEWORKS, OF_BATCH_NORM, TABLE
from vigil.paths import project_root

_NUMERIC_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "XLA_FLAGS",
    "TF_XLA_FLAGS",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_DETERMINISTIC_OPS",
    "NVIDIA_TF32_OVERRIDE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_VISIBLE_DEVICES",
    "ONEDNN_MAX_CPU_ISA",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "JAX_ENABLE_X64",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "ATEN_CPU_CAPABILITY",
)


# After so many turns a thread of OpenMP that waits for others sleeps, and leaves its core to them. libgomp's own number is 15
# times as large. Beside a loop on every core PyTorch trained 1.47 times as fast with this one, on a quiet machine 0.62 times
# (`python -m benchmarks.busy_machine --spins 20000`, two cores of an AMD EPYC, PyTorch 2.13.0, 2026-11-23).
_SPINS = "20000"
_BUSY_PERCENT = 40.0


def environment_of_runners(root: Path) -> dict[str, str]:
    """Return the environment of a runner that imports from `root`; how threads wait is the user's to say."""
    is_said = "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ
    is_busy = not is_said and psutil.cpu_percent(interval=0.2) > _BUSY_PERCENT
    return {**({"GOMP_SPINCOUNT": _SPINS} if is_busy else {}), **os.environ, "PYTHONPATH": str(root), "PYTHONUNBUFFERED": "1"}


def is_installed(framework: str) -> bool:
    """Can a runner of this framework start in this environment?"""
    return all(importlib.util.find_spec(module) is not None for module in OF_BATCH_NORM[framework].modules)


def installed_frameworks() -> list[str]:
    """Return the frameworks that are installed, in the usual order."""
    return [framework for framework in FRAMEWORKS if is_installed(framework)]


def require_framework(framework: str) -> None:
    """Raise FrameworkMissing, with the command that installs it."""
    missing = [module for module in OF_BATCH_NORM[framework].modules if importlib.util.find_spec(module) is None]
    if missing and framework not in TABLE:
        raise FrameworkMissing(
            f"{framework} is not installed, and works beside no other framework. Name a release, which gets an environment of "
            f"its own (--release {framework}), or the interpreter of one that has it (--python)."
        )
    if missing:
        raise FrameworkMissing(
            f"{framework} is not installed: {', '.join(missing)} not found by {sys.executable}. "
            f"Install it with `make setup FRAMEWORK={framework}`, or "
            f"`{sys.executable} -m pip install -c constraints.txt -e '.[{framework}]'` in {project_root()}."
        )


def describe_machine() -> Environment:
    """Return a flat description of interpreter and machine."""
    facts: Environment = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "hardware": f"{_cpu_model()}, {psutil.cpu_count(logical=True)} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB",
        "cpu_flags": " ".join(flag for flag in _cpu_flags() if flag.startswith(("avx", "amx", "fma", "sse4", "asimd", "sve"))),
    }
    return facts | {f"env.{name}": os.environ[name] for name in _NUMERIC_VARIABLES if name in os.environ}


def describe_code() -> Code:
    """Return the commit of this checkout, and whether files that git tracks differ from it; nulls outside a checkout."""
    commit = _git("rev-parse", "HEAD")
    return Code(commit=commit, dirty=None if commit is None else bool(_git("status", "--porcelain", "--untracked-files=no")))


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(project_root()), *arguments], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _cpu_model() -> str:
    return cpuinfo("model name") or platform.processor() or platform.machine()


def _cpu_flags() -> list[str]:
    return sorted((cpuinfo("flags") or cpuinfo("Features") or "").split())
