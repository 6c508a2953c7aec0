"""What audited operators are, in NumPy: one module a family. `catalog()` has them all."""

from __future__ import annotations

import importlib
import pkgutil

from vigil.audit.entry import CATALOG, Entry


def catalog() -> dict[str, Entry]:
    """Return every entry by its name, in the order of families and then of their modules."""
    for module in sorted(each.name for each in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return dict(CATALOG.entries)
