"""The frameworks: one row each, with all that Vigil knows of one from outside its runner.

Whoever asks for a framework's packages, for what a release of it is called, which libraries compute in it or what it costs, asks
here. It imports nothing of Vigil, so that contexts can take their names from it.
"""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class ModeCost:
    """Seconds on one of two cores (AMD EPYC): of a verification in full, in the short form, and of a reproduction of one seed.

    Verifications are medians of resnet_cifar from empty caches, two side by side (docs/verify.md).
    """

    verify: tuple[float, float]
    reproduce: float


@dataclass(frozen=True)
class Framework:
    """One framework.

    name: as it stands in contexts, on command lines and below `runners/`.
    modules: what its runner imports besides numpy, the framework first.
    carriers: the distributions that carry its version; an environment has one of them.
    siblings: distributions that are released with it: a release of it works with theirs and no newer one.
    libraries: distributions besides numpy's whose versions can move its numbers.
    issues: the public repository, on GitHub, in which its users tell of what is wrong with it.
    costs: by mode.
    audit: seconds of a family of operators in the quick form of an audit, as the framework is used (docs/audit.md).
    undeclared: packages that releases of it import at times, and do not require.
    beside: packages that every environment of it has at one version, since it works with no newer ones.
    sized: modes of which the compiled programs tell, before they run, what memory they take.
    compiling: modes in which a verification from empty caches is compiling for the most part, by one core a process.
    has_ranks: each device has a process of its own.
    """

    name: str
    modules: tuple[str, ...]
    carriers: tuple[str, ...]
    siblings: tuple[str, ...]
    libraries: tuple[str, ...]
    issues: str
    costs: dict[str, ModeCost]
    audit: float
    undeclared: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    sized: tuple[str, ...] = ()
    compiling: tuple[str, ...] = ()
    has_ranks: bool = False

    @property
    def owned(self) -> tuple[str, ...]:
        """Return the distributions of which a wheel stands for a release of it."""
        return (*self.carriers, *self.siblings)

    @property
    def distribution(self) -> str:
        """Return the carrier that its name stands for on this machine: the one that pyproject.toml installs."""
        # The second one has no CUDA in it; only these platforms have it.
        is_offered = sys.platform == "win32" or (sys.platform == "linux" and platform.machine() == "x86_64")
        return self.carriers[1] if len(self.carriers) > 1 and is_offered else self.carriers[0]

    @property
    def holdable(self) -> tuple[str, ...]:
        """Return the distributions that can be kept at one version beside several releases of it: those not released with it."""
        return (*(name for name in self.libraries if name not in self.owned), "numpy")

    @property
    def companions(self) -> tuple[str, ...]:
        """Return the other distributions that its runner is written in."""
        return tuple(name for name in self.modules if name != self.name)


# Reproductions: jit is the median over the recipes of `make reference`'s runs. The other modes take as much longer as their
# images per second in docs/benchmarks.md (`make bench`) are fewer. PyTorch takes a minute to compile (docs/contexts.md,
# `make matrix RECIPE=resnet_cifar PROFILE=smoke`).
TABLE: dict[str, Framework] = {
    row.name: row
    for row in (
        Framework(
            name="torch",
            modules=("torch",),
            carriers=("torch",),
            siblings=(),
            libraries=("torch",),
            issues="pytorch/pytorch",
            costs={
                "eager": ModeCost((9.7, 2.2), 90.0),
                "jit": ModeCost((19.3, 4.3), 90.0),
                "compile": ModeCost((90.0, 75.8), 150.0),
            },
            audit=13.0,
            undeclared=("setuptools",),  # to compile, up to 2.10
            compiling=("compile",),
            has_ranks=True,
        ),
        Framework(
            name="tensorflow",
            modules=("tensorflow",),
            carriers=("tensorflow", "tensorflow-cpu"),
            siblings=(),
            libraries=("tensorflow-cpu", "tensorflow", "keras"),
            issues="tensorflow/tensorflow",
            costs={
                "eager": ModeCost((25.4, 5.3), 370.0),
                "jit": ModeCost((28.1, 9.4), 85.0),
                "compile": ModeCost((39.9, 10.4), 85.0),
            },
            audit=20.0,
        ),
        Framework(
            name="jax",
            modules=("jax", "flax", "optax"),
            carriers=("jax",),
            siblings=("jaxlib",),
            libraries=("jax", "jaxlib", "flax", "optax"),
            issues="jax-ml/jax",
            costs={
                "eager": ModeCost((43.1, 17.9), 740.0),
                "jit": ModeCost((23.8, 8.9), 135.0),
                "compile": ModeCost((8.3, 4.4), 135.0),
            },
            audit=39.0,
            sized=("jit", "compile"),
            compiling=("eager",),
        ),
    )
}
FRAMEWORKS: tuple[str, ...] = tuple(TABLE)
# Those of which the table of batch norms is made (docs/batch-norm.md). Nothing is trained on MXNet, and no context names it.
OF_BATCH_NORM: dict[str, Framework] = TABLE | {
    "mxnet": Framework(
        name="mxnet",
        modules=("mxnet",),
        carriers=("mxnet",),
        siblings=(),
        libraries=("mxnet",),
        issues="apache/mxnet",
        costs={},
        audit=0.0,
        beside=("numpy==1.23.5",),  # MXNet 1.9.1, the last release, uses names that NumPy 1.24 has no more
    )
}
# The repositories, on GitHub, of the libraries that are reported to in places of their own.
_TRACKERS = {"keras": "keras-team/keras", "flax": "google/flax", "optax": "google-deepmind/optax"}
# Whose versions can move numbers, of whichever framework.
LIBRARIES: tuple[str, ...] = (*(name for row in TABLE.values() for name in row.libraries), "numpy", "ml-dtypes", "scipy")
# The same by the names that runners record them under.
RECORDED: tuple[str, ...] = (
    "numpy",
    *(name for row in TABLE.values() for name in row.libraries if name == row.name or name not in row.carriers),
    "ml_dtypes",
)


def trackers() -> dict[str, str]:
    """Return the public repository of each framework and library in which users tell of what is wrong with it."""
    return {name: row.issues for row in TABLE.values() for name in (row.name, *row.owned)} | _TRACKERS
