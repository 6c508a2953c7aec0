"""A program of PyTorch in float64, and how far rounding moves it: every operator is carried out twice.

Once as the program asks, in float32 or under autocast: this says which operators run, and in which type each result is held.
And once in float64, on shadows: tensors of the same layout that hold what the program would hold without rounding. Without noise
the shadows are the oracle. With noise, each result is off by as much as rounding to the type that the program holds it in: draws
of that are the noise floor.

A shadow belongs to a storage, so that views and operations in place see each other as the program's do. Choices (comparisons,
`argmax`, sorting) are made on shadows. What is drawn at random, and what comes of no tensor, is the program's own. Arithmetic
that gives whole numbers does not round, nor does a sum of them: an index, as `floor(x) + 1`, is one in each draw.
"""

from __future__ import annotations

import contextlib
import functools
import math
import random
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._decomp import decomposition_table
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_unflatten

from runners.contract.errors import Unsupported
from runners.contract.protocol.launch import category
from runners.contract.steps.overflow import LEAST_INFINITE, MOST_ZERO, Overflow

# The largest relative error of one rounding; and half of the smallest number of float16, which gradients come near.
UNITS = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
_HALVES = (torch.bfloat16, torch.float16)
_LEAST_HALF = 2.0**-25
# A program rounds to these on purpose: shadows hold what they hold. Not every release has them.
_NAMES_OF_QUARTERS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
_QUARTERS = {getattr(torch, name) for name in _NAMES_OF_QUARTERS if hasattr(torch, name)}
# An optimizer's update in one operator rounds each number as often, by the rules of Adam and of SGD with momentum.
_FUSED_STEPS = 2.0
_ACCUMULATION = UNITS[torch.float32]  # halves are added up in float32
_TF32 = 2.0**-11  # to which a GPU rounds what it multiplies, where that is allowed
_ROUNDED = (*UNITS.values(), _TF32)  # units of one rounding, whose factors are made once for a whole pool
_SEED = 1997
_POOL = 2**20 + 7
_SWEEP = 256

