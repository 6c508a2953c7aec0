"""From the origin of a verification to trials of an audit: the layer alone, at its own sizes, by the public calls that it makes.

The oracle says what each layer computes and on what shapes, so that nothing is read from how a layer is spelled. A layer that is
right when it is alone, or that no operator of the audit is, is told as that, with the reason.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from runners.contract.audit import frame
from vigil.audit.definitions import catalog
from vigil.audit.exact import Exact
from vigil.audit.judge import WRONG
from vigil.audit.limits import AuditLimits
from vigil.audit.plan import Trial
from vigil.audit.sweep import Row
from vigil.documents.context import Context
from vigil.documents.verification import Origin
from vigil.narrow.ask import Answered, Asker, focused
from vigil.narrow.smaller import MOST_LINES, SCRIPT, Narrowed, failing_of, narrow_finding
from vigil.steps.processes import Started, forked
from vigil.terminal import some_of
from vigil.verify.golden import Golden
from vigil.verify.oracle.outline import LayerForm, Outline

# Why an origin leads to no script.
WHOLE_MODEL = "the failure needs the whole model"
DEVICES = "the failure needs {count} devices: on one, the layer alone is right"
REPETITION = "the failure needs repetition: single calls are right"
RIGHT_ALONE = (
    "the layer alone is right, by each public call of its operator: the failure needs the whole model, or is the model's own code"
)
TOO_LONG = f"the layer alone is wrong, and no script of at most {MOST_LINES} lines shows it"
OTHERWISE = "the layer alone is wrong in another way than in the model"
RAISED = "the layer alone raises an error, as the model does not"
NO_OPERATOR = "no operator of the audit is this layer"
NO_CALL = "no public call of this framework is of this layer's operator"
ON_CPU = "audits run on the CPU: what a GPU alone computes wrongly is not seen there"
_PRECISIONS = ("fp32", "fp64", "bf16", "fp16")
_LIBRARIES = {"torch": ("torch.*",), "tensorflow": ("tensorflow.*", "keras.*"), "jax": ("jax.*", "flax.*", "optax.*")}
_MOST_TRIED = 3
_MOST_NAMED = 3
# As a slope may be read from a gradient of other numbers.
_SLOPE = 0.25


class Asked(NamedTuple):
    """What a layer is asked alone: a trial, and which of its outputs and gradients would be the origin's.

    usual: the public calls that runners make, the likeliest first.
    """

    trial: Trial
    quantities: tuple[str, ...]
    usual: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class NotNarrowed:
    """An origin that leads to no script, and why."""

    reason: str
    asked: int = 0


class _Form(NamedTuple):
    """An operator of the audit at a layer's sizes."""

    operator: str
    sizes: Mapping[str, int]
    parameters: Mapping[str, Any]
    quantities: tuple[str, ...]
    usual: tuple[str, ...]


def trials_of_origin(origin: Origin, context: Context, tape: Golden) -> list[Asked] | NotNarrowed:
    """Return what is asked of the layer of an origin, the likeliest first; or why nothing can be.

    Args:
        tape: the golden tape that the verification was held to.
    """
    case = origin.case
    kind = next((each.kind for each in tape.cases if each.name == case), "trajectory" if case.endswith("/trajectory") else "step")
    if kind in ("repeat", "trajectory"):
        return NotNarrowed(REPETITION)
    if context.device != "cpu":
        return NotNarrowed(ON_CPU)
    if context.precision not in _PRECISIONS:
        return NotNarrowed(f"{NO_OPERATOR} in {context.precision}")
    rows = next((each.rows for each in tape.cases if each.name == case), None)
    forms = list(_forms_of(origin, tape.outline, tape.training, rows=rows))
    if not forms:
        return NotNarrowed(WHOLE_MODEL if origin.layer == "model" else NO_OPERATOR)
    entries, found = catalog(), []
    for form in forms:
        entry = entries[form.operator]
        if context.precision in ("fp32", *entry.precisions):
            own = focused(entry, form.quantities)
            found.append(Asked(Trial(own, 0, form.sizes, form.parameters, context.precision), form.quantities, form.usual))
    return found or NotNarrowed(f"{NO_OPERATOR} in {context.precision}")


