"""The answers of PyTorch to a verify task. Twins: runners/tensorflow/verify.py, runners/jax/verify.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from runners.contract.data.batches import Labels, split
from runners.contract.protocol.answers import Choices, Segments, answer_cases, require_oracle, sum_of_parts
from runners.contract.protocol.cases import Answers
from runners.contract.protocol.session import Session
from runners.torch import devices, modes
from runners.torch.train import Trainer, set_up, to_canonical


def verify(session: Session, rank: int = 0) -> None:
    """Answer the cases of the session's run."""
    require_oracle(session.spec)
    with set_up(session, rank) as replica:

        def make_prober(spec, example: tuple[np.ndarray, Labels]) -> Prober:
            modes.forget_compiled(spec.mode)
            prober = Prober(spec, replica=replica)
            prober.prepare(example=example)
            return prober

        answer_cases(session, make_prober)


class Prober(Trainer):
    """A trainer that can be asked for more than training needs."""

    has_forward_alone = False

    @property
    def warm_up_calls(self) -> int:
        # The profiling executor optimises a traced graph from its second call on, and its gradient's graph a call later.
        return 2 if self.spec.mode == "jit" else 0

    def training_forward(self, images: np.ndarray, labels: Labels) -> torch.Tensor:
        """Make one forward pass in training mode, of which only the running statistics are left; return the loss."""
        # With its backward pass, which several devices wait for: without, it would be another program to compile.
        loss = self.differentiate(images, labels)
        self.optimizer.native.zero_grad(set_to_none=True)
        return devices.sum_over_replicas(loss, replica=self.replica) / self.replica.world

    def accumulate(self, batches: list[tuple[np.ndarray, Labels]], learning_rate: float) -> torch.Tensor:
        """Take one step by the mean of the micro-batches' gradients; return the mean of their losses."""
        self.optimizer.native.zero_grad(set_to_none=True)
        loss = sum(self.differentiate(*batch, fraction=1 / len(batches)) for batch in batches)
        self.update(learning_rate)
        return devices.sum_over_replicas(loss, replica=self.replica) / self.replica.world

    def replica_spread(self) -> dict[str, float]:
        """Return how far apart devices hold what they should hold alike: the largest difference of params, momentum and stats."""
        groups = {"params": self._trained().values(), **self.optimizer.get_slots(), "stats": self._held_alike()}
        return {name: devices.spread(tensors, replica=self.replica) for name, tensors in groups.items()}

    def _held_alike(self) -> list[torch.Tensor]:
        """Return what devices hold alike besides parameters: no running statistic where each has its own parts of a batch."""
        apart = [*self._trained().values(), *(devices.running_statistics(self.model) if self.across_devices == "parts" else [])]
        tensors = self.model.state_dict(keep_vars=True).values()
        return [each for each in tensors if each.is_floating_point() and all(each is not other for other in apart)]

    def segments(self, example: Segments) -> Callable[[Segments], Answers]:
        """Return the program that gives outputs, leaf and parameter gradients, loss and types; statistics move in the state."""
        taps = example.taps
        # Of the mean over the global batch, this rank's part: no mean over ranks follows, as it does in training.
        share = self.share / self.replica.world
        tapped = Tapped(self.model, self.architecture, taps=taps, cuts=example.cuts, share=share, wide=self._wide)
        program = modes.program(tapped, self._tapped_arguments(taps, example), mode=self.spec.mode, autocast=self._autocast())
        parameters = self._trained()
        rows = [(name, parameters[native], layout) for name, native, layout in self._rows() if native in parameters]

        def run(inputs: Segments) -> Answers:
            arguments = self._tapped_arguments(taps, inputs)
            self.model.train()
            with self._casting():
                total, loss, *outputs = program(*arguments)
            wanted = [*arguments[2], *(parameter for _, parameter, _ in rows)]
            gradients = torch.autograd.grad(total, wanted, allow_unused=True, materialize_grads=True)
            part = {"loss": loss.detach().cpu().numpy()}
            for tap, output, gradient in zip(taps, outputs, gradients[: len(taps)], strict=True):
                part[f"dtype/{tap}"] = np.array(str(output.dtype).removeprefix("torch."))
                part[f"output/{tap}"], part[f"leaf_gradient/{tap}"] = _tap_to_canonical(output), _tap_to_canonical(gradient)
            for (name, _, layout), gradient in zip(rows, gradients[len(taps) :], strict=True):
                part[f"parameter_gradient/{name}"] = to_canonical(gradient, layout)
            return sum_of_parts(devices.gather(part, replica=self.replica), scale=inputs.scale)

        return run

    def choices(self, example: Choices) -> Callable[[], Answers]:
        """Return the program that gives the outputs of some taps, where others are given."""
        leaves = tuple(self._rows_of_tap(leaf) for leaf in example.leaves.values())
        arguments = self._images(example.images), self._labels(example.labels), leaves
        chosen = Chosen(self.model, self.architecture, given=tuple(example.leaves), wanted=example.taps)
        program = modes.program(chosen, arguments, mode=self.spec.mode, autocast=self._autocast())

        @torch.no_grad()
        def run() -> Answers:
            self.model.train()
            with self._casting():
                outputs = program(*arguments)
            part = {f"output/{name}": _tap_to_canonical(output) for name, output in zip(example.taps, outputs, strict=True)}
            return sum_of_parts(devices.gather(part, replica=self.replica), scale=1.0)

        return run

    def _tapped_arguments(self, taps: tuple[str, ...], inputs: Segments) -> tuple:
        leaves = tuple(self._rows_of_tap(inputs.leaves[tap]).requires_grad_() for tap in taps)
        cotangents = tuple(self._rows_of_tap(inputs.cotangents[tap]) for tap in taps if tap in inputs.cuts)
        scale = torch.tensor(inputs.scale, dtype=self._wide, device=self.replica.device)
        return self._images(inputs.images), self._labels(inputs.labels), leaves, cotangents, scale

    def _rows_of_tap(self, array: np.ndarray) -> torch.Tensor:
        shard = torch.from_numpy(split(array, self.spec.shards)[self.replica.rank])
        return (shard.movedim(-1, -3) if shard.ndim >= 4 else shard).to(self.replica.device, dtype=self._wide)