# Their results hold numbers of their arguments as they are.
_MOVING = {
    "cat", "stack", "index", "index_select", "gather", "embedding", "constant_pad_nd", "_unsafe_view", "repeat", "roll", "flip",
    "relu", "max", "min", "amax", "amin", "maximum", "minimum", "sort", "topk", "where", "masked_fill", "neg", "abs",
    "select_backward", "slice_backward", "tril", "triu", "clone", "copy", "fill", "zero", "clamp", "clamp_min", "clamp_max",
    "sign", "detach", "lift_fresh", "index_put", "scatter", "nan_to_num", "hardtanh", "max_pool2d_with_indices",
    "max_pool3d_with_indices", "adaptive_max_pool2d", "reflection_pad1d", "reflection_pad2d", "replication_pad2d",
    "unfold_copy", "expand_copy", "threshold", "threshold_backward", "masked_select", "nonzero", "unbind_copy", "new_zeros",
    "zeros_like", "ones_like", "empty_like", "full_like", "masked_scatter", "as_strided", "diagonal_backward",
    "upsample_nearest2d", "upsample_nearest1d", "pixel_shuffle", "channel_shuffle", "hardtanh_backward", "floor", "ceil",
    "round", "trunc", "median", "nanmedian", "kthvalue", "mode", "cummax", "cummin", "aminmax",
}  # fmt: skip
_COMPARING = {"eq", "ne", "lt", "le", "gt", "ge"}
# The second result of the first is 0 and 1, and to the second no other numbers will do.
_OF_FLAGS = ("multilabel_margin_loss_forward", "multilabel_margin_loss_backward")
# A product of matrices within them is one of halves under autocast, though they are called in float32.
_WITH_PRODUCTS = {"_trilinear", "affine_grid_generator"}
# What they give is not rounded where it is whole, as indices are; nor is what adds up then.
_ARITHMETIC = {"add", "sub", "rsub", "mul", "div"}
# Products of matrices, in which a GPU may round float32 to TF32.
_MATRICES = {"mm", "bmm", "addmm", "baddbmm"}
_PRODUCTS = {
    *_MATRICES, "convolution", "convolution_backward", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
}  # fmt: skip
# Their results have gates in them, which rounding may flip: a result above zero, or not.
_GATED = {
    "relu", "leaky_relu", "threshold", "hardtanh", "clamp", "clamp_min", "clamp_max", "relu6", "prelu", "elu", "abs",
}  # fmt: skip
# Their results jump, at many places: of a hundred thousand elements one may be so near to such a place that it jumps in the
# program, and in no draw. What they are given is moved by so many units in draws, so that draws jump where the program may:
# tensors of correct programs lie at up to 6.3 floors, of the clean rows in reference_results/own_steps.
_JUMPING = {"round", "floor", "ceil", "trunc", "floor_divide"}
_QUANTIZING = {
    "fake_quantize_per_tensor_affine_cachemask", "fake_quantize_per_channel_affine_cachemask",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
}  # fmt: skip
_JUMP_UNITS = 8.0
# One operator to PyTorch, several steps within, which may cancel: of these steps each rounds for itself, as PyTorch's own
# decompositions have them. The cross entropy of a logit x is x - log_sigmoid(x): as good as none of its digits need be left.
_FUSED = {
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "binary_cross_entropy_backward", "_softmax", "_log_softmax",
    "_softmax_backward_data", "_log_softmax_backward_data", "native_layer_norm", "native_layer_norm_backward",
    "native_group_norm", "native_group_norm_backward", "_fused_rms_norm", "_fused_rms_norm_backward", "smooth_l1_loss",
    "smooth_l1_loss_backward", "huber_loss", "huber_loss_backward", "mse_loss", "mse_loss_backward", "soft_margin_loss",
    "log_sigmoid_forward", "log_sigmoid_backward", "gelu", "gelu_backward", "silu", "silu_backward", "softplus",
    "softplus_backward", "elu", "elu_backward", "mish", "mish_backward", "hardswish", "hardswish_backward", "glu",
    "glu_backward", "logsumexp", "var", "var_mean", "std",
}  # fmt: skip
# Running statistics, and what was drawn, which these write to although their schema does not say so in every release.
_WRITTEN_UNSAID = {
    "native_batch_norm": (3, 4), "cudnn_batch_norm": (3, 4), "miopen_batch_norm": (3, 4), "rrelu_with_noise": (1,),
}  # fmt: skip


