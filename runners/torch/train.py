"""The training loop in PyTorch. Twins: runners/tensorflow/train.py, runners/jax/train.py."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from runners.contract.data.batches import Labels, split
from runners.contract.kinds.detections import Detections
from runners.contract.kinds.parameters import bound
from runners.contract.kinds.table import KINDS, kind_of
from runners.contract.kinds.weights import deviation, state_names
from runners.contract.layouts import canonical_axes, native_axes
from runners.contract.optimizers import COUNTER, optimizer_of
from runners.contract.protocol import faults
from runners.contract.protocol.checkpoint import State, require_same_names
from runners.contract.protocol.replaying import replay
from runners.contract.protocol.session import Session
from runners.torch import attention, determinism, devices, modes, precision
from runners.torch.models import char_gpt, digits_mlp, moco_lite, resnet_cifar, tiny_mask_rcnn
from runners.torch.optimizers import OPTIMIZERS

MODELS = {
    "resnet_cifar": resnet_cifar,
    "moco_lite": moco_lite,
    "tiny_mask_rcnn": tiny_mask_rcnn,
    "digits_mlp": digits_mlp,
    "char_gpt": char_gpt,
}


def train(session: Session, rank: int = 0) -> None:
    """Train the session's run from its checkpoint, or from the start, to its last step."""
    spec = session.spec
    with set_up(session, rank) as replica:
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
def set_up(session: Session, rank: int) -> Iterator[devices.Replica]:
    """Prepare the process for the run's context; yield its devices."""
    spec = session.spec
    session.enter("set_up")
    if spec.fault:
        faults.install(spec.fault, "torch")
    modes.keep_compiled(spec, run_directory=session.directory)
    determinism.set_up(spec.determinism)
    precision.set_up(spec.precision, device=spec.device)
    attention.set_up(spec.attention, device=spec.device, precision=spec.precision)
    session.report_environment(environment())
    with devices.replicas(spec, run_directory=session.directory, rank=rank) as replica:
        yield replica


