"""The training loop in JAX. Twins: runners/torch/train.py, runners/tensorflow/train.py."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import flax
import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
import optax
from flax import nnx

from runners.contract.data.batches import Labels
from runners.contract.kinds.detections import Detections
from runners.contract.kinds.parameters import bound
from runners.contract.kinds.table import KINDS, kind_of
from runners.contract.kinds.weights import deviation, state_names
from runners.contract.layouts import canonical_axes, native_axes
from runners.contract.optimizers import COUNTER
from runners.contract.protocol import faults
from runners.contract.protocol.checkpoint import State, require_same_names
from runners.contract.protocol.replaying import replay
from runners.contract.protocol.session import Session
from runners.jax import attention, determinism, devices, modes, precision
from runners.jax.models import char_gpt, digits_mlp, moco_lite, resnet_cifar, tiny_mask_rcnn
from runners.jax.optimizers import OPTIMIZERS

MODELS = {
    "resnet_cifar": resnet_cifar,
    "moco_lite": moco_lite,
    "tiny_mask_rcnn": tiny_mask_rcnn,
    "digits_mlp": digits_mlp,
    "char_gpt": char_gpt,
}
_LAYERS = (nnx.Conv, nnx.ConvTranspose, nnx.Linear, nnx.BatchNorm, nnx.LayerNorm, nnx.Embed)


def train(session: Session) -> None:
    """Train the session's run from its checkpoint, or from the start, to its last step."""
    spec = session.spec
    mesh = set_up(session)
    batches = session.load_batches(native_order(spec) if spec.randomness == "native" else None)
    session.enter("build")
    trainer = Trainer(spec, mesh=mesh)
    state, step = session.starting_state()
    if state is not None:
        trainer.set_state(state)
    trainer.prepare(example=batches.train(step))
    if spec.mode == "compile":  # DIFFERS(jax): XLA tells what memory its programs take before they run
        session.report_programs(trainer.program_bytes())
    if spec.task == "replay":
        replay(session, trainer, batches)
        return
    for images, labels, learning_rate in session.training_batches():
        session.stepped(trainer.train_step(images, labels, learning_rate))
        if session.evaluation_is_due():
            session.begin_evaluation()
            session.evaluated(trainer.evaluate(batches))
            session.end_evaluation()
        if session.checkpoint_is_due():
            session.save_checkpoint(trainer.get_state())
    session.finish(trainer.get_state())


def set_up(session: Session) -> jax.sharding.Mesh:
    """Prepare the process for the run's context; return its devices."""
    spec = session.spec
    session.enter("set_up")
    # Before the fault, which may start the backend: what these set is read when it starts, and never again.
    devices.set_up(spec)
    modes.keep_compiled(spec)
    determinism.set_up(spec.determinism, device=spec.device)
    precision.set_up(spec.precision, device=spec.device)
    attention.set_up(spec.attention, device=spec.device, precision=spec.precision)
    if spec.fault:
        faults.install(spec.fault, "jax")
    mesh = devices.mesh(spec)
    session.report_environment(environment())
    return mesh


class TrainState(NamedTuple):
    """All that a step changes, as arrays: what jax.jit takes and gives back."""

    params: nnx.State
    statistics: nnx.State
    optimizer: Any
    scaler: precision.Scaler | None


