"""The training loop in TensorFlow. Twins: runners/torch/train.py, runners/jax/train.py."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator

import numpy as np
import tensorflow as tf
from tensorflow import keras

from runners.contract.data.batches import Labels
from runners.contract.errors import Unsupported
from runners.contract.kinds.detections import Detections
from runners.contract.kinds.parameters import ParameterRow, bound
from runners.contract.kinds.table import KINDS, kind_of
from runners.contract.kinds.weights import deviation, state_names
from runners.contract.layouts import canonical_axes, native_axes
from runners.contract.optimizers import COUNTER, optimizer_of
from runners.contract.protocol import faults
from runners.contract.protocol.checkpoint import State, require_same_names
from runners.contract.protocol.replaying import replay
from runners.contract.protocol.session import Session
from runners.tensorflow import attention, determinism, devices, modes, precision
from runners.tensorflow.models import char_gpt, digits_mlp, moco_lite, resnet_cifar, tiny_mask_rcnn
from runners.tensorflow.optimizers import OPTIMIZERS

MODELS = {
    "resnet_cifar": resnet_cifar,
    "moco_lite": moco_lite,
    "tiny_mask_rcnn": tiny_mask_rcnn,
    "digits_mlp": digits_mlp,
    "char_gpt": char_gpt,
}
# What a forward pass sums over devices.
_SUMS = {
    "sync": "synchronised batch norm sums over devices in every layer",
    "parts": "the keys of all devices are joined by a sum",
}


def train(session: Session) -> None:
    """Train the session's run from its checkpoint, or from the start, to its last step."""
    spec = session.spec
    with set_up(session) as replica:
        batches = session.load_batches(native_order(spec) if spec.randomness == "native" else None)
        session.enter("build")
        trainer = Trainer(spec, replica=replica)
        state, step = session.starting_state()
        if state is not None:
            trainer.set_state(state)
        trainer.prepare(example=batches.train(step))
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


@contextlib.contextmanager
def set_up(session: Session) -> Iterator[devices.Replica]:
    """Prepare the process for the run's context; yield its devices."""
    spec = session.spec
    session.enter("set_up")
    if spec.fault:
        faults.install(spec.fault, "tensorflow")
    determinism.set_up(spec.determinism)
    precision.set_up(spec.precision, device=spec.device)
    attention.set_up(spec.attention, device=spec.device, precision=spec.precision)
    with devices.replicas(spec) as replica:
        session.report_environment(environment())
        yield replica