def narrow_origin(
    started: Started,
    directory: Path,
    origin: Origin,
    context: Context,
    tape: Golden,
    *,
    limits: AuditLimits,
    seed: int = 0,
    threads: int = 1,
    tell: Callable[[str], None] = lambda text: None,
) -> Narrowed | NotNarrowed:
    """Ask the layer of an origin alone, and make what is wrong of it a script in the directory."""
    asked = trials_of_origin(origin, context, tape)
    if isinstance(asked, NotNarrowed):
        return asked
    with forked(started) as hosted:
        return _narrowed(hosted, directory, asked, origin, context, limits=limits, seed=seed, threads=threads, tell=tell)


def _narrowed(
    started: Started, directory: Path, asked: Sequence[Asked], origin: Origin, context: Context, *, limits: AuditLimits,
    seed: int, threads: int, tell: Callable[[str], None],
) -> Narrowed | NotNarrowed:  # fmt: skip
    mode = _mode(context)
    asker = Asker(started=started, directory=directory / "layer", mode=mode, limits=limits, threads=threads, tell=tell)
    wrong: list[tuple[Asked, Row]] = []
    for tried in (asked, [each._replace(trial=quieter(each.trial)) for each in asked]):
        answers = asker.ask([(each.trial, seed) for each in tried], _LIBRARIES[context.framework])
        wrong = sorted(_wrong(tried, answers, origin), key=lambda pair: _rank(*pair))
        if wrong:
            break
    for place, (_, row) in enumerate(wrong[:_MOST_TRIED]):
        narrowed = narrow_finding(
            started, directory / f"call-{place + 1}", entry=row.trial.entry, way=row.way, mode=mode, trial=row.trial,
            quantity=row.quantity or "", limits=limits, seed=seed, threads=threads, tell=tell,
        )  # fmt: skip
        if narrowed:
            script = narrowed.script.replace(directory / SCRIPT)
            return dataclasses.replace(
                narrowed, script=script, asked=narrowed.asked + asker.asked, rounds=narrowed.rounds + asker.rounds
            )
    return NotNarrowed(_reason(answers, context, asker, is_wrong=bool(wrong)), asker.asked)


def quieter(trial: Trial) -> Trial:
    """Return a trial whose x is an eighth as large: beside a small variance, an epsilon counts for more."""
    entry = trial.entry
    if "x" not in entry.arguments:
        return trial
    own = entry.arguments["x"]

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        return own.draw(random, shape, sizes) / 8.0

    arguments = {**entry.arguments, "x": own._replace(draw=draw)}
    return trial._replace(entry=dataclasses.replace(entry, arguments=arguments))


def _mode(context: Context) -> str:
    """Return the mode that an audit has: PyTorch's traces take no function of any arguments."""
    return "eager" if context.framework == "torch" and context.mode == "jit" else context.mode


def _wrong(asked: Sequence[Asked], answers: Sequence[Answered], origin: Origin) -> Iterator[tuple[Asked, Row]]:
    by_id = {_key(each.trial): each for each in asked}
    for answered in answers:
        each = by_id[_key(answered.trial)]
        outputs = {row.way for row in answered.rows if row.kind == WRONG and (row.quantity or "").startswith("outputs/")}
        for row in answered.rows:
            if row.kind != WRONG or row.quantity not in each.quantities:
                continue
            is_gradient = row.quantity.startswith("gradients/")
            if is_gradient and (row.way in outputs or not _has_slope(row, answered.exact, origin)):
                continue  # another failure than that of the origin
            yield each, row


def _key(trial: Trial) -> str:
    return repr((trial.entry.name, sorted(trial.sizes.items()), sorted(trial.parameters.items())))


