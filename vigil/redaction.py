r"""No secret in what is shown, kept or sent: addresses, options, variables, headers and logs without what opens a door.

A list of our own. detect-secrets 1.5.0 finds 10 of the 45 forms of tests/vigil/test_redaction.py by its named patterns; with its
measure of entropy it finds 42, and 28 of 29 innocent lines too. Hidden is what is named, or says itself whose key it is: a bare
word that looks random is as often a hash. Every repetition has an end, or a long line would take minutes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_HIDDEN = "***"
_PASSWORD = (
    r"(?:password|passwd|passphrase|(?<![a-z])pwd|secret|credentials?"
    r"|(?:api|access|secret|private|auth|account|signing|encryption)[_.-]?key)"
)
# In quotes of either kind, or in those of a JSON document within another.
_QUOTED = r"""(?:"(?:[^"\\]|\\.){1,4000}"|'(?:[^'\\]|\\.){1,4000}'|\\"(?:(?!\\").){1,4000}\\")"""
_BARE = r"""[^\s"',;&\\]{1,4000}"""

# Each has two groups: what stays, and the value that goes.
_PATTERNS = [
    # What follows `user:` is taken up to the last `@`, for a password may hold `/` and `@` that nobody escaped.
    r"""(://)((?:[^\s"'/@]{0,500}:[^\s"']{0,500}|[^\s"'/]{0,500})(?=@))""",
    r"""([?&](?:[\w.-]{0,60}(?:password|passwd|pwd|token|secret|signature|credential|key)|sig)=)([^&\s"'#]{1,4000})""",
    rf"""(\b(?:proxy-)?authorization\\?["']?\s{{0,9}}[:=]\s{{0,9}})({_QUOTED}|(?:[a-z]{{1,20}}[ ]{{1,9}})?{_BARE})""",
    r"""(\b(?:set-)?cookie\\?["']?:[ ]{0,9})([^\n"'\\]{1,4000})""",
    r"(\bbearer[ ]{1,9})((?=[a-z.~+/=_-]{0,4000}\d)[\w.~+/=-]{8,4000})",
    # Options, as in a command line, or in a list of its words.
    rf"""((?<![\w-])--[\w-]{{0,40}}?(?:token|{_PASSWORD})(?:=|[ \t]{{1,9}}|["'],[ \t]{{0,9}}(?=["'])))({_QUOTED}|{_BARE})""",
    # Where a name is in quotes its value is, too, or it is a number: that is no secret, and would leave no JSON.
    rf"""({_PASSWORD}\\?["'][ \t]{{0,9}}:[ \t]{{0,9}})({_QUOTED})""",
    rf"""({_PASSWORD}[ \t]{{0,9}}[:=][ \t]{{0,9}})({_QUOTED}|{_BARE})""",
    # A model has tokens, too: only what is as long as a secret is one.
    r"""(token\\?["'][ \t]{0,9}:[ \t]{0,9})(\\?["'][\w.~+/=-]{8,4000}\\?["'])""",
    r"""(token[ \t]{0,9}[:=][ \t]{0,9})([\w.~+/=-]{8,4000}|\\?["'][\w.~+/=-]{8,4000}\\?["'])""",
    r"()((?<![\w-])(?:hf_\w{30,99}|gh[pousr]_\w{30,255}|github_pat_\w{30,255}|glpat-[\w-]{20,255}|npm_\w{30,99}"
    r"|pypi-AgE[\w-]{20,999}|sk-[\w-]{20,255}|xox[abeoprs]-[\w-]{10,255}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{35}"
    r"|eyJ[\w-]{10,4000}\.eyJ[\w-]{5,4000}\.[\w-]{5,4000})(?![\w-]))",
]
_COMPILED = [re.compile(pattern, re.IGNORECASE) for pattern in _PATTERNS]
# One of these is in all that a pattern finds: a line without any is passed over.
_MARKS = (
    *("://", "?", "&", "pass", "pwd", "secret", "credential", "key", "token", "authorization", "cookie", "bearer"),
    *("hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "npm_", "pypi-", "sk-", "xox", "akia", "asia"),
    *("aiza", "eyj"),
)
_KEY_BLOCK = re.compile(r"(-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----)(?:(?!-----)[\s\S]){1,20000}")


def redacted_command(words: Sequence[str]) -> str:
    """Return a command line without secrets. Each word is looked at before it is quoted: a shell's quotes would part a secret."""
    shown = []
    for before, word in zip(["", *words], words, strict=False):
        name, equals, _ = word.partition("=")
        plain = re.sub(r"""[\s"'\\]""", "_", word)
        if _is_of_secret(before, " "):
            shown.append(_HIDDEN)
        elif equals and _is_of_secret(name, "="):
            shown.append(f"{name}={_HIDDEN}")
        else:
            shown.append(shlex.quote(word if plain in (word, redact(plain)) else redact(plain)))
    return redact(" ".join(shown))


def _is_of_secret(option: str, separator: str) -> bool:
    asked = f"{option}{separator}x0x0x0x0x0"
    return option.startswith("--") and "=" not in option and redact(asked) != asked


def redact(text: str) -> str:
    """Return `text` without the user, password or token of any address in it, and without the values of what names a secret."""
    if "PRIVATE KEY-----" in text:
        text = _KEY_BLOCK.sub(rf"\1{_HIDDEN}", text)
    return "".join(map(_without_secrets, text.splitlines(keepends=True)))


def _without_secrets(line: str) -> str:
    small = line.lower()
    if not any(mark in small for mark in _MARKS):
        return line
    for pattern in _COMPILED:
        line = pattern.sub(_hide, line)
    return line


def _hide(found: re.Match[str]) -> str:
    """Return what stays of a match, with the value's quotes around what is shown in its place."""
    value = found[2]
    quotes = re.match(r"""\\?["']""", value)
    around = quotes.group() if quotes else ""
    return f"{found[1]}{around}{_HIDDEN}{around if value.endswith(around) else ''}"