class Trainer:
    """The model, its optimizer, and one step of each kind, in one context."""

    def __init__(self, spec, *, replica: devices.Replica) -> None:
        self.spec, self.replica = spec, replica
        training = spec.training
        self.kind = kind_of(training)
        self.across_devices = self.kind.across_devices(training["model"])
        torch.manual_seed(spec.seed)
        self.architecture = MODELS[training["model"]["name"]]
        model = self.architecture.build(training["model"], shards=spec.shards, rank=replica.rank)
        if spec.randomness == "native":
            initialise(model, training["model"])
        model = devices.synchronise_batch_norm(model, across_devices=self.across_devices, replica=replica)
        self.model = model.to(
            device=replica.device,
            dtype=precision.dtype_of_parameters(spec.precision),
            memory_format=torch.channels_last,
        )
        self.optimizer = OPTIMIZERS[training["optimizer"]["name"]](training["optimizer"], list(self._trained().values()))
        self.scaler = precision.gradient_scaler(spec.precision, device=replica.device)
        # The loss is the mean over the global batch; DistributedDataParallel takes the mean over ranks.
        self.share = spec.shards[replica.rank] * replica.world / sum(spec.shards)

    def prepare(self, *, example: tuple[np.ndarray, Labels]) -> None:
        """Make the forward passes of this context's mode, and wrap them for several devices."""
        forward, evaluation = self.model, self.architecture.evaluated(self.model)
        if self.spec.mode == "jit":
            images, labels = example
            arguments, _ = self.architecture.arguments(self._images(images), self._labels(labels))
            forward = modes.trace(self.model, arguments, training=True, autocast=self._autocast())
            blank = self.kind.blank(self.spec.training["model"], sum(self.spec.evaluation_shards))
            images = self._evaluation_images(blank)
            evaluation = modes.trace(evaluation, images, training=False, autocast=self._autocast())
        if not self.replica.is_alone:
            # Running statistics are equal under `sync` and averaged by us under `per_device`: nothing to broadcast.
            forward = DistributedDataParallel(forward, broadcast_buffers=False)
        if self.spec.mode == "compile":
            forward, evaluation = modes.compile_function(forward), modes.compile_function(evaluation)
        self.forward, self.evaluation = forward, evaluation

    def train_step(self, images: np.ndarray, labels: Labels, learning_rate: float) -> torch.Tensor:
        """Take one step on a global batch; return the loss, a scalar."""
        self.optimizer.native.zero_grad(set_to_none=True)
        loss = self.differentiate(images, labels)
        self.update(learning_rate)
        return devices.sum_over_replicas(loss, replica=self.replica) / self.replica.world

    def differentiate(self, images: np.ndarray, labels: Labels, *, fraction: float = 1.0) -> torch.Tensor:
        """Add the gradient of a fraction of a global batch's loss to the parameters'; return this rank's part of the loss."""
        arguments, classes = self.architecture.arguments(self._images(images), self._labels(labels))
        self.model.train()
        with self._casting():
            outputs = self.forward(*arguments)
        loss = self.architecture.objective(outputs.to(self._wide), classes) * (self.share * fraction)
        self.scaler.scale(loss).backward()
        return loss.detach()

    def update(self, learning_rate: float) -> None:
        """Move the parameters by the gradient that they have."""
        self.optimizer.use_rate(learning_rate)
        self.optimizer.clip(self.scaler)
        self.scaler.step(self.optimizer.native)
        self.scaler.update()

    @torch.no_grad()
    def predict(self, images: np.ndarray) -> np.ndarray:
        """Return the logits, features or detections of a global evaluation batch, [batch, ...], in evaluation mode."""
        self.model.eval()
        with self._casting():
            logits = self.evaluation(self._evaluation_images(images))
        self.model.train()
        return np.concatenate(devices.gather(logits.to(self._wide).cpu().numpy(), replica=self.replica))

    def evaluate(self, batches) -> dict[str, float] | Detections:
        """Return the metrics of the test images, or what was found in them."""
        self._average_statistics()
        return self.kind.evaluate(self.predict, batches, self.spec.training)

    def get_state(self) -> State:
        """Return the whole training state under canonical names and layouts."""
        self._average_statistics()
        tensors = dict(self.model.state_dict())
        slots = {slot: dict(zip(self._trained(), arrays, strict=True)) for slot, arrays in self.optimizer.get_slots().items()}
        trained = self._trained()
        state: State = {}
        for name, native, layout in self._rows():
            state[f"{'params' if native in trained else 'stats'}/{name}"] = to_canonical(tensors[native], layout)
            if native in trained:
                state |= {f"{slot}/{name}": to_canonical(arrays[native], layout) for slot, arrays in slots.items()}
        if (steps := self.optimizer.get_steps()) is not None:
            state[COUNTER] = np.int64(steps)
        if self.scaler.is_enabled():
            scaler = self.scaler.state_dict()
            state["scaler/scale"] = np.float64(scaler["scale"])
            state["scaler/good_steps"] = np.int64(scaler["_growth_tracker"])
        return state

    @torch.no_grad()
    def set_state(self, state: State) -> None:
        """Load a state made by any framework's `get_state`."""
        state = dict(state)
        scale, good_steps = state.pop("scaler/scale", None), state.pop("scaler/good_steps", None)
        if self.scaler.is_enabled() and scale is not None:
            self.scaler.load_state_dict({**self.scaler.state_dict(), "scale": float(scale), "_growth_tracker": int(good_steps)})
        require_same_names(state, state_names(self.spec.training))
        self.set_weights(state)
        own = {native: (name, layout) for name, native, layout in self._rows()}
        rows = [own[native] for native in self._trained()]
        slots = optimizer_of(self.spec.training).slots
        self.optimizer.set_slots({slot: [_to_native(state[f"{slot}/{name}"], layout) for name, layout in rows] for slot in slots})
        if COUNTER in state:
            self.optimizer.set_steps(int(state[COUNTER]))

    @torch.no_grad()
    def set_weights(self, state: State) -> None:
        """Load the parameters and statistics of a state, and leave optimizer and loss scaler as they are."""
        tensors, trained = dict(self.model.state_dict()), self._trained()
        for name, native, layout in self._rows():
            tensors[native].copy_(_to_native(state[f"{'params' if native in trained else 'stats'}/{name}"], layout))

    def _average_statistics(self) -> None:
        """What the recipe says of several devices: parts of a batch count alike, or devices do. Under `sync` all are equal."""
        shards = self.spec.shards if self.across_devices == "parts" else (1,) * self.replica.world
        devices.average_statistics(self.model, weights=[size / sum(shards) for size in shards], replica=self.replica)

    def _rows(self):
        return self.architecture.native_names(self.spec.training["model"])

    def _trained(self) -> dict[str, nn.Parameter]:
        return {name: parameter for name, parameter in self.model.named_parameters() if parameter.requires_grad}

    def _autocast(self) -> torch.autocast:
        return precision.autocast(self.spec.precision, device=self.replica.device)

    def _casting(self) -> contextlib.AbstractContextManager:
        """Return what a forward pass runs under.

        DIFFERS(torch): a trace holds the casts of autocast, but not where a model switches it off. Under autocast a trace would
        cast once more, there too.
        """
        return contextlib.nullcontext() if self.spec.mode == "jit" else self._autocast()

    @property
    def _wide(self) -> torch.dtype:
        return precision.dtype_of_parameters(self.spec.precision)

    def _images(self, images: np.ndarray) -> torch.Tensor:
        return self._to_device(split(images, self.spec.shards)[self.replica.rank])

    def _evaluation_images(self, images: np.ndarray) -> torch.Tensor:
        return self._to_device(split(images, self.spec.evaluation_shards)[self.replica.rank])

    def _labels(self, labels: Labels) -> torch.Tensor | dict[str, torch.Tensor]:
        own = split(labels, self.spec.shards)[self.replica.rank]
        return {name: self._label(array) for name, array in own.items()} if isinstance(own, dict) else self._label(own)

    def _label(self, array: np.ndarray) -> torch.Tensor:
        # What indexes another tensor must be int64.
        label = torch.from_numpy(array)
        return (label.long() if array.dtype == np.int32 else label).to(self.replica.device, non_blocking=True)

    def _to_device(self, images: np.ndarray) -> torch.Tensor:
        if images.dtype.kind != "f":  # tokens, which index an embedding
            return torch.from_numpy(images).to(self.replica.device, dtype=torch.int64, non_blocking=True)
        # [..., height, width, channel] seen as [..., channel, height, width] is the channels_last layout: no copy.
        return torch.from_numpy(images).movedim(-1, -3).to(self.replica.device, dtype=self._wide, non_blocking=True)


