"""What a script of a user's step does with the functions of the file: a step, an evaluation or an update, as `vigil verify` does.

Each framework has a text that defines `in_precision` and `in_float64`: both give tensors by the names that a run has for them.
"""

from __future__ import annotations

from collections.abc import Collection

from runners.contract.steps.own import CAST, PREDICT, ROWS
from vigil.narrow.own_file import NAMED

STEPPED, EVALUATED, UPDATED = "stepped", "evaluated", "updated"

_TORCH = '''
import numpy as np
import torch

{named}

made = mapped(lambda leaf: leaf.detach().cpu().numpy() if torch.is_tensor(leaf) else leaf, batch({seed}))
{taken}

def begun(wide):
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(0)
    model = build()
    given = mapped(lambda leaf: torch.from_numpy(np.array(leaf)) if isinstance(leaf, np.ndarray) else leaf, made)
    if wide:
        torch.set_default_dtype(torch.float64)
        model = model.double()
        given = mapped(lambda leaf: leaf.double() if torch.is_tensor(leaf) and leaf.is_floating_point() else leaf, given)
    torch.manual_seed(0)
    return model, given


{minimised}


def numbers(leaf):
    return (leaf.detach().double() if leaf.is_floating_point() else leaf).numpy().copy()

{work}

def in_float64():
    found = carried_out(True)
    torch.set_default_dtype(torch.float32)
    return found


def in_precision():
    return carried_out(False)

'''
_AUTOCAST = 'with torch.autocast("cpu", dtype=torch.{half}, enabled=not wide):'
_TORCH_MINIMISED = {
    True: "def minimised(model, given, wide):\n    {autocast}\n        return loss(model, given)\n",
    False: "def minimised(model, given, wide):\n    return loss(model, given)\n",
}
_TORCH_PROGRAMS = {
    "eager": "def program_of(function, model, given):\n    return function(given)\n",
    "compile": '''
def program_of(function, model, given):
    from torch._inductor import config

    config.fallback_random = True  # what is drawn at random is drawn as in eager mode
    return torch.compile(function, dynamic=False)(given)
''',
    "jit": '''
def program_of(function, model, given):
    import warnings

    tensors = [leaf for _, leaf in named(given) if torch.is_tensor(leaf)]

    class Traced(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *some):
            rest = iter(some)
            return function(mapped(lambda leaf: next(rest) if torch.is_tensor(leaf) else leaf, given))

    before = [(each, each.detach().clone()) for each in (*model.parameters(), *model.buffers())]
    random, module = torch.get_rng_state(), Traced()
    module.train(model.training)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(module, tuple(tensors), check_trace=False)
    torch.set_rng_state(random)
    with torch.no_grad():
        for each, value in before:
            each.copy_(value)
    return traced(*tensors)
''',
}
_TORCH_WORK = {
    STEPPED: '''
{program}

def stepped(wide):
    model, given = begun(wide)
    model.train()
    function = lambda given: minimised(model, given, wide)
    value = function(given) if wide else program_of(function, model, given)
    (value.reshape(()){times}).backward()
    return model, value


def carried_out(wide):
    model, value = stepped(wide)
    found = {{"loss": numbers(value).reshape(())}}
    for name, each in model.named_parameters():
        found[f"gradients/{{name}}"] = np.zeros(tuple(each.shape)) if each.grad is None else numbers(each.grad){over}
    found.update({{f"stats/{{name}}": numbers(each) for name, each in model.named_buffers()}})
    return found
''',
    EVALUATED: '''
{program}

def evaluated(model, given, wide):
    {predicted}


def carried_out(wide):
    model, given = begun(wide)
    model.eval()
    with torch.no_grad():
        function = lambda given: evaluated(model, given, wide)
        value, *outputs = function(given) if wide else program_of(function, model, given)
    return {{"loss": numbers(value).reshape(()), **{{f"outputs/{{place}}": numbers(each) for place, each in enumerate(outputs)}}}}
''',
}
_TORCH_PREDICTED = {
    (True, True): '''value = minimised(model, given, wide)
    {autocast}
        return (value, *(leaf for _, leaf in named(predict(model, given)) if torch.is_tensor(leaf)))''',
    (True, False): '''value = minimised(model, given, wide)
    return (value, *(leaf for _, leaf in named(predict(model, given)) if torch.is_tensor(leaf)))''',
    (False, True): "return (minimised(model, given, wide),)",
    (False, False): "return (minimised(model, given, wide),)",
}
# What an optimizer makes, in the type of its parameters, of the gradients that the context computed.
_TORCH_WORK[UPDATED] = _TORCH_WORK[STEPPED].partition("\n\ndef carried_out")[0] + '''


def carried_out(wide):
    gradients = {{name: each.grad for name, each in stepped(False)[0].named_parameters()}}
    model, _ = begun(wide)
    rule = optimizer(model)
    for name, each in model.named_parameters():
        each.grad = None if gradients[name] is None else gradients[name].to(each.dtype){over}
    rule.step()
    found = {{f"params/{{name}}": numbers(each) for name, each in model.named_parameters()}}
    for name, each in model.named_parameters():
        slots = rule.state.get(each, {{}}).items()
        found.update({{f"optimizer/{{name}}/{{slot}}": numbers(value) for slot, value in slots if torch.is_tensor(value)}})
    return found
'''