class Trainer:
    """The model, its optimizer, and one step of each kind, in one context."""

    def __init__(self, spec, *, mesh: jax.sharding.Mesh) -> None:
        self.spec, self.mesh = spec, mesh
        training = spec.training
        self.kind = kind_of(training)
        self.wide = precision.dtype_of_parameters(spec.precision)
        self.architecture = MODELS[training["model"]["name"]]
        numerics = {"dtype": precision.dtype_of_layers(spec.precision), "param_dtype": self.wide, "rngs": nnx.Rngs(spec.seed)}
        model = self.architecture.build(training["model"], shards=spec.shards, numerics=numerics)
        if spec.randomness == "native":
            initialise(model, training["model"], seed=spec.seed)
        parameters = self.kind.tabulate(training["model"]).parameters
        trained = {native for name, native, _ in self._rows() if name in parameters}
        self.is_trained = lambda path, value: ".".join(map(str, path)) in trained
        self.model, params, statistics = nnx.split(model, self.is_trained, ...)
        self.optimizer = OPTIMIZERS[training["optimizer"]["name"]](training["optimizer"])
        optimizer = self.optimizer.transformation(0.0).init(params)
        state = TrainState(params, statistics, optimizer, precision.gradient_scaler(spec.precision))
        self.state = jax.device_put(state, devices.replicated(mesh))
        self.valid = devices.valid_rows(spec.shards, mesh=mesh)
        self.is_synchronised = spec.devices == 1 or self.kind.across_devices(training["model"]) != "per_device"

    def prepare(self, *, example: tuple[np.ndarray, Labels]) -> None:
        """Make the two steps of this context's mode."""
        self.step = self._program(self._train, self.state, *self._train_batch(*example, 0.0), donate=(0,))
        images = self.kind.blank(self.spec.training["model"], sum(self.spec.evaluation_shards))
        arguments = self.state.params, self.state.statistics, self._evaluation_images(images)
        self.evaluation = self._program(self._evaluate, *arguments)

    def program_bytes(self) -> int | None:
        """Return the memory that the two compiled programs take, on all devices; None where that cannot be told."""
        sizes = [modes.bytes_of(program) for program in (self.step, self.evaluation)]
        return None if None in sizes else self.spec.devices * sum(sizes)

    def train_step(self, images: np.ndarray, labels: Labels, learning_rate: float) -> jax.Array:
        """Take one step on a global batch; return the loss, a scalar."""
        self.state, loss = self.step(self.state, *self._train_batch(images, labels, learning_rate))
        return loss

    def differentiate(self, state: TrainState, images, labels):
        """Return the gradient, the loss and the new running statistics of a batch: a pure function, for jax.jit."""

        def scaled_loss(params):
            loss, statistics = self._loss_of(params, state.statistics, images, labels)
            return loss if state.scaler is None else loss * state.scaler.scale, (loss, statistics)

        gradients, (loss, statistics) = jax.grad(scaled_loss, has_aux=True)(state.params)
        if state.scaler is not None:
            gradients = jax.tree_util.tree_map(lambda gradient: gradient / state.scaler.scale, gradients)
        return gradients, loss, statistics

    def update(self, state: TrainState, gradients, statistics, learning_rate) -> TrainState:
        """Return the state with parameters moved by a gradient, and these statistics: a pure function, for jax.jit."""
        shorter = self.optimizer.clip(gradients)
        updates, optimizer = self.optimizer.transformation(learning_rate).update(shorter, state.optimizer, state.params)
        params, scaler = optax.apply_updates(state.params, updates), None
        if state.scaler is not None:
            finite = precision.all_finite(gradients)
            params, optimizer = jax.tree_util.tree_map(
                lambda new, old: jnp.where(finite, new, old), (params, optimizer), (state.params, state.optimizer)
            )
            scaler = precision.update_scaler(state.scaler, finite)
        return TrainState(params, statistics, optimizer, scaler)

    def predict(self, images: np.ndarray) -> np.ndarray:
        """Return the logits, features or detections of a global evaluation batch, [batch, ...], in evaluation mode."""
        # Fetched at once: programs that do not wait for each other's results can hang over their all-reduces.
        logits = self.evaluation(self.state.params, self.state.statistics, self._evaluation_images(images))
        return devices.collect(logits, self.spec.evaluation_shards)

    def evaluate(self, batches) -> dict[str, float] | Detections:
        """Return the metrics of the test images, or what was found in them."""
        return self.kind.evaluate(self.predict, batches, self.spec.training)

    def get_state(self) -> State:
        """Return the whole training state under canonical names and layouts."""
        trees = {"params": self.state.params, **self.optimizer.get_slots(self.state.optimizer), "stats": self.state.statistics}
        groups = {group: by_name(tree) for group, tree in trees.items()}
        state: State = {}
        for name, native, layout in self._rows():
            own = {group: arrays[native] for group, arrays in groups.items() if native in arrays}
            state |= {f"{group}/{name}": to_canonical(array, layout) for group, array in own.items()}
        if (steps := self.optimizer.get_steps(self.state.optimizer)) is not None:
            state[COUNTER] = np.int64(steps)
        if self.state.scaler is not None:
            state["scaler/scale"] = np.float64(self.state.scaler.scale)
            state["scaler/good_steps"] = np.int64(self.state.scaler.good_steps)
        return state

    def set_state(self, state: State) -> None:
        """Load a state made by any framework's `get_state`."""
        state = dict(state)
        scale, good_steps = state.pop("scaler/scale", None), state.pop("scaler/good_steps", None)
        scaler = self.state.scaler
        if scaler is not None and scale is not None:
            scaler = precision.Scaler(jnp.float32(scale), jnp.int32(good_steps))
        require_same_names(state, state_names(self.spec.training))
        self.set_weights(state)
        trees = self.optimizer.get_slots(self.state.optimizer)
        slots = {slot: self._loaded(tree, slot, state) for slot, tree in trees.items()}
        optimizer = self.optimizer.set_slots(self.state.optimizer, slots)
        if COUNTER in state:
            optimizer = self.optimizer.set_steps(optimizer, int(state[COUNTER]))
        loaded = self.state._replace(optimizer=optimizer, scaler=scaler)
        self.state = jax.device_put(loaded, devices.replicated(self.mesh))

    def set_weights(self, state: State) -> None:
        """Load the parameters and statistics of a state, and leave optimizer and loss scaler as they are."""
        params, statistics = self._loaded(self.state.params, "params", state), self._loaded(self.state.statistics, "stats", state)
        loaded = self.state._replace(params=params, statistics=statistics)
        self.state = jax.device_put(loaded, devices.replicated(self.mesh))

    def _loaded(self, tree, group: str, state: State):
        """Return the tree with the arrays of a group of a state in the place of its own."""
        rows = [(f"{group}/{name}", native, layout) for name, native, layout in self._rows()]
        arrays = {native: _to_native(state[name], layout) for name, native, layout in rows if name in state}
        return _with_names(tree, arrays, dtype=self.wide)

    def _rows(self):
        return self.architecture.native_names(self.spec.training["model"])

    def _train_batch(self, images, labels, learning_rate):
        images, labels = jax.tree_util.tree_map(
            lambda array: devices.spread(array, self.spec.shards, mesh=self.mesh), (self._wide_images(images), labels)
        )
        return images, labels, np.asarray(learning_rate, self.wide)

    def _evaluation_images(self, images):
        return devices.spread(self._wide_images(images), self.spec.evaluation_shards, mesh=self.mesh)

    def _wide_images(self, images: np.ndarray) -> np.ndarray:
        # Tokens, which index an embedding, stay integers.
        return images.astype(self.wide, copy=False) if images.dtype.kind == "f" else images

    def _program(self, function, *arguments, donate: tuple[int, ...] = ()):
        """Return the function as a program of this context's mode."""
        if self.spec.mode == "eager":
            return function
        program = modes.jit(function, donate=donate, sharding=devices.replicated(self.mesh))
        return modes.compile_ahead(program, *arguments) if self.spec.mode == "compile" else program

    def _train(self, state: TrainState, images, labels, learning_rate):
        """Return the state after a step, and the loss before it: a pure function, for jax.jit."""
        gradients, loss, statistics = self.differentiate(state, images, labels)
        return self.update(state, gradients, statistics, learning_rate), loss

    def _loss_of(self, params, statistics, images, labels):
        """Return the loss and the new running statistics of a batch: a pure function, for jax.jit."""
        arguments, classes = self.architecture.arguments(images, labels)
        outputs, statistics = self._forward(params, statistics, arguments)
        return self._loss(outputs, classes), statistics

    def _loss(self, outputs, expected):
        return self.architecture.objective(outputs.astype(self.wide), expected).mean(where=self.valid)

    def _forward(self, params, statistics, arguments, tap=resnet_cifar.untapped):
        """Return logits or losses, and what the forward pass has moved."""

        def forward(params, statistics, arguments, mask):
            # A copy of the statistics: flax lets variables be changed only in the trace that made them.
            model = nnx.merge(self.model, params, jax.tree_util.tree_map(lambda x: x, statistics))
            model.train()
            return model(*arguments, tap, mask), nnx.state(model, nnx.Not(self.is_trained))

        if self.is_synchronised:
            return forward(params, statistics, arguments, self.valid)
        # Each device's rows make a batch of their own; the running statistics are the mean over devices.
        n = self.spec.devices
        arguments, mask = jax.tree_util.tree_map(lambda x: x.reshape(n, -1, *x.shape[1:]), (arguments, self.valid))
        logits, statistics = jax.vmap(forward, in_axes=(None, None, 0, 0))(params, statistics, arguments, mask)
        return logits.reshape(-1, logits.shape[-1]), jax.tree_util.tree_map(lambda x: x.mean(axis=0), statistics)

    def _evaluate(self, params, statistics, images):
        """Return logits, features or detections, in evaluation mode: a pure function, for jax.jit."""
        model = self.architecture.evaluated(nnx.merge(self.model, params, statistics))
        model.eval()
        return model(images).astype(self.wide)