class Shadows(TorchDispatchMode):
    """Carries out each operator on shadows, too.

    Args:
        draw: the number of a draw of rounding; None for none.
        precision: of tf32 products of float32 round what they multiply, and in halves what autocast hides from a dispatch mode.
        overflows: what the program's type cannot hold becomes infinite, or zero, as it does in the program.

    `choices`: of each operator that chooses, in order, its name and a checksum of what it chose.
    `taken`: operators that draw at random from numbers, whose results are the program's own: nothing holds them to float64.
    `overflow`: without rounding, the first operator that gave a finite number which the program's type cannot hold.
    """

    def __init__(self, *, draw: int | None = None, precision: str = "fp32", overflows: bool = False) -> None:
        super().__init__()
        self._is_tf32, self._overflows = precision == "tf32", overflows
        self._autocast = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        self.choices: list[tuple[str, int]] = []
        self.overflow: Overflow | None = None
        self.operators = 0
        self.taken: set[str] = set()
        self._flat: dict[int, tuple[StorageWeakRef, torch.Tensor]] = {}
        self._random: torch.Generator | None = None
        if draw is not None:
            self._random = torch.Generator().manual_seed(_SEED + draw)
            self._places = random.Random(_SEED + draw)
            self._pool = torch.empty(_POOL, dtype=torch.float64).uniform_(-1.0, 1.0, generator=self._random)
            self._factors: dict[float, torch.Tensor] = {}

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the shadow of a tensor, a view of what the program's tensor is a view of; at first it holds the same numbers."""
        storage = tensor.untyped_storage()
        known = self._flat.get(storage._cdata)
        if known is None or known[0].expired():
            known = self._keep(storage, torch.empty(0, dtype=tensor.dtype).set_(storage).to(_wide(tensor.dtype), copy=True))
        flat = known[1]
        if flat.is_complex() is not tensor.is_complex():  # two numbers seen as one, or one as two
            flat = torch.view_as_real(flat).view(-1) if flat.is_complex() else torch.view_as_complex(flat.view(-1, 2))
        if flat.numel() != storage.nbytes() // tensor.element_size():
            raise Unsupported(f"a view of {flat.dtype} as {tensor.dtype}: the same bits as other numbers have no float64")
        view = flat.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
        view = view.conj() if tensor.is_conj() else view  # of which a view holds no other numbers
        return view._neg_view() if tensor.is_neg() else view

    def array(self, tensor: torch.Tensor) -> np.ndarray:
        """Return the numbers of a tensor's shadow."""
        with _disable_current_modes():  # which would take what is read for a part of the program
            return self.of(tensor.detach()).resolve_conj().resolve_neg().numpy().copy()

    # So that PyTorch asks of operators that call functions, which are refused here in words of their own.
    supports_higher_order_operators = True

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if not hasattr(func, "_schema"):
            raise Unsupported(f"torch.{func}: it calls functions, which cannot be carried out in float64")
        kwargs = kwargs or {}
        self.operators += 1
        if self.operators % _SWEEP == 0:
            self._flat = {key: kept for key, kept in self._flat.items() if not kept[0].expired()}
        operator = _operator(func)
        given = list(_tensors((*args, *kwargs.values())))
        if not given or operator.is_random(args, kwargs):
            return self._as_it_is(operator, func, args, kwargs)
        if _picks(operator.name, args, kwargs):
            operator = operator._replace(name="amax", adds=False)
        shadow_args = tuple([self._shadow(each) for each in args])
        shadow_kwargs = {key: self._shadow(each) for key, each in kwargs.items()}
        name = operator.name
        if name in _COMPARING and given[0].dtype in UNITS:  # with the number that the program's type holds of one
            shadow_args = tuple([_nearest(each, given[0].dtype) for each in shadow_args])
        if name in ("_softmax", "_log_softmax"):
            shadow_args = (*shadow_args[:2], False)  # whether halves to float32
        counts = _counts(name, args, kwargs) if self._random is not None else None
        # In a draw the program's numbers need be no nearer than the shadow's: a product of matrices is not made twice.
        # One that is told its type has an argument besides its matrices.
        is_spared = (
            self._random is not None
            and name in _MATRICES
            and not operator.is_mutable
            and len(given) == len(args)
            and given[-1].dtype in UNITS  # of any other the shadow itself would come back
        )
        real = None if is_spared else self._as_program(func, name, args, kwargs)
        adds = (operator.adds or counts is not None) and (real is None or any(map(_is_rounded, _tensors((real,)))))
        if self._random is not None and adds and not all(map(_is_whole, _tensors((*shadow_args, *shadow_kwargs.values())))):
            jittered = functools.partial(
                self._jittered, is_product=self._is_tf32 and name in _PRODUCTS, unit=max(_ACCUMULATION, self._unit_within(name))
            )
            shadow_args = [
                each if place in operator.written else _mapped(jittered, each) for place, each in enumerate(shadow_args)
            ]
        if self._random is not None and isinstance(next(iter(args), None), torch.Tensor) and _jumps(operator, given, kwargs):
            shadow_args = (self._beside(shadow_args[0], is_whole_kept=name not in _QUANTIZING), *shadow_args[1:])
        carry_out = _scaled_product if name == "_scaled_mm" else func
        if self._random is not None and name in _FUSED and func in decomposition_table:
            carry_out = self._step_by_step(decomposition_table[func])
        try:
            shadow = carry_out(*shadow_args, **shadow_kwargs)
        except RuntimeError as error:  # NotImplementedError too, by which PyTorch says that a kernel has no such type
            if category(error) == "out_of_memory":
                raise
            first = (str(error).strip().splitlines() or [""])[0]
            raise Unsupported(f"operator {func}: cannot be carried out in float64: {first}") from error
        if is_spared:
            real = shadow.to(given[-1].dtype)
        for place in _WRITTEN_UNSAID.get(name, ()):
            if place < len(args) and isinstance(args[place], torch.Tensor):
                self._add_noise(name, args, given, args[place], self.of(args[place]), adds=False, is_scaled=True)
        is_scaled = any(isinstance(each, float) for each in (*args, *kwargs.values()))
        return self._bound(operator, args, given, real, shadow, counts=counts, is_scaled=is_scaled)

    def _as_program(self, func: Any, name: str, args: tuple, kwargs: dict) -> Any:
        """Return what an operator gives on the program's tensors: in which types, above all, since shadows have the numbers.

        Products of halves are multiplied in float32: without oneDNN they take twice as long as all draws of float32.
        """
        halves = {each.dtype for each in _tensors(args) if each.dtype in _HALVES}
        if name not in _PRODUCTS or len(halves) != 1 or func._schema.is_mutable:
            return func(*args, **kwargs)
        [half] = halves
        widened = functools.partial(_mapped, lambda each: each.float() if _is_of(each, half) else each)
        found = func(*widened(args), **{key: widened(each) for key, each in kwargs.items()})
        if isinstance(found, (tuple, list)):
            return _mapped(lambda each: _narrowed(each, half), found)
        return _narrowed(found, half)

    def _as_it_is(self, operator: _Operator, func: Any, args: tuple, kwargs: dict) -> Any:
        """Carry out an operator on the program's tensors alone; shadows take what comes out, and what it writes to."""
        given = {id(each) for each in _tensors((*args, *kwargs.values())) if each.is_floating_point()}
        real = func(*args, **kwargs)
        for each in _tensors((real, *(args[place] for place in operator.written if place < len(args)))):
            self.of(each).copy_(each)
            if given and id(each) not in given and each.is_floating_point() and not _plain_name(func).endswith("_like"):
                self.taken.add(str(func))
        return real

    def _bound(
        self,
        operator: _Operator,
        args: tuple,
        given: list,
        real: Any,
        shadow: Any,
        *,
        counts: torch.Tensor | None,
        is_scaled: bool,
    ) -> Any:
        """Give each new result its shadow, with noise, and return what the program gets."""
        for each in _tensors((real,)):
            if each.is_nested or each.layout != torch.strided:
                raise Unsupported(
                    "a nested tensor has no shadow. Padded rows become one where nn.TransformerEncoder evaluates, unless it is "
                    "made with enable_nested_tensor=False"
                    if each.is_nested
                    else "a sparse tensor has no shadow. Gradients of an embedding with `sparse=True` are such tensors"
                )
        name, is_mutable = operator.name, operator.is_mutable
        noise = functools.partial(
            self._add_noise, name, args, given, adds=operator.adds or counts is not None, is_scaled=is_scaled, counts=counts
        )
        if is_mutable and real is None:  # of lists, as optimizers with `foreach` or `fused` change
            for mine in _tensors(each for place, each in enumerate(args) if place in operator.written):
                noise(mine, self.of(mine))
            return real
        if isinstance(real, torch.Tensor):
            if not is_mutable and self._is_view(real):
                return real
            reals, shadows, spec = [real], [shadow], None
        else:
            reals, spec = tree_flatten(real)
            shadows = tree_flatten(shadow)[0]
        is_choice = any(each.is_floating_point() for each in given)
        for place, (mine, other) in enumerate(zip(reals, shadows, strict=True)):
            if not isinstance(mine, torch.Tensor):
                reals[place] = other  # a number that leaves the tensors is the shadows'
                continue
            if mine.shape != other.shape:  # as many as were chosen
                mine = reals[place] = other.to(mine.dtype)
            is_new = not self._is_view(mine)
            if is_new:
                other = self._layout(mine, other)
            if is_new or is_mutable:
                if mine.is_floating_point() or mine.is_complex():
                    if mine.dtype in _QUARTERS:
                        other.copy_(other.to(mine.dtype))
                    if name in _GATED or name in _JUMPING or name in _QUANTIZING or mine.dtype in _QUARTERS:
                        self._choice(name, other > 0 if name in _GATED else other)
                    if not (name == _OF_FLAGS[0] and place):
                        noise(mine, other)
                elif is_choice and is_new:
                    self._choice(name, other)
        return tree_unflatten(reals, spec) if spec else reals[0]

    def _is_view(self, tensor: torch.Tensor) -> bool:
        known = self._flat.get(tensor.untyped_storage()._cdata)
        return known is not None and not known[0].expired()

    def _layout(self, mine: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        """Keep a result as the shadow of the program's; return it in that one's layout."""
        storage = mine.untyped_storage()
        n = storage.nbytes() // mine.element_size()
        is_whole = other.untyped_storage().nbytes() == n * other.element_size()
        if is_whole and other.stride() == mine.stride() and other.storage_offset() == mine.storage_offset():
            flat = other.as_strided((n,), (1,), 0)
        else:
            flat = torch.zeros(n, dtype=other.dtype)
            flat.as_strided(mine.size(), mine.stride(), mine.storage_offset()).copy_(other)
        self._keep(storage, flat)
        return flat.as_strided(mine.size(), mine.stride(), mine.storage_offset())

    def _keep(self, storage: torch.UntypedStorage, flat: torch.Tensor) -> tuple[StorageWeakRef, torch.Tensor]:
        kept = StorageWeakRef(storage), flat
        self._flat[storage._cdata] = kept
        return kept

    def _shadow(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.of(value)
        if isinstance(value, (tuple, list)):
            return type(value)([self._shadow(each) for each in value])
        return _wide(value) if isinstance(value, torch.dtype) else value

    def _step_by_step(self, decomposition: Callable) -> Callable:
        """Return the steps within an operator, each of which rounds."""

        def carry_out(*args: Any, **kwargs: Any) -> Any:
            with _Within(self._rounded):
                return decomposition(*args, **kwargs)

        return carry_out

    def _rounded(self, given: list, results: Any) -> None:
        """Move new results of a step within an operator by rounding in float32."""
        for each in _tensors((results,)):
            if each.dtype == torch.float64 and each.numel() and all(each is not other for other in given):
                terms = max(1.0, max(other.numel() for other in given) / each.numel())
                unit = _ACCUMULATION * (1.0 + (math.sqrt(terms) / 3.0 if terms > 1.0 else 0.0))
                each.mul_(self._factor(each, unit))

    def _jittered(self, value: Any, *, is_product: bool, unit: float) -> Any:
        """Return an argument of a sum with each element rounded once more, by a unit: what adds up rounds within itself.

        Args:
            is_product: what is multiplied is rounded to TF32 first; a bias, which is added, is not.
        """
        if isinstance(value, torch.Tensor) and value.dtype == torch.float64 and value.ndim:
            return value * self._factor(value, _TF32 if is_product and value.ndim > 1 else unit)
        return value

    def _beside(self, numbers: torch.Tensor, *, is_whole_kept: bool) -> torch.Tensor:
        """Return the argument of an operator that jumps, moved by as much as rounding in the program may have moved it.

        Args:
            is_whole_kept: whole numbers and those half way between are not moved: they are such by their making, as indices are.
        """
        finite = torch.where(numbers.isfinite(), numbers, 0.0)
        size = finite.abs() + finite.square().mean().sqrt()
        moved = numbers + self._uniform(numbers.shape) * (_JUMP_UNITS * _ACCUMULATION) * size
        return torch.where(2.0 * numbers == (2.0 * numbers).round(), numbers, moved) if is_whole_kept else moved

    def _add_noise(
        self,
        name: str,
        args: tuple,
        given: list,
        mine: torch.Tensor,
        other: torch.Tensor,
        *,
        adds: bool,
        is_scaled: bool,
        counts: torch.Tensor | None = None,
    ) -> None:
        """Move a shadow by as much as rounding to the program's type does.

        Args:
            counts: of what adds up by an index, how many terms come to each element; broadcast against the shadow.
        """
        if not mine.numel():
            return
        if self._random is None:
            self._hold(name, mine.dtype, other)
            return
        if mine.dtype == torch.complex64:  # a product of two rounds by a share of its size, not of either part
            moved = torch.complex(self._uniform(other.shape), self._uniform(other.shape))
            other.add_(moved * other.abs(), alpha=UNITS[torch.float32])
            return
        if mine.dtype not in UNITS:
            return
        unit = max(UNITS[mine.dtype], self._unit_within(name))
        moves = (name in _MOVING and not adds) or name == "_to_copy"
        if moves and not any(each.is_floating_point() and _unit_of(each.dtype) < unit for each in given):
            return
        if (adds or name in _ARITHMETIC) and _is_whole(other) and float(other.abs().max()) * unit <= 1.0:
            return
        if counts is not None:
            other.mul_(1.0 + self._uniform(other.shape) * (unit + (counts.sqrt() / 3.0) * (counts > 1) * _ACCUMULATION))
        else:
            if adds:
                unit += math.sqrt(_terms(name, args, given, mine)) / 3.0 * _ACCUMULATION
            elif name.startswith("_fused_"):
                unit *= _FUSED_STEPS
            other.mul_(self._factor(other, unit))
            if is_scaled:  # the number that it is scaled by is rounded as well, for all elements alike
                other.mul_(1.0 + _ACCUMULATION * float(self._uniform(torch.Size([1]))))
            if mine.dtype == torch.float16:
                other.add_(self._uniform(other.shape), alpha=_LEAST_HALF)

    def _unit_within(self, name: str) -> float:
        """Return the unit of the halves that an operator of float32 multiplies under autocast; 0 without them."""
        return UNITS[self._autocast] if self._autocast is not None and name in _WITH_PRODUCTS else 0.0

    def _hold(self, name: str, dtype: torch.dtype, other: torch.Tensor) -> None:
        """Note what rounds to infinity in the program's type, and make it infinite, or zero, if overflows are carried out."""
        plain = str(dtype).removeprefix("torch.")
        if self._overflows and plain in MOST_ZERO:
            other.masked_fill_(other.abs() <= MOST_ZERO[plain], 0.0)
        least = LEAST_INFINITE.get(plain)
        if least is None or (float(other.max()) < least and float(other.min()) > -least):
            return
        leaves = (other.abs() >= least) & other.isfinite()
        if not leaves.any():
            return
        self.overflow = self.overflow or Overflow(name, plain, float(other[leaves].abs().max()))
        if self._overflows:
            other.masked_fill_(leaves & (other > 0), math.inf).masked_fill_(leaves & (other < 0), -math.inf)

    def _factor(self, tensor: torch.Tensor, unit: float) -> torch.Tensor:
        """Return factors that are one but for a unit. They leave infinities, as masks have, what they are.

        They lie in memory as the tensor's elements do: a transposed matrix takes four times as long by factors that lie across.
        """
        shape = tensor.shape
        if tensor.ndim > 1 and not tensor.is_contiguous() and tensor.mT.is_contiguous():
            return self._factor(tensor.mT, unit).mT
        if unit not in _ROUNDED or 2 * math.prod(shape) > _POOL:
            return torch.add(1.0, self._uniform(shape), alpha=unit)
        if unit not in self._factors:
            self._factors[unit] = torch.add(1.0, self._pool, alpha=unit)
        return self._part(self._factors[unit], shape)

    def _uniform(self, shape: torch.Size) -> torch.Tensor:
        """Return numbers between -1 and 1; small tensors take theirs from a place at random in a pool, which is cheaper."""
        if 2 * math.prod(shape) > _POOL:
            return torch.empty(shape, dtype=torch.float64).uniform_(-1.0, 1.0, generator=self._random)
        return self._part(self._pool, shape)

    def _part(self, pool: torch.Tensor, shape: torch.Size) -> torch.Tensor:
        n = math.prod(shape)
        start = self._places.randrange(_POOL - n)
        return pool[start : start + n].view(shape)

    def _choice(self, name: str, chosen: torch.Tensor) -> None:
        self.choices.append((name, zlib.crc32(chosen.contiguous().view(-1).view(torch.uint8).numpy())))


@contextlib.contextmanager
def shadowed(draw: int | None, *, precision: str = "fp32", overflows: bool = False) -> Iterator[Shadows]:
    """Carry out on shadows what is called within, with the rounding of a draw, or without (None). See `Shadows`."""
    # oneDNN has kernels of whole networks in float32 alone.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of flags for other processors, which are set back with this one
        with torch.backends.mkldnn.flags(enabled=False), Shadows(draw=draw, precision=precision, overflows=overflows) as shadows:
            yield shadows


class _Operator(NamedTuple):
    """What is to be known of an operator.

    adds: it adds up. written: which arguments it writes to. dropout: the place of its `dropout_p`, None without one.
    """

    name: str
    adds: bool
    written: frozenset[int]
    is_mutable: bool
    draws: bool
    dropout: int | None

    def is_random(self, args: tuple, kwargs: dict) -> bool:
        """Does a call draw at random?"""
        if not self.draws or self.dropout is None:
            return self.draws
        return (args[self.dropout] if self.dropout < len(args) else kwargs.get("dropout_p", 0.0)) != 0.0


@functools.cache
def _operator(func: Any) -> _Operator:
    name, schema = _plain_name(func), func._schema
    names = [each.name for each in schema.arguments]
    is_view = any(each.alias_info is not None and not each.alias_info.is_write for each in schema.returns)
    written = {place for place, each in enumerate(schema.arguments) if each.alias_info is not None and each.alias_info.is_write}
    return _Operator(
        name,
        adds=name not in _MOVING and not is_view and not _is_pointwise(func, name),
        written=frozenset(written | set(_WRITTEN_UNSAID.get(name, ()))),
        is_mutable=schema.is_mutable,
        draws=torch.Tag.nondeterministic_seeded in func.tags,
        dropout=names.index("dropout_p") if "dropout_p" in names else None,
    )


class _Within(TorchDispatchMode):
    """Carries out the steps within an operator, and has each of them rounded."""

    def __init__(self, rounded: Callable[[list, Any], None]) -> None:
        super().__init__()
        self._rounded_step = rounded

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        results = func(*args, **(kwargs or {}))
        name, given = _plain_name(func), list(_tensors(args))
        is_view = any(each.alias_info is not None for each in func._schema.returns)
        if given and name not in _MOVING and name != "_to_copy" and not is_view:
            self._rounded_step(given, results)
        return results


def _scaled_product(
    one: torch.Tensor, other: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None, *_: Any, **__: Any,
) -> torch.Tensor:  # fmt: skip
    """Return what a product of matrices of 8 bits gives, of which there is none in float64."""
    found = (one * scale_a) @ (other * scale_b)
    found = found if bias is None else found + bias
    return found if scale_result is None else found * scale_result


def _nearest(value: Any, dtype: torch.dtype) -> Any:
    return float(torch.tensor(value, dtype=dtype)) if isinstance(value, float) else value


def _is_of(value: Any, dtype: torch.dtype) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == dtype


def _is_rounded(tensor: torch.Tensor) -> bool:
    """Does a type round? What is told in whole numbers, as `argmax` is, adds up nothing."""
    return tensor.is_floating_point() or tensor.is_complex()


def _is_whole(numbers: torch.Tensor) -> bool:
    """Are all numbers of a shadow whole? Its ends tell most that are not."""
    if numbers.dtype != torch.float64 or not numbers.numel():
        return not numbers.is_complex()
    return all(each.is_integer() for each in _ends(numbers)) and bool((numbers == numbers.round()).all())


def _ends(numbers: torch.Tensor) -> Iterator[float]:
    """Return the first and the last number. Where one of them rounds, all are taken to: most tensors of indices are whole."""
    return (numbers[(place,) * numbers.ndim].item() for place in (0, -1))


def _narrowed(value: Any, half: torch.dtype) -> Any:
    return value.to(half) if _is_of(value, torch.float32) else value


def _mapped(function: Callable[[Any], Any], arguments: Any) -> Any:
    """Return arguments with each of them changed; operators take tensors, and lists of them."""
    if isinstance(arguments, (tuple, list)):
        return type(arguments)([_mapped(function, each) for each in arguments])
    return function(arguments)


def _tensors(arguments: Any) -> Iterator[torch.Tensor]:
    for each in arguments:
        if isinstance(each, torch.Tensor):
            yield each
        elif isinstance(each, (tuple, list)):
            yield from _tensors(each)


def _wide(dtype: torch.dtype) -> torch.dtype:
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


def _plain_name(func: Any) -> str:
    """Return the name of an operator; those in place, and those on lists, go by that of the plain one."""
    name = func._schema.name.split("::")[1].removeprefix("_foreach_")
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _is_pointwise(func: Any, name: str) -> bool:
    is_of_lists = func._schema.name.startswith("aten::_foreach_") or _is_fused_update(func)
    return torch.Tag.pointwise in func.tags or is_of_lists or name in ("_to_copy", "addcmul", _OF_FLAGS[1])


def _picks(name: str, args: tuple, kwargs: dict) -> bool:
    """Does a call pick numbers, with arguments with which it does not add them up? Its gradient looks for the very numbers."""
    reduce = kwargs.get("reduce") or next((each for each in args if isinstance(each, str)), None)
    if name in ("scatter_reduce", "index_reduce", "segment_reduce"):
        return reduce in ("amax", "amin", "max", "min")
    return name == "linalg_vector_norm" and len(args) > 1 and math.isinf(args[1])


def _unit_of(dtype: torch.dtype) -> float:
    """Return the largest relative error of one rounding to a type; 1 of a few bits."""
    return 1.0 if dtype in _QUARTERS else UNITS.get(dtype, 0.0)


def _jumps(operator: _Operator, given: list, kwargs: dict) -> bool:
    """Does a call round float32 to whole numbers, or to levels? In halves, rounding alone makes it jump in each draw."""
    if given[0].dtype != torch.float32 or not given[0].numel() or operator.is_mutable:
        return False
    if operator.name == "_to_copy":
        kind = kwargs.get("dtype")
        is_whole = kind is not None and not kind.is_floating_point and not kind.is_complex and kind != torch.bool
        return is_whole or kind in _QUARTERS
    return operator.name in _JUMPING or operator.name in _QUANTIZING


def _is_fused_update(func: Any) -> bool:
    """Is this an optimizer's whole update in one operator?"""
    return func._schema.name.startswith("aten::_fused_") and func._schema.is_mutable


def _counts(name: str, args: tuple, kwargs: dict) -> torch.Tensor | None:
    """Return how many terms come to each element of what an operator adds up by an index, None of any other.

    Rows of a table are hit unevenly, as those of letters are. The result has the shape of the operator's, or of its first axis.
    """
    if name in ("embedding_dense_backward", "_embedding_bag_dense_backward"):
        indices, rows = args[1].reshape(-1), args[2 if name == "embedding_dense_backward" else 5]
        return torch.bincount(indices.clamp_min(0), minlength=rows).to(torch.float64).unsqueeze(-1)
    if name in ("index_put", "_index_put_impl", "_unsafe_index_put"):
        if not (args[3] if len(args) > 3 else kwargs.get("accumulate", False)):
            return None
        one = torch.ones((), dtype=torch.float64)
        return torch.ops.aten.index_put_(torch.zeros(args[0].shape, dtype=torch.float64), args[1], one, True)
    if name == "index_add":
        ones = torch.ones(args[3].shape, dtype=torch.float64)
        return torch.zeros(args[0].shape, dtype=torch.float64).index_add_(args[1], args[2], ones)
    reduce = kwargs.get("reduce") or (args[4] if name == "scatter_reduce" and len(args) > 4 else None)
    if name == "scatter_add" or (name in ("scatter", "scatter_reduce") and reduce in ("add", "sum", "mean", "multiply", "prod")):
        ones = torch.ones(args[2].shape, dtype=torch.float64)
        return torch.zeros(args[0].shape, dtype=torch.float64).scatter_add_(args[1], args[2], ones)
    return None


def _terms(name: str, args: tuple, given: list, out: torch.Tensor) -> float:
    """Return how many terms are added up in each element of a result."""
    if name in ("mm", "bmm", "addmm", "baddbmm", "mv", "dot", "addmv"):
        return given[-1].shape[-2] if given[-1].ndim > 1 else given[-1].shape[-1]
    if name == "_scaled_mm":
        return args[0].shape[-1]
    if name == "convolution":
        return args[1].numel() / args[1].shape[1 if args[6] else 0]
    if name == "convolution_backward":
        gradient, image, weight = given[:3]
        return weight.numel() / image.shape[1] if out.shape == image.shape else gradient.numel() / gradient.shape[1]
    return max(1.0, max(each.numel() for each in given) / out.numel())