class Trainer:
    """The model, its optimizer, and one step of each kind, in one context."""

    def __init__(self, spec, *, replica: devices.Replica) -> None:
        self.spec, self.replica = spec, replica
        training = spec.training
        self.kind = kind_of(training)
        self.across_devices = self.kind.across_devices(training["model"])
        keras.utils.set_random_seed(spec.seed)
        synchronized = self.across_devices == "sync" and not replica.is_alone
        with replica.strategy.scope():
            self.architecture = MODELS[training["model"]["name"]]
            self.model = self.architecture.build(training["model"], shards=spec.shards, synchronized=synchronized)
            if spec.randomness == "native":
                initialise(self.model, training["model"])
            rule = training["optimizer"]
            self.optimizer = OPTIMIZERS[rule["name"]](rule, self.model.trainable_variables)
            self.scaled = precision.gradient_scaler(self.optimizer.native, precision=spec.precision)
            self.scaled.build(self.model.trainable_variables)

    def prepare(self, *, example: tuple[np.ndarray, Labels]) -> None:
        """Make the training and evaluation steps of this context's mode, for all its devices."""
        if self.spec.mode == "compile" and not self.replica.is_alone:
            # One XLA program cannot hold the variables of several devices, so each device compiles what it does alone.
            if self.across_devices in _SUMS and self.spec.device == "cpu":
                raise Unsupported(
                    f"{_SUMS[self.across_devices]}; on CPUs TensorFlow compiles neither one "
                    "program for all (XLA: 'Trying to access resource located in device CPU:1 from device CPU:0') nor "
                    "one a device with such sums ('merge_call called while defining a tf.function'); batch norm "
                    "per_device compiles"
                )
            self.differentiate = devices.for_each(modes.compile_function, self.differentiate, replica=self.replica)
        self.step = self._program(self._step, updates=True)
        self.evaluation = self._program(self._evaluate, updates=False)

    def train_step(self, images: np.ndarray, labels: Labels, learning_rate: float) -> tf.Tensor:
        """Take one step on a global batch; return the loss, a scalar."""
        self.optimizer.use_rate(learning_rate)
        loss = self.step(self._images(images, self.spec.shards), self.replica.place(labels, self.spec.shards))
        return devices.sum_over_replicas(loss, replica=self.replica)

    def differentiate(self, images, labels):
        """On one device: return its share of the global batch's loss, and the gradients of that."""
        with tf.GradientTape() as tape:
            arguments, classes = self.architecture.arguments(images, labels)
            loss = self._loss(self.model(*arguments, training=True), classes)
            total = self.scaled.scale_loss(self.optimizer.decayed(loss, self.model.losses, world=self.replica.world))
        # DIFFERS(tensorflow): an embedding's gradient comes as the rows that were used; a norm would not add up equal ones.
        return loss, [tf.convert_to_tensor(gradient) for gradient in tape.gradient(total, self.model.trainable_variables)]

    def update(self, gradients) -> None:
        """On one device: move the parameters by the gradients, which are summed over devices, too."""
        self.scaled.apply_gradients(zip(gradients, self.model.trainable_variables, strict=True))

    def predict(self, images: np.ndarray) -> np.ndarray:
        """Return the logits, features or detections of a global evaluation batch, [batch, ...], in evaluation mode."""
        logits = self.evaluation(self._images(images, self.spec.evaluation_shards))
        return np.concatenate([part.numpy() for part in devices.parts(logits, replica=self.replica)])

    def evaluate(self, batches) -> dict[str, float] | Detections:
        """Return the metrics of the test images, or what was found in them."""
        self._average_statistics()
        return self.kind.evaluate(self.predict, batches, self.spec.training)

    def get_state(self) -> State:
        """Return the whole training state under canonical names and layouts."""
        self._average_statistics()
        trained = [id(variable) for variable in self.model.trainable_variables]
        slots = {slot: dict(zip(trained, arrays, strict=True)) for slot, arrays in self.optimizer.get_slots().items()}
        state: State = {}
        for name, variable, layout in self._rows():
            state[f"{'params' if variable.trainable else 'stats'}/{name}"] = to_canonical(variable.numpy(), layout)
            if variable.trainable:
                state |= {f"{slot}/{name}": to_canonical(arrays[id(variable)], layout) for slot, arrays in slots.items()}
        if (steps := self.optimizer.get_steps()) is not None:
            state[COUNTER] = np.int64(steps)
        if self.scaled is not self.optimizer.native:
            state["scaler/scale"] = np.float64(self.scaled.dynamic_scale.numpy())
            state["scaler/good_steps"] = np.int64(self.scaled.step_counter.numpy())
        return state

    def set_state(self, state: State) -> None:
        """Load a state made by any framework's `get_state`."""
        state = dict(state)
        scale, good_steps = state.pop("scaler/scale", None), state.pop("scaler/good_steps", None)
        if self.scaled is not self.optimizer.native and scale is not None:
            self.scaled.dynamic_scale.assign(float(scale))
            self.scaled.step_counter.assign(int(good_steps))
        require_same_names(state, state_names(self.spec.training))
        self.set_weights(state)
        own = {id(variable): (name, layout) for name, variable, layout in self._rows()}
        rows = [own[id(variable)] for variable in self.model.trainable_variables]
        slots = optimizer_of(self.spec.training).slots
        self.optimizer.set_slots({slot: [_to_native(state[f"{slot}/{name}"], layout) for name, layout in rows] for slot in slots})
        if COUNTER in state:
            self.optimizer.set_steps(int(state[COUNTER]))

    def set_weights(self, state: State) -> None:
        """Load the parameters and statistics of a state, and leave optimizer and loss scaler as they are."""
        for name, variable, layout in self._rows():
            variable.assign(_to_native(state[f"{'params' if variable.trainable else 'stats'}/{name}"], layout))

    def _step(self, images, labels):
        """On one device: its share of the global batch's loss, and the update by the gradient of the whole."""
        loss, gradients = self.differentiate(images, labels)
        self.update(gradients)
        return loss

    def _loss(self, outputs, expected):
        losses = self.architecture.objective(tf.cast(outputs, self._wide), expected)
        return tf.reduce_sum(losses) / sum(self.spec.shards)

    def _evaluate(self, images):
        return tf.cast(self.architecture.evaluated(self.model)(images, training=False), self._wide)

    def _program(self, function, *, updates: bool):
        """Return the function as a program of this context's mode, for all its devices.

        Args:
            updates: it ends in `update`, which sums over devices; what it does alone is compiled in `differentiate`.
        """
        if self.spec.mode == "compile" and not self.replica.is_alone and not updates:
            function = devices.for_each(modes.compile_function, function, replica=self.replica)
        program = devices.run(function, replica=self.replica)
        if self.spec.mode == "eager":
            return program
        return modes.compile_function(program) if self.spec.mode == "compile" and self.replica.is_alone else modes.trace(program)

    def _average_statistics(self) -> None:
        """What the recipe says of several devices: parts of a batch count alike, or devices do. Under `sync` all are equal."""
        shards = self.spec.shards if self.across_devices == "parts" else (1,) * self.replica.world
        devices.average_statistics(self.model, weights=[size / sum(shards) for size in shards], replica=self.replica)

    def _rows(self):
        names = self.architecture.native_names(self.spec.training["model"])
        return [(name, _variable(self.model, native), layout) for name, native, layout in names]

    @property
    def _wide(self) -> tf.DType:
        return precision.dtype_of_parameters(self.spec.precision)

    def _images(self, images: np.ndarray, shards: tuple[int, ...]):
        # Tokens, which index an embedding, stay integers.
        wide = images.astype(self._wide.as_numpy_dtype, copy=False) if images.dtype.kind == "f" else images
        return self.replica.place(wide, shards)