class Tapped(nn.Module):
    """The model with every tap looked at; at a cut, what comes in is recorded and the leaf goes on."""

    def __init__(
        self, model: nn.Module, architecture, *, taps: tuple[str, ...], cuts: tuple[str, ...], share: float, wide
    ) -> None:
        super().__init__()
        self.architecture = architecture
        self.model, self.taps, self.cuts, self.share, self.wide = model, taps, cuts, share, wide

    def forward(self, images, labels, leaves, cotangents, scale):
        """Return (total, loss, output of each tap...). Leaves are in the order of `taps`, cotangents too, of the cuts alone."""
        outputs = {}

        def tap(name, x):
            outputs[name] = x
            leaf = leaves[self.taps.index(name)].to(x.dtype)
            return leaf if name in self.cuts else x + leaf

        arguments, classes = self.architecture.arguments(images, labels)
        found = self.model(*arguments, tap)
        loss = self.architecture.objective(found.to(self.wide), classes) * self.share
        cut = [name for name in self.taps if name in self.cuts]
        products = [(outputs[name].to(self.wide) * cotangent).sum() for name, cotangent in zip(cut, cotangents, strict=True)]
        return scale * sum(products, loss), loss, *(outputs[name] for name in self.taps)


class Chosen(nn.Module):
    """The model where some taps are given, in the order of `given`; it returns the outputs of those that are wanted."""

    def __init__(self, model: nn.Module, architecture, *, given: tuple[str, ...], wanted: tuple[str, ...]) -> None:
        super().__init__()
        self.model, self.architecture, self.given, self.wanted = model, architecture, given, wanted

    def forward(self, images, labels, leaves):
        """Return the wanted outputs."""
        outputs = {}

        def tap(name, x):
            outputs[name] = x
            return leaves[self.given.index(name)].to(x.dtype) if name in self.given else x

        arguments, _ = self.architecture.arguments(images, labels)
        self.model(*arguments, tap)
        return tuple(outputs[name] for name in self.wanted)


def _tap_to_canonical(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach().cpu()
    tensor = tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor
    return np.ascontiguousarray((tensor.movedim(-3, -1) if tensor.ndim >= 4 else tensor).numpy())
