"""One context: where and how a recipe runs, apart from what it trains and from the seed.

A context has a short text form, `jax-jit-bf16-x2`, which names run directories, tables and reference rows, and from
which the context can be read back. Whether a framework can offer a context is its runner's to say, not decided here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from vigil.errors import UsageError, nearest
from vigil.frameworks import FRAMEWORKS as FRAMEWORKS

MODES = ("eager", "jit", "compile")
PRECISIONS = ("fp32", "bf16", "fp16", "tf32", "fp64")
DEVICES = ("cpu", "gpu")
DETERMINISM = ("off", "on")
RANDOMNESS = ("shared", "native")
# What frameworks call their kernels; `default` is what one chooses itself.
ATTENTION = ("default", "math", "flash", "efficient", "cudnn")


def _one_of(allowed: tuple[str, ...], *, usual: str | None = None) -> Any:
    facts = {"allowed": allowed}
    return dataclasses.field(metadata=facts) if usual is None else dataclasses.field(default=usual, metadata=facts)


@dataclass(frozen=True)
class Context:
    """Where and how: build it with `make_context`, which checks every field.

    Specs, options of the command line, tags and tables take their names, what is allowed and what is usual from these fields.
    """

    framework: str = _one_of(FRAMEWORKS)
    mode: str = _one_of(MODES, usual="jit")
    precision: str = _one_of(PRECISIONS, usual="fp32")
    device: str = _one_of(DEVICES, usual="cpu")
    devices: int = 1
    shards: tuple[int, ...] | None = None
    determinism: str = _one_of(DETERMINISM, usual="off")
    randomness: str = _one_of(RANDOMNESS, usual="shared")
    attention: str = _one_of(ATTENTION, usual="default")

    @property
    def text(self) -> str:
        """Return the short form: what is usual (CPU, even shards, determinism off, and so on) is left out."""
        parts = [self.framework, self.mode, self.precision]
        parts += ["gpu"] if self.device == "gpu" else []
        parts += [f"x{self.devices}"]
        parts += ["s" + "+".join(map(str, self.shards))] if self.shards else []
        parts += ["det"] if self.determinism == "on" else []
        parts += ["native"] if self.randomness == "native" else []
        parts += [self.attention] if self.attention != "default" else []
        return "-".join(parts)

    def __str__(self) -> str:
        return self.text

    @property
    def options(self) -> list[str]:
        """Return the command line's options for it; what is usual is left out, but the mode and the precision."""
        words = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value != field.default or field.name in ("mode", "precision"):
                shown = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
                words += [f"--{field.name}", shown]
        return words

    def shard_sizes(self, batch_size: int, *, rows: int = 1) -> tuple[int, ...]:
        """Return how many images of one training batch each device gets.

        Without shards the split is even: sizes differ by at most one part, the larger ones first.

        Args:
            rows: of a part that no two devices may share, where batch norm takes a batch in parts.

        Raises:
            UsageError: The shards do not sum to the batch, cut a part, or a device would get nothing.
        """
        if self.shards is None:
            return tuple(rows * parts for parts in _even_split(batch_size // rows, self.devices))
        if sum(self.shards) != batch_size:
            found = "+".join(map(str, self.shards))
            raise UsageError(
                f"shards: found {found} = {sum(self.shards)}. Allowed: {self.devices} sizes that sum to the recipe's "
                f"batch size, {batch_size}. The global batch is the recipe's, whatever the devices."
            )
        if any(size % rows for size in self.shards):
            found = "+".join(map(str, self.shards))
            raise UsageError(
                f"shards: found {found}. Allowed: multiples of {rows}, the rows that the recipe's batch norm takes at once."
            )
        return self.shards

    def evaluation_shards(self, n_images: int) -> tuple[int, ...]:
        """Return the even split of one evaluation batch: `shards` describe the training batch only."""
        return _even_split(n_images, self.devices)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields and the text form, as they stand in specs, records and reference rows."""
        fields = asdict(self)
        if self.attention == "default":  # which documents that are older do not have
            del fields["attention"]
        fields["shards"] = list(self.shards) if self.shards else None
        return {**fields, "text": self.text}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Context:
        """Return the context that `as_dict` wrote."""
        return make_context(**{key: value for key, value in fields.items() if key != "text"})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A document holds a context as itself, and in its file as `as_dict` has it."""

        def read(value: Any) -> Context:
            if isinstance(value, cls):
                return value
            if not isinstance(value, Mapping):
                raise ValueError("allowed is an object with the fields of a context")
            try:
                return cls.from_dict(value)
            except (UsageError, TypeError) as error:
                raise ValueError(str(error)) from None

        written = core_schema.plain_serializer_function_ser_schema(lambda context: context.as_dict(), when_used="json")
        return core_schema.no_info_plain_validator_function(read, serialization=written)


def make_context(**options: Any) -> Context:
    """Return the checked context; counts and shards may come as text from a command line, and what is left out is usual.

    Raises:
        UsageError: Which option, what was found, what is allowed and the nearest match.
        TypeError: An option that is no field of a context.
    """
    fields = {field.name: field for field in dataclasses.fields(Context)}
    if strange := sorted(options.keys() - fields.keys()):
        raise TypeError(f"{', '.join(strange)}: no field of a context")
    values = {name: options.get(name, None if name == "framework" else field.default) for name, field in fields.items()}
    words = {name: _choice(name, values[name], field.metadata["allowed"]) for name, field in fields.items() if field.metadata}
    devices = _count("devices", values["devices"])
    return Context(**words, devices=devices, shards=_shards(values["shards"], devices))


def parse_context(text: str) -> Context:
    """Return the context of a short form such as `torch-eager-fp32-gpu-x1-det`.

    Raises:
        UsageError: The text is not the short form of any context.
    """
    parts = text.split("-")
    if len(parts) < 4:
        raise _malformed(text)
    fields: dict[str, Any] = {"framework": parts[0], "mode": parts[1], "precision": parts[2]}
    rest = parts[3:]
    if rest[0] == "gpu":
        fields["device"] = rest.pop(0)
    if not rest or not rest[0].startswith("x"):
        raise _malformed(text)
    fields["devices"] = rest.pop(0)[1:]
    if rest and rest[0].startswith("s"):
        fields["shards"] = rest.pop(0)[1:].split("+")
    if rest and rest[0] == "det":
        fields["determinism"] = "on"
        rest.pop(0)
    if rest and rest[0] == "native":
        fields["randomness"] = rest.pop(0)
    if rest:
        fields["attention"] = rest.pop(0)
    context = make_context(**fields)
    if rest or context.text != text:
        raise _malformed(text)
    return context


def _malformed(text: str) -> UsageError:
    return UsageError(
        f"context: found {text!r}. Allowed: framework-mode-precision-xDEVICES, with -gpu before x and -sA+B, -det, "
        "-native and -ATTENTION after it, as in jax-jit-bf16-x2 or torch-eager-fp32-gpu-x1-det."
    )


def _choice(option: str, found: object, allowed: Iterable[str]) -> str:
    names = tuple(allowed)
    if found not in names:
        shown = "nothing" if found in (None, "") else repr(found)
        raise UsageError(f"{option}: found {shown}. Allowed: {', '.join(names)}.{nearest(found, names)}")
    return str(found)


def _count(option: str, found: object) -> int:
    """Return a whole number of 1 or more, from an int or plain decimal digits."""
    is_digits = isinstance(found, str) and found.isascii() and found.strip().isdigit() and len(found) < 10
    number = int(str(found)) if is_digits else found
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise UsageError(f"{option}: found {found!r}. Allowed: a whole number, 1 or more.")
    return number


def _shards(found: object, devices: int) -> tuple[int, ...] | None:
    if found is None or found == "":
        return None
    parts = found.split(",") if isinstance(found, str) else found
    if not isinstance(parts, Sequence):
        raise UsageError(f"shards: found {found!r}. Allowed: sizes separated by commas, as in 80,48.")
    sizes = tuple(_count("shards", part) for part in parts)
    if len(sizes) != devices:
        raise UsageError(
            f"shards: found {len(sizes)} sizes ({','.join(map(str, sizes))}). Allowed: one for each device, and there "
            f"{'is 1' if devices == 1 else f'are {devices}'}. Set devices to {len(sizes)}, or leave shards out for an "
            "even split."
        )
    return sizes


def _even_split(n_images: int, devices: int) -> tuple[int, ...]:
    if n_images < devices:
        raise UsageError(f"devices: found {devices}. Allowed: at most one for each image of a batch of {n_images}.")
    size, larger = divmod(n_images, devices)
    return (size + 1,) * larger + (size,) * (devices - larger)