def _has_slope(row: Row, exact: Exact, origin: Origin) -> bool:
    """Is a gradient off by about as much as the origin's slope says, where that is one number?"""
    failing = failing_of(row, exact)
    if failing is None or failing.kind or not math.isfinite(origin.slope) or origin.slope == 1.0:
        return True
    return abs(failing.error) < _SLOPE or abs(origin.slope - 1.0) > _SLOPE


def _rank(asked: Asked, row: Row) -> tuple[int, int, float]:
    """Return where a wrong call stands: as runners call it first, then by name, then the smallest trial."""
    name = row.way
    place = asked.usual.index(name) if name in asked.usual else len(asked.usual)
    return place, row.trial.number, len(name)


def _reason(answers: Sequence[Answered], context: Context, asker: Asker, *, is_wrong: bool) -> str:
    if is_wrong:
        return TOO_LONG
    rows = [row for answered in answers for row in answered.rows]
    if asker.failure:
        return f"the process that asked the layer alone failed: {asker.failure.message}"
    if all(row.kind in (frame.ABSENT, frame.CANNOT) for row in rows):
        return NO_CALL
    wrong = sorted({f"{row.way}: {row.quantity}" for row in rows if row.kind == WRONG})
    if wrong:
        return f"{OTHERWISE} ({some_of(wrong, _MOST_NAMED)})"
    raised = sorted({f"{row.way}: {row.message}" for row in rows if row.kind == frame.RAISES})
    if raised:
        return f"{RAISED} ({some_of(raised, _MOST_NAMED)})"
    if context.devices > 1:
        return DEVICES.format(count=context.devices)
    return RIGHT_ALONE


def _forms_of(origin: Origin, outline: Outline, training: Mapping[str, Any], *, rows: int | None) -> Iterator[_Form]:
    """Yield the operators that an origin's layer is, at its sizes."""
    if origin.phase == "update":
        yield from _of_update(origin, training["optimizer"])
        return
    for layer in origin.layer.split(" or "):
        for form in outline.forms.get(layer.removeprefix("key."), ()):
            shape = form.shape if rows is None or form.kind == "half of squares" else _with_rows(form, rows)
            evaluates = origin.phase == "evaluation"
            for each in _LAYERS[form.kind](shape, form.facts, origin.quantity, evaluates):
                if each.quantities:
                    yield each