@torch.no_grad()
def initialise(model: nn.Module, rules: dict) -> None:
    """Draw the initial weights by torch.nn.init, after the recipe's `init`."""
    canonical = {native: name for name, native, _ in MODELS[rules["name"]].native_names(rules)}
    kind = KINDS[rules["name"]]
    table = kind.tabulate(rules)
    for native, parameter in model.named_parameters():
        drawn = table.drawn_as(canonical[native])
        rule = rules["init"][drawn.init]
        if rule["distribution"] == "constant":
            nn.init.constant_(parameter, rule["value"])
        elif rule["distribution"] == "uniform":
            nn.init.uniform_(parameter, -bound(rule, drawn), bound(rule, drawn))
        else:
            nn.init.normal_(parameter, rule["mean"], deviation(rule, drawn.shape))
    if kind.begins_itself:
        model.begin()


def native_order(spec):
    """Return epoch -> order, from torch.randperm."""

    def order(epoch: int) -> np.ndarray:
        generator = torch.Generator().manual_seed(spec.seed * 1_000_003 + epoch)
        return torch.randperm(spec.training["data"]["n_train"], generator=generator).numpy()

    return order


def environment() -> dict:
    """Return what only this process can see of its framework."""
    facts = {
        "framework_version": torch.__version__,
        "framework_path": str(torch.__path__[0]),
        "numpy": np.__version__,
        "blas": torch.__config__.show().split("BLAS_INFO=")[-1].split(",")[0],
        "onednn": torch.backends.mkldnn.is_available(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "cuda": torch.version.cuda,
    }
    if torch.cuda.is_available():
        facts |= {
            "cudnn": torch.backends.cudnn.version(),
            "gpu": torch.cuda.get_device_name(),
            "gpus": torch.cuda.device_count(),
        }
    return facts


def to_canonical(tensor: torch.Tensor, layout: str) -> np.ndarray:
    # A copy: what numpy sees of a tensor on the CPU is the memory that the next step changes.
    return np.array(tensor.detach().cpu().numpy().transpose(canonical_axes(layout)), order="C")


def _to_native(array: np.ndarray, layout: str) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array.transpose(native_axes(layout))))