def initialise(model: nnx.Module, rules: dict, *, seed: int) -> None:
    """Draw the initial weights by jax.nn.initializers, after the recipe's `init`."""
    rngs = nnx.Rngs(seed)
    names = {native: name for name, native, _ in MODELS[rules["name"]].native_names(rules)}
    kind = KINDS[rules["name"]]
    table = kind.tabulate(rules)

    def draw(name: str, parameter):
        drawn = table.drawn_as(name)
        rule = rules["init"][drawn.init]
        if rule["distribution"] == "constant":
            return nnx.Param(jnp.full(parameter.shape, rule["value"], parameter.dtype))
        if rule["distribution"] == "uniform":
            # DIFFERS(jax): its initializer draws from 0 on.
            uniform = jax.nn.initializers.uniform(2.0 * bound(rule, drawn))
            return nnx.Param(uniform(rngs.params(), parameter.shape, parameter.dtype) - bound(rule, drawn))
        normal = jax.nn.initializers.normal(deviation(rule, drawn.shape))
        return nnx.Param(rule["mean"] + normal(rngs.params(), parameter.shape, parameter.dtype))

    for path, module in nnx.iter_graph(model):
        for part in ("kernel", "bias", "scale", "embedding") if isinstance(module, _LAYERS) else ():
            if getattr(module, part, None) is not None:
                setattr(module, part, draw(names[".".join(map(str, (*path, part)))], getattr(module, part)))
    if kind.begins_itself:
        model.begin(rngs)