def _with_rows(form: LayerForm, rows: int) -> tuple[int, ...]:
    """Return the shape at another batch: the oracle says it of a margin batch, flattened where a layer takes rows alone."""
    first, *rest = form.shape
    return (first * rows // _MARGIN, *rest) if form.kind == "cross entropy" else (rows, *rest)


_MARGIN = 4  # images of the batch that outlines are made of
_Shape = tuple[int, ...]
_Facts = Mapping[str, Any]


def _gradient(quantity: str, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the outputs and gradients that an origin's quantity is."""
    found = names.get(quantity)
    return (found,) if found else ()


_OF_WEIGHTS = {
    "output": "outputs/0",
    "data gradient": "gradients/x",
    "weight gradient": "gradients/weight",
    "bias gradient": "gradients/bias",
}


def _convolution(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    *first, height, width, n_in = shape
    images, (kh, kw), stride = math.prod(first), facts["kernel"], facts["stride"]
    pairs = [list(pair) for pair in facts["padding"]]
    sizes = {"n": images, "c": n_in, "g": n_in, "o": facts["out"], "h": height, "w": width, "kh": kh, "kw": kw}
    parameters = {"strides": [stride, stride], "padding": pairs, "dilation": [1, 1]}
    quantities = _gradient(quantity, _OF_WEIGHTS)
    usual = ("torch.nn.Conv2d", "keras.layers.Conv2D", "flax.nnx.Conv", "torch.nn.functional.conv2d")
    yield _Form("convolution_2d", sizes, parameters, quantities, usual)
    if stride == 1 and pairs == [[(kh - 1) // 2] * 2, [(kw - 1) // 2] * 2] and (kh, kw) != (1, 1):
        yield _Form("convolution_2d", sizes, parameters | {"padding": "same"}, quantities, usual)
    if any(map(any, pairs)):
        # Keras takes no padding in numbers: its runner pads before.
        around = sizes | {"h": height + sum(pairs[0]), "w": width + sum(pairs[1])}
        yield _Form("convolution_2d", around, parameters | {"padding": [[0, 0], [0, 0]]}, quantities, usual)


def _transposed(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    *first, height, width, n_in = shape
    (kh, kw), stride = facts["kernel"], facts["stride"]
    sizes = {"n": math.prod(first), "c": n_in, "s": facts["out"], "o": facts["out"], "h": height, "w": width, "kh": kh, "kw": kw}
    usual = ("torch.nn.ConvTranspose2d", "keras.layers.Conv2DTranspose", "flax.nnx.ConvTranspose")
    for padding in ([[0, 0], [0, 0]], "valid"):
        parameters = {"strides": [stride, stride], "padding": padding, "dilation": [1, 1]}
        yield _Form("convolution_2d_transposed", sizes, parameters, _gradient(quantity, _OF_WEIGHTS), usual)


_OF_NORM = {
    "output": "outputs/0",
    "data gradient": "gradients/x",
    "scale gradient": "gradients/scale",
    "bias gradient": "gradients/bias",
}
_RUNNING = {"running mean": "outputs/0", "running variance": "outputs/1"}


def _batch_norm(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    batch, *space, channels = shape
    sizes = {"m": facts["rows"] or batch, "c": channels, "l": math.prod(space)}
    usual = ("torch.nn.BatchNorm2d", "keras.layers.BatchNormalization", "flax.nnx.BatchNorm")
    if evaluates:
        of_evaluation = (*usual, "keras.layers.BatchNormalization (evaluation)", "flax.nnx.BatchNorm (evaluation)")
        yield _Form("batch_norm_in_evaluation", sizes, {"epsilon": facts["epsilon"]}, ("outputs/0",), of_evaluation)
        return
    if quantity in _RUNNING:
        running = ("torch.nn.BatchNorm2d", "keras.layers.BatchNormalization (running)", "flax.nnx.BatchNorm (running)")
        for operator in ("batch_norm_running_unbiased", "batch_norm_running_biased"):
            yield _Form(operator, sizes, {"share": facts["share"]}, _gradient(quantity, _RUNNING), running)
        return
    yield _Form("batch_norm_in_training", sizes, {"epsilon": facts["epsilon"]}, _gradient(quantity, _OF_NORM), usual)


def _masked_batch_norm(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    batch, regions, *space, channels = shape
    sizes = {"m": batch * regions, "c": channels, "l": math.prod(space)}
    if quantity in _RUNNING:
        usual = ("keras.layers.BatchNormalization (mask, running)", "flax.nnx.BatchNorm (mask, running)")
        yield _Form("masked_batch_norm_running", sizes, {"share": facts["share"]}, _gradient(quantity, _RUNNING), usual)
    else:
        usual = ("keras.layers.BatchNormalization (mask)", "flax.nnx.BatchNorm (mask)")
        yield _Form("masked_batch_norm", sizes, {"epsilon": facts["epsilon"]}, _gradient(quantity, _OF_NORM), usual)


def _of_elements(operator: str, *usual: str, **parameters: Any) -> Callable[..., Iterator[_Form]]:
    def forms(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
        quantities = _gradient(quantity, {"output": "outputs/0", "data gradient": "gradients/x"})
        yield _Form(operator, {"n": math.prod(shape)}, parameters, quantities, usual)

    return forms


def _layer_norm(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    sizes = {"m": math.prod(shape[:-1]), "n": shape[-1]}
    usual = ("torch.nn.LayerNorm", "keras.layers.LayerNormalization", "flax.nnx.LayerNorm")
    yield _Form("layer_norm", sizes, {"epsilon": facts["epsilon"]}, _gradient(quantity, _OF_NORM), usual)


_LINEAR = ("torch.nn.Linear", "keras.layers.Dense", "flax.nnx.Linear")


def _dense(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    rows = math.prod(shape[:-1])
    sizes = {"b": 1, "m": rows, "k": shape[-1], "n": facts["out"]}
    yield _Form("linear", sizes, {}, _gradient(quantity, _OF_WEIGHTS), _LINEAR)
    if quantity != "bias gradient":
        yield from _linear(shape, facts, quantity, evaluates)


def _linear(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    sizes = {"m": math.prod(shape[:-1]), "k": shape[-1], "n": facts["out"]}
    yield _Form("linear_without_bias", sizes, {}, _gradient(quantity, _OF_WEIGHTS), _LINEAR)


def _embedding(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    sizes = {"n": facts["rows"], "k": facts["width"], "m": shape[0], "l": shape[1]}
    usual = ("torch.nn.Embedding", "keras.layers.Embedding", "flax.nnx.Embed")
    quantities = _gradient(quantity, {"output": "outputs/0", "embedding gradient": "gradients/w"})
    yield _Form("embedding", sizes, {}, quantities, usual)


def _attend(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    rows, width = math.prod(shape[:-1]), shape[-1]
    of_rows = _gradient(quantity, {"output": "outputs/0", "data gradient": "gradients/x", "embedding gradient": "gradients/w"})
    yield _Form("attend", {"n": facts["out"], "k": width, "m": rows, "l": 1}, {}, of_rows, ("flax.nnx.Embed (attend)",))
    of_weights = _gradient(quantity, _OF_WEIGHTS | {"embedding gradient": "gradients/weight"})
    sizes = {"m": rows, "k": width, "n": facts["out"]}
    yield _Form("linear_without_bias", sizes, {}, of_weights, ("torch.nn.functional.linear", "tensorflow.matmul"))


def _attention(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    batch, block, wide = shape
    heads = facts["heads"]
    sizes = {"b": batch, "s": block, "t": block, "h": heads, "d": wide // 3 // heads, "e": wide // 3 // heads}
    names = {"output": ("outputs/0",), "data gradient": ("gradients/q", "gradients/k", "gradients/v")}
    usual = (
        "torch.nn.functional.scaled_dot_product_attention", "keras.ops.dot_product_attention", "jax.nn.dot_product_attention",
    )  # fmt: skip
    yield _Form("attention_causal", sizes, {"scale": None}, names.get(quantity, ()), usual)


def _mean_pool(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    batch, height, width, channels = shape
    sizes = {"n": batch, "c": channels, "h": height, "w": width}
    quantities = _gradient(quantity, {"output": "outputs/0", "data gradient": "gradients/x"})
    yield _Form("global_average_pool_2d", sizes, {}, quantities, ("tensorflow.math.reduce_mean", "jax.numpy.mean"))


def _cross_entropy(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    sizes = {"m": shape[0], "n": shape[-1]}
    quantities = _gradient(quantity, {"loss": "outputs/0", "output": "outputs/0", "data gradient": "gradients/x"})
    usual = (
        "torch.nn.functional.cross_entropy (labels alone)", "torch.nn.functional.cross_entropy",
        "tensorflow.nn.sparse_softmax_cross_entropy_with_logits", "optax.losses.softmax_cross_entropy_with_integer_labels",
    )  # fmt: skip
    yield _Form("sparse_softmax_cross_entropy", sizes, {}, quantities, usual)
    options = {"reduction": "mean", "ignore_index": -100, "label_smoothing": 0.0}
    yield _Form("cross_entropy", sizes, options, quantities, usual)


def _half_of_squares(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    names = {"output": "outputs/0", "weight gradient": "gradients/x", "data gradient": "gradients/x"}
    yield _Form("half_sum_of_squares", {"m": shape[0], "n": shape[1]}, {}, _gradient(quantity, names), ("tensorflow.nn.l2_loss",))
    yield _Form("square", {"n": math.prod(shape)}, {}, _gradient(quantity, names), ("torch.Tensor.square",))


def _unit_rows(shape: _Shape, facts: _Facts, quantity: str, evaluates: bool) -> Iterator[_Form]:
    quantities = _gradient(quantity, {"output": "outputs/0", "data gradient": "gradients/x"})
    usual = ("torch.nn.functional.normalize", "tensorflow.math.l2_normalize")
    yield _Form("l2_normalize", {"m": shape[0], "n": shape[1]}, {"axis": -1}, quantities, usual)


_LAYERS: dict[str, Callable[[_Shape, _Facts, str, bool], Iterator[_Form]]] = {
    "convolution": _convolution,
    "transposed convolution": _transposed,
    "batch norm": _batch_norm,
    "masked batch norm": _masked_batch_norm,
    "relu": _of_elements("relu", "torch.nn.functional.relu", "tensorflow.nn.relu", "flax.nnx.relu"),
    "gelu": _of_elements("gelu", "torch.nn.functional.gelu", "tensorflow.nn.gelu", "flax.nnx.gelu", approximate=False),
    "layer norm": _layer_norm,
    "dense": _dense,
    "linear": _linear,
    "embedding": _embedding,
    "attend": _attend,
    "causal attention": _attention,
    "mean pool": _mean_pool,
    "cross entropy": _cross_entropy,
    "half of squares": _half_of_squares,
    "unit rows": _unit_rows,
}

_STEPS = ("outputs/0", "outputs/1", "outputs/2")
_WEIGHTS = 33  # that a step moves: more than a vector has, and none that one divides


def _of_update(origin: Origin, rule: Mapping[str, Any]) -> Iterator[_Form]:
    """Yield the optimizer's rule, and what comes before it where the origin is of that."""
    sizes = {"n": _WEIGHTS}
    if origin.quantity == "clipping" and rule.get("clipping"):
        clipping = rule["clipping"]
        parameters = {"limit": clipping["threshold"], "order": 2.0, "epsilon": clipping["epsilon"]}
        usual = ("torch.nn.utils.clip_grad_norm_ (foreach)", "tensorflow.clip_by_global_norm", "optax.clip_by_global_norm")
        yield _Form("clipped_by_global_norm", {"m": _WEIGHTS, "n": 7}, parameters, _STEPS, usual)
        yield _Form("clipped_by_global_norm", {"m": _WEIGHTS, "n": 7}, parameters | {"epsilon": 0.0}, _STEPS, usual)
        return
    rate, decays = 0.0078125, _decays(origin, rule)
    if rule["name"] == "sgd":
        named = {name: rule.get(name, usual) for name, usual in (("momentum", 0.0), ("dampening", 0.0), ("nesterov", False))}
        for decay in decays:
            of_sgd = {"rate": rate, **named, "weight_decay": decay, "maximize": False}
            yield _Form("sgd", sizes, of_sgd, _STEPS, ("torch.optim.SGD (foreach)", "keras.optimizers.SGD", "optax.sgd"))
    if rule["name"] == "adamw":
        for decay in decays:
            shared = {"rate": rate, "betas": [rule["beta_1"], rule["beta_2"]], "epsilon": rule["epsilon"], "weight_decay": decay}
            of_adam = {**shared, "epsilon_root": 0.0, "decoupled": True, "nesterov": False, "maximize": False}
            yield _Form("adam", sizes, of_adam, _STEPS, ("torch.optim.AdamW (foreach)", "optax.adamw"))
            of_keras = {**shared, "amsgrad": False}
            yield _Form("adam_epsilon_hat", sizes, of_keras, _STEPS, ("keras.optimizers.AdamW",))


def _decays(origin: Origin, rule: Mapping[str, Any]) -> tuple[float, ...]:
    """Return weight decays to ask with: as large as audits try it, for the recipe's own is lost in rounding, and none."""
    some = (0.125,) if rule.get("weight_decay") else ()
    return some if some and origin.quantity == "weight decay" else (0.0, *some)