def initialise(model: keras.Model, rules: dict) -> None:
    """Draw the initial weights by keras.initializers, after the recipe's `init`."""
    kind = KINDS[rules["name"]]
    parameters = kind.tabulate(rules).parameters
    for name, native, _ in MODELS[rules["name"]].native_names(rules):
        variable = _variable(model, native)
        if variable.trainable:
            drawn = parameters[name]
            draw = _initializer(rules["init"][drawn.init], drawn)
            variable.assign(draw(variable.shape, dtype=variable.dtype))
    if kind.begins_itself:
        model.begin()


def native_order(spec):
    """Return epoch -> order, from tf.random.experimental.stateless_shuffle."""

    def order(epoch: int) -> np.ndarray:
        index = tf.range(spec.training["data"]["n_train"])
        return tf.random.experimental.stateless_shuffle(index, seed=(spec.seed, epoch)).numpy()

    return order


def environment() -> dict:
    """Return what only this process can see of its framework."""
    build = tf.sysconfig.get_build_info()
    facts = {
        "framework_version": tf.__version__,
        "framework_path": str(tf.__path__[0]),
        "keras": keras.__version__,
        "numpy": np.__version__,
        "onednn": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default"),
        "threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "logical_devices": len(tf.config.list_logical_devices()),
        "cuda": build.get("cuda_version"),
    }
    if gpus := tf.config.get_visible_devices("GPU"):
        name = tf.config.experimental.get_device_details(gpus[0]).get("device_name")
        facts |= {"cudnn": build.get("cudnn_version"), "gpu": name, "gpus": len(gpus)}
    return facts


def _variable(model: keras.Model, native: str) -> keras.Variable:
    def part_of(owner, part: str):
        return owner[int(part)] if part.lstrip("-").isdigit() else getattr(owner, part)

    return functools.reduce(part_of, native.split("."), model)


def _initializer(rule: dict, drawn: ParameterRow) -> keras.initializers.Initializer:
    if rule["distribution"] == "constant":
        return keras.initializers.Constant(rule["value"])
    # A new one for each weight: an initializer draws the same numbers every time.
    if rule["distribution"] == "uniform":
        return keras.initializers.RandomUniform(-bound(rule, drawn), bound(rule, drawn))
    return keras.initializers.RandomNormal(rule["mean"], deviation(rule, drawn.shape))


def to_canonical(array: np.ndarray, layout: str) -> np.ndarray:
    return np.ascontiguousarray(array.transpose(canonical_axes(layout)))


def _to_native(array: np.ndarray, layout: str) -> np.ndarray:
    return np.ascontiguousarray(array.transpose(native_axes(layout)))
