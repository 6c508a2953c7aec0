"""No secret in what is shown or sent: addresses without user, password or token."""

from __future__ import annotations

import re


def redact(text: str) -> str:
    """Return `text` without the user, password or token of any URI in it.

    What follows `user:` is taken up to the last `@`, for a password may hold `/` and `@` that nobody escaped.
    """
    text = re.sub(r"""://(?:[^\s"'/@]*:[^\s"']*|[^\s"'/]*)@""", "://***@", text)
    return re.sub(r"""(?i)([?&][^=&\s"']*(?:password|passwd|pwd|token|secret|key)=)[^&\s"']+""", r"\1***", text)