_JAX = '''
import jax
import jax.numpy as jnp
import numpy as np
{nnx}
{named}

made = mapped(lambda leaf: np.asarray(jnp.asarray(leaf)) if isinstance(leaf, (np.ndarray, jax.Array)) else leaf, batch({seed}))
{taken}x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
key = jax.random.fold_in(jax.random.fold_in(jax.random.PRNGKey(0), 0), 0)


def is_floating(leaf):
    return isinstance(leaf, float) or (hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating))


def with_names(tree):
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        parts = [str(next((getattr(part, of) for of in ("key", "idx", "name") if hasattr(part, of)), part)) for part in path]
        yield "/".join(parts[:-1] if len(parts) > 1 and parts[-1] == "value" else parts), leaf

{parted}

def widened(leaf, wide):
    return jnp.asarray(leaf, jnp.float64) if wide and is_floating(leaf) else jnp.asarray(leaf)


def minimised(model_of, trained, rest, given, wide, training):
    {cast}
    value = loss(model, given{key})
    value = value[0] if isinstance(value, tuple) else value
    return value.reshape(()) if wide else value.reshape(()).astype(jnp.float32), model, given


def numbers(leaf):
    return np.asarray(leaf, np.float64)


def program_of(function, *given):
    return {program}


def begun(wide):
    with x64(False):  # which draws other numbers
        names, trained, rest_names, rest, model_of, left, tree_of = parted(build())
    given = mapped(lambda leaf: widened(leaf, wide) if isinstance(leaf, np.ndarray) else leaf, made)
    return names, [widened(leaf, wide) for leaf in trained], rest_names, rest, model_of, left, tree_of, given

{work}

def in_float64():
    with x64(True):
        return carried_out(True)


def in_precision():
    return carried_out(False)

'''
_JAX_PROGRAMS = {
    "eager": "function(*given)",
    "jit": "jax.jit(function)(*given)",
    "compile": "jax.jit(function).lower(*given).compile()(*given)",
}
_JAX_TREE = '''
def parted(model):  # names and numbers that are trained, the same of all else, a model of both, what is left in it, and a tree
    leaves, form = jax.tree_util.tree_flatten(model)
    every = [name for name, _ in with_names(model)]
    tops = [name.split("/")[0] for name in every]
    kinds = [is_floating(leaf) and (top == "params" or "params" not in tops) for leaf, top in zip(leaves, tops)]
    names = [name for name, kind in zip(every, kinds) if kind]

    def whole(some, rest, training):
        of_trained, of_rest = iter(some), iter(rest)
        return jax.tree_util.tree_unflatten(form, [next(of_trained) if kind else next(of_rest) for kind in kinds])

    trained, rest = ([leaf for leaf, kind in zip(leaves, kinds) if kind == wanted] for wanted in (True, False))
    tree_of = lambda some: whole(some, [None] * kinds.count(False), True)
    return names, trained, [], [jnp.asarray(leaf) for leaf in rest], whole, lambda model: [], tree_of
'''
_JAX_MODULE = '''
def parted(model):  # names and numbers that are trained, the same of all else, a model of both, what is left in it, and a tree
    if not isinstance(model, nnx.Module):
        return parted_tree(model)
    graphs = {}
    for training in (False, True):
        model.train() if training else model.eval()
        graphs[training], tree, rest = nnx.split(model, nnx.Param, ...)
    form, form_of_rest = jax.tree_util.tree_structure(tree), jax.tree_util.tree_structure(rest)
    named_rest = list(with_names(rest))
    tree_of = lambda some: jax.tree_util.tree_unflatten(form, some)
    whole = lambda some, rest, training: nnx.merge(
        graphs[training], tree_of(some), jax.tree_util.tree_unflatten(form_of_rest, rest)
    )

    def left(model):
        found = dict(with_names(nnx.split(model, nnx.Param, ...)[2]))
        return [found[name] for name, _ in named_rest]

    names, trained = zip(*with_names(tree))
    return names, trained, [name for name, _ in named_rest], [leaf for _, leaf in named_rest], whole, left, tree_of
'''
_JAX_CAST = {
    (False, False): "model, given = model_of(trained, rest, training), given",
    (True, False): "model = model_of(trained if wide else [leaf.astype(jnp.{half}) for leaf in trained], rest, training)\n"
    "    given = given if wide else mapped(lambda leaf: leaf.astype(jnp.{half}) if is_floating(leaf) else leaf, given)",
    (True, True): "model = model_of(trained, rest, training)\n"
    "    model = model if wide else cast(model, {precision!r}) or model\n"
    "    given = given if wide else mapped(lambda leaf: leaf.astype(jnp.{half}) if is_floating(leaf) else leaf, given)",
}
_JAX_STEPPED = '''def stepped(wide):
    names, trained, rest_names, rest, model_of, left, _, given = begun(wide)
    arrays = [leaf for _, leaf in named(given) if isinstance(leaf, jax.Array)]

    def step(trained, rest, arrays):
        others = iter(arrays)
        given_here = mapped(lambda leaf: next(others) if isinstance(leaf, jax.Array) else leaf, given)

        def scaled(trained):
            value, model, _ = minimised(model_of, trained, rest, given_here, wide, True)
            return value{times}, (value, left(model))

        gradients, kept = jax.grad(scaled, has_aux=True)(trained)
        return [each{over} for each in gradients], *kept

    return names, rest_names, *(step(trained, rest, arrays) if wide else program_of(step, trained, rest, arrays))

'''
_JAX_WORK = {
    STEPPED: _JAX_STEPPED + '''
def carried_out(wide):
    names, rest_names, gradients, value, rest = stepped(wide)
    found = {{"loss": numbers(value), **{{f"gradients/{{name}}": numbers(each) for name, each in zip(names, gradients)}}}}
    found.update({{f"stats/{{name}}": numbers(each) for name, each in zip(rest_names, rest) if is_floating(each)}})
    return found
''',
    UPDATED: _JAX_STEPPED + '''
def carried_out(wide):
    with x64(False):
        gradients = [np.asarray(each) for each in stepped(False)[2]]
    names, trained, _, rest, model_of, _, tree_of, _ = begun(wide)
    rule = optimizer(model_of(trained, rest, True))
    rule = getattr(rule, "tx", rule)

    def update(trained, gradients):
        changes, slots = rule.update(tree_of(gradients), rule.init(tree_of(trained)), tree_of(trained))
        return [leaf + each for leaf, each in zip(trained, jax.tree_util.tree_leaves(changes))], slots

    gradients = [widened(each, wide) for each in gradients]
    moved, slots = update(trained, gradients) if wide else program_of(update, trained, gradients)
    found = {{f"params/{{name}}": numbers(each) for name, each in zip(names, moved)}}
    found.update({{f"optimizer/{{name}}": numbers(each) for name, each in with_names(slots) if is_floating(each)}})
    return found
''',
    EVALUATED: '''
def carried_out(wide):
    _, trained, _, rest, model_of, _, _, given = begun(wide)
    arrays = [leaf for _, leaf in named(given) if isinstance(leaf, jax.Array)]

    def evaluated(trained, rest, arrays):
        others = iter(arrays)
        given_here = mapped(lambda leaf: next(others) if isinstance(leaf, jax.Array) else leaf, given)
        value, model, seen = minimised(model_of, trained, rest, given_here, wide, False)
        return value, {outputs}

    value, outputs = (evaluated if wide else lambda *some: program_of(evaluated, *some))(trained, rest, arrays)
    return {{"loss": numbers(value), **{{f"outputs/{{place}}": numbers(each) for place, each in enumerate(outputs)}}}}
''',
}

