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

    Verifications are medians of resnet_cifar from empty caches, two side by side, divided by 2.7: that day the machine trained at
    1 / 2.7 of the speed that it had for reproductions.
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
    costs: by mode.
    """

    name: str
    modules: tuple[str, ...]
    carriers: tuple[str, ...]
    siblings: tuple[str, ...]
    libraries: tuple[str, ...]
    costs: dict[str, ModeCost]

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
    def companions(self) -> tuple[str, ...]:
        """Return the other distributions that its runner is written in."""
        return tuple(name for name in self.modules if name != self.name)


# Verifications: medians of docs/verify-contexts.md (`vigil verify resnet_cifar --all --jobs 2`).
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
            costs={
                "eager": ModeCost((4.5, 1.0), 90.0),
                "jit": ModeCost((7.5, 1.5), 90.0),
                "compile": ModeCost((35.0, 32.5), 150.0),
            },
        ),
        Framework(
            name="tensorflow",
            modules=("tensorflow",),
            carriers=("tensorflow", "tensorflow-cpu"),
            siblings=(),
            libraries=("tensorflow-cpu", "tensorflow", "keras"),
            costs={
                "eager": ModeCost((12.5, 4.0), 370.0),
                "jit": ModeCost((18.5, 4.0), 85.0),
                "compile": ModeCost((17.5, 5.5), 85.0),
            },
        ),
        Framework(
            name="jax",
            modules=("jax", "flax", "optax"),
            carriers=("jax",),
            siblings=("jaxlib",),
            libraries=("jax", "jaxlib", "flax", "optax"),
            costs={
                "eager": ModeCost((24.5, 6.5), 740.0),
                "jit": ModeCost((9.5, 4.0), 135.0),
                "compile": ModeCost((3.5, 1.5), 135.0),
            },
        ),
    )
}
FRAMEWORKS: tuple[str, ...] = tuple(TABLE)
# Whose versions can move numbers, of whichever framework.
LIBRARIES: tuple[str, ...] = (*(name for row in TABLE.values() for name in row.libraries), "numpy", "ml-dtypes", "scipy")
# The same by the names that runners record them under.
RECORDED: tuple[str, ...] = (
    "numpy",
    *(name for row in TABLE.values() for name in row.libraries if name == row.name or name not in row.carriers),
    "ml_dtypes",
)