def native_order(spec):
    """Return epoch -> order, from jax.random.permutation."""

    def order(epoch: int) -> np.ndarray:
        key = jax.random.fold_in(jax.random.key(spec.seed), epoch)
        return np.asarray(jax.random.permutation(key, spec.training["data"]["n_train"]))

    return order


def environment() -> dict:
    """Return what only this process can see of its framework."""
    gpu = {"gpu": jax.devices()[0].device_kind} if jax.default_backend() == "gpu" else {}
    return gpu | {
        "framework_version": jax.__version__,
        "framework_path": os.path.dirname(jax.__file__),
        "numpy": np.__version__,
        "jaxlib": jaxlib.__version__,
        "flax": flax.__version__,
        "optax": optax.__version__,
        "backend": jax.default_backend(),
        "backend_version": jax.devices()[0].client.platform_version,
        "device_kinds": sorted({device.device_kind for device in jax.devices()}),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }


def by_name(tree) -> dict[str, jax.Array]:
    return {_name(path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]}


def _with_names(tree, arrays: dict[str, np.ndarray], *, dtype):
    """Return the tree with other leaves. They are copied: the memory is given to the first step."""
    return jax.tree_util.tree_map_with_path(lambda path, _: np.array(arrays[_name(path)], dtype), tree)


def _name(path) -> str:
    """Return `blocks.0.conv1.kernel` of a path in an nnx.State, which ends in the variable's `value`."""
    return ".".join(str(key.key) for key in path if isinstance(key, jax.tree_util.DictKey))


def to_canonical(array: jax.Array, layout: str) -> np.ndarray:
    # A copy: what numpy sees of an array on the CPU is the memory that the next step is given.
    return np.array(np.asarray(array).transpose(canonical_axes(layout)), order="C")


def _to_native(array: np.ndarray, layout: str) -> np.ndarray:
    return np.array(array.transpose(native_axes(layout)), order="C")