_TENSORFLOW = '''
import numpy as np
import tensorflow as tf

{named}

first = mapped(lambda leaf: leaf.numpy() if tf.is_tensor(leaf) else leaf, batch(0))
made = mapped(lambda leaf: leaf.numpy() if tf.is_tensor(leaf) else leaf, batch({seed}))
{taken}

def plain(variable):
    return variable if isinstance(variable, tf.Variable) else variable.value


def with_names(variables):
    seen = {{}}
    for each in variables:
        path = getattr(each, "path", each.name)
        name = path[:-2] if path.endswith(":0") else path
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{{name}}_{{seen[name]}}", each


def tensors_of(batch, wide):
    leaves = [tf.constant(leaf) for _, leaf in named(batch) if isinstance(leaf, np.ndarray)]
    return [tf.cast(leaf, tf.float64) if wide and leaf.dtype.is_floating else leaf for leaf in leaves]


def whole(batch, tensors):
    rest = iter(tensors)
    return mapped(lambda leaf: next(rest) if isinstance(leaf, np.ndarray) else leaf, batch)


def built(policy, wide):
    tf.keras.backend.clear_session()
    tf.keras.mixed_precision.set_global_policy(policy)
    tf.keras.utils.set_random_seed(0)
    model = build()
    if not getattr(model, "built", True) or not model.trainable_variables:
        loss(model, whole(first, tensors_of(first, wide)))
    return model


def begun(wide):
    model = built("{policy}", False)
    if wide:
        numbers_of = [plain(each).numpy() for each in model.variables]
        tf.keras.backend.set_floatx("float64")
        model = built("float64", True)
        for each, value in zip(model.variables, numbers_of):
            each.assign(value)
    tf.keras.utils.set_random_seed(0)
    return model


def numbers(leaf):
    if not isinstance(leaf, tf.IndexedSlices):
        return tf.cast(leaf, tf.float64).numpy()
    found = np.zeros(leaf.dense_shape, np.float64)
    np.add.at(found, leaf.indices.numpy(), tf.cast(leaf.values, tf.float64).numpy())
    return found


def program_of(function):
    return {program}


def minimised(model, given, training):
    return tf.reshape(loss(model, given{training}), ())

{work}

def in_float64():
    return carried_out(True)


def in_precision():
    return carried_out(False)

'''
_TENSORFLOW_PROGRAMS = {
    "eager": "function",
    "jit": "tf.function(function, autograph=False)",
    "compile": "tf.function(function, autograph=False, jit_compile=True)",
}
_TENSORFLOW_STEPPED = '''
def stepped(model, wide):
    trained = {{id(each) for each in model.trainable_variables}}
    variables = {{name: plain(each) for name, each in with_names(model.variables) if id(each) in trained}}

    def step(*tensors):
        with tf.GradientTape() as tape:
            value = minimised(model, whole(made, tensors), True)
            scaled = {scaled}
        gradients = tape.gradient(scaled, variables)
        return value, {{name: each for name, each in gradients.items() if each is not None}}

    return (step if wide else program_of(step))(*tensors_of(made, wide))

'''
_TENSORFLOW_WORK = {
    STEPPED: _TENSORFLOW_STEPPED + '''
def carried_out(wide):
    model = begun(wide)
    value, gradients = stepped(model, wide)
    found = {{f"stats/{{name}}": numbers(plain(each)) for name, each in with_names(model.variables)}}
    found.update({{f"gradients/{{name}}": numbers(each){over} for name, each in gradients.items()}})
    return {{"loss": numbers(value), **found}}
''',
    UPDATED: _TENSORFLOW_STEPPED + '''
def carried_out(wide):
    gradients = {{name: numbers(each){over} for name, each in stepped(begun(False), False)[1].items()}}
    model = begun(wide)
    trained = {{id(each) for each in model.trainable_variables}}
    variables = {{name: each for name, each in with_names(model.variables) if id(each) in trained}}
    rule = optimizer(model)
    rule.build(list(variables.values()))
    update = lambda: rule.apply_gradients([(tf.cast(gradients[name], each.dtype), each) for name, each in variables.items()
                                           if name in gradients])
    (update if wide else program_of(update))()
    slots = rule.variables() if callable(rule.variables) else rule.variables
    found = {{f"params/{{name}}": numbers(plain(each)) for name, each in variables.items()}}
    found.update({{f"optimizer/{{name}}": numbers(plain(each)) for name, each in with_names(slots)}})
    return found
''',
    EVALUATED: '''
def carried_out(wide):
    model = begun(wide)

    def evaluated(*tensors):
        given = whole(made, tensors)
        return {value}, {outputs}

    value, outputs = (evaluated if wide else program_of(evaluated))(*tensors_of(made, wide))
    return {{"loss": numbers(value), **{{f"outputs/{{place}}": numbers(each) for place, each in enumerate(outputs)}}}}
''',
}
_POLICIES = {"fp32": "float32", "bf16": "mixed_bfloat16", "fp16": "mixed_float16"}
_HALVES = {"bf16": "bfloat16", "fp16": "float16"}
_TO_NUMPY = {
    "torch": "lambda leaf: leaf.numpy() if torch.is_tensor(leaf) else leaf",
    "jax": "lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf",
    "tensorflow": "lambda leaf: leaf.numpy() if tf.is_tensor(leaf) else leaf",
}


