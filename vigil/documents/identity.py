"""Which recipe a number belongs to: results of two identities are never compared."""

from __future__ import annotations

from pathlib import PurePath

from vigil.documents.document import Part


class Identity(Part):
    """A recipe's profile. `hash`: 12 hexadecimal digits of the SHA-256 of what is trained."""

    name: str
    version: int
    hash: str
    profile: str

    def __str__(self) -> str:
        return f"{self.name} v{self.version} ({self.hash}), profile {self.profile}"

    def below(self, folder: PurePath) -> PurePath:
        """Return the folder of this recipe below another."""
        return folder / self.name