def body_of(
    framework: str,
    mode: str,
    kind: str,
    *,
    precision: str,
    seed: int,
    scale: float,
    rows: str | None,
    takes: Collection[str],
    has: Collection[str],
    has_modules: bool,
) -> str:
    """Return the lines that carry a step, an evaluation or an update out.

    Args:
        seed: of the batch. scale: of the loss.
        rows: which of its rows, as a slice; None: all.
        takes: arguments of the loss. has: optional functions that the file defines.
        has_modules: may its model be a module of flax.nnx?
    """
    common = {"named": NAMED, "seed": seed, "taken": _taken(framework, rows, has_own=ROWS in has)}
    scaled = {"times": f" * {scale!r}", "over": f" / {scale!r}"} if scale != 1.0 else {"times": "", "over": ""}
    half = _HALVES.get(precision)
    if framework == "torch":
        autocast = _AUTOCAST.format(half=half)
        predicted = _TORCH_PREDICTED[PREDICT in has, half is not None].format(autocast=autocast)
        work = _TORCH_WORK[kind].format(program=_TORCH_PROGRAMS[mode].strip("\n") + "\n", predicted=predicted, **scaled)
        return _TORCH.format(**common, minimised=_TORCH_MINIMISED[half is not None].format(autocast=autocast), work=work)
    if framework == "jax":
        outputs = "jax.tree_util.tree_leaves(predict(model, seen))" if PREDICT in has else "[]"
        cast = _JAX_CAST[half is not None, half is not None and CAST in has].format(half=half, precision=precision)
        parted = _JAX_TREE
        if has_modules:
            parted = _JAX_TREE.replace("def parted(", "def parted_tree(") + "\n" + _JAX_MODULE
        return _JAX.format(
            **common, nnx="from flax import nnx\n" if has_modules else "", parted=parted, cast=cast,
            key=", key" if "key" in takes else "", program=_JAX_PROGRAMS[mode],
            work=_JAX_WORK[kind].format(outputs=outputs, **scaled),
        )  # fmt: skip
    outputs = "[leaf for _, leaf in named(predict(model, given)) if tf.is_tensor(leaf)]" if PREDICT in has else "[]"
    training = "training" in takes
    work = _TENSORFLOW_WORK[kind].format(
        scaled="value" if scale == 1.0 else f"tf.cast(value, tf.float32) * {scale!r}", outputs=outputs, **scaled,
        value="minimised(model, given, False)" if training else "tf.zeros(())",
    )  # fmt: skip
    return _TENSORFLOW.format(
        **common, policy=_POLICIES[precision], program=_TENSORFLOW_PROGRAMS[mode], training=", training" if training else "",
        work=work,
    )  # fmt: skip


def _taken(framework: str, rows: str | None, *, has_own: bool) -> str:
    """Return the line that takes rows of a batch, by the file's own function where it has one."""
    if rows is None:
        return ""
    if not has_own:
        return f"made = mapped(lambda leaf: leaf[{rows}] if isinstance(leaf, np.ndarray) else leaf, made)\n"
    count = "next(len(leaf) for _, leaf in named(made) if isinstance(leaf, np.ndarray))"
    return f"made = mapped({_TO_NUMPY[framework]}, take_rows(made, np.arange({count})[{rows}]))\n"
