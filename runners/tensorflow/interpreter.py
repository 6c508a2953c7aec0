"""A graph of TensorFlow in float64, and how far rounding moves it: its nodes are run one by one.

The program is traced as it is, in float32 or under a mixed policy: its nodes say which operators run, and in which type each of
their results is held. Each is then run on its own with that operator's float64 kernel, on variables in float64. Without noise
that is the oracle. With noise, each result is off by as much as rounding to the type that the program holds it in: draws of that
are the noise floor.

A function's definition is read, which is a message in a format that TensorFlow keeps for saved models; nothing here depends on
how a release optimises a graph. Choices (comparisons, `argmax`, sorting) are made in float64. What is drawn at random is drawn as
the program draws it, in its own type. Arithmetic with numbers that their type has does not round where it gives another of them,
nor does a sum of whole numbers: an index, as `floor(x) + 1`, is one in each draw.
"""

from __future__ import annotations

import heapq
import math
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from runners.contract.errors import Unsupported
from runners.contract.steps.overflow import LEAST_INFINITE, MOST_ZERO, Overflow
from runners.tensorflow.alternatives import ALTERNATIVES

try:
    from tensorflow.python.eager import context as eager_context
    from tensorflow.python.eager.execute import quick_execute
    from tensorflow.python.framework import op_def_registry
except ImportError as error:
    raise Unsupported(f"TensorFlow {tf.__version__}: its operators cannot be run one by one: {error}") from error

# The largest relative error of one rounding; and half of the smallest number of float16, which gradients come near.
UNITS = {tf.float32.as_datatype_enum: 2.0**-24, tf.bfloat16.as_datatype_enum: 2.0**-8, tf.float16.as_datatype_enum: 2.0**-11}
_LEAST_INFINITE = {tf.as_dtype(name).as_datatype_enum: least for name, least in LEAST_INFINITE.items()}
_MOST_ZERO = {tf.as_dtype(name).as_datatype_enum: most for name, most in MOST_ZERO.items()}
_SINGLE, _HALF = tf.float32.as_datatype_enum, tf.float16.as_datatype_enum
_LEAST_HALF = 2.0**-25
_ACCUMULATION = 2.0**-24  # halves are added up in float32
_SEED = 1997
_POOL = 2**20
_PLACES = 4096
_WIDE, _RESOURCE, _VARIANT = (each.as_datatype_enum for each in (tf.float64, tf.resource, tf.variant))
_COMPLEX = {tf.complex64.as_datatype_enum: tf.complex128.as_datatype_enum}
_FLOATS = {*UNITS, _WIDE}
_ROUNDED = UNITS | dict.fromkeys(_COMPLEX, 2.0**-24)  # of a complex number, both parts

# Their results are what they are given.
_SAME = {
    "Identity",
    "StopGradient",
    "PreventGradient",
    "CheckNumerics",
    "CheckNumericsV2",
    "IdentityN",
    "Snapshot",
    "EnsureShape",
}
# They compute nothing that a step returns.
_IDLE = {"NoOp", "Assert", "Print", "PrintV2", "DebugIdentityV2", "StringFormat", "WriteSummary"}
# Their results hold numbers of their arguments as they are.
_MOVING = {
    "Reshape", "Transpose", "ConjugateTranspose", "StridedSlice", "StridedSliceGrad", "Slice", "Gather", "GatherV2",
    "GatherNd", "ResourceGather", "ResourceGatherNd", "ReadVariableOp", "Select", "SelectV2", "Where", "Maximum", "Minimum",
    "Relu", "ReluGrad", "Relu6", "Relu6Grad", "Pad", "PadV2", "MirrorPad", "Concat", "ConcatV2", "ConcatOffset", "MaxPool",
    "MaxPoolV2", "MaxPoolWithArgmax", "MaxPool3D", "Max", "Min", "Pack", "Unpack", "Split", "SplitV", "Squeeze", "ExpandDims",
    "Tile", "BroadcastTo", "Fill", "ZerosLike", "OnesLike", "OneHot", "Reverse", "ReverseV2", "ReverseSequence", "Roll", "TopK",
    "TopKV2", "Neg", "Abs", "Sign", "ClipByValue", "Range", "MatrixBandPart", "MatrixBandPartV2", "MatrixDiag",
    "MatrixDiagV2", "MatrixDiagV3", "Diag", "DiagPart", "MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3",
    "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3", "RandomShuffle", "InvertPermutation", "DynamicPartition",
    "DynamicStitch", "ParallelDynamicStitch", "SpaceToDepth", "DepthToSpace", "SpaceToBatchND", "BatchToSpaceND",
    "ResizeNearestNeighbor", "UniqueV2", "Unique", "BroadcastArgs", "DeepCopy", "Copy", "TensorListSetItem",
    "TensorListGetItem", "TensorListStack", "TensorListFromTensor", "TensorListReserve", "TensorListGather",
    "TensorListConcatV2", "TensorListSplit", "TensorListPopBack", "TensorListPushBack", "EmptyTensorList",
    "TensorListScatterV2", "TensorScatterUpdate", "ExtractImagePatches", "Floor", "Ceil", "Round", "Rint", "SegmentMax",
    "SegmentMin", "UnsortedSegmentMax", "UnsortedSegmentMin", "OptionalGetValue", "OptionalFromValue", "Const",
    "PlaceholderWithDefault", "Empty", "Bitcast", "MaxPoolGradGrad", "Real", "Imag", "Conj", "Complex", "SparseToDense",
    "UnravelIndex",
}  # fmt: skip
# Each element of their results is computed of one element of each argument. All other operators add up, and so do, in float32,
# what is off by more than a rounding: Betainc, IgammaGradA, BesselK0, BesselK0e and Spence.
_POINTWISE = {
    "Add", "AddV2", "Sub", "Mul", "MulNoNan", "Div", "RealDiv", "DivNoNan", "Xdivy", "Xlogy", "Xlog1py", "FloorDiv",
    "FloorMod", "Mod", "TruncateDiv", "TruncateMod", "Pow", "SquaredDifference", "Square", "Sqrt", "SqrtGrad", "Rsqrt",
    "RsqrtGrad", "Exp", "Expm1", "Log", "Log1p", "Tanh", "TanhGrad", "Sigmoid", "SigmoidGrad", "Softplus", "SoftplusGrad",
    "Softsign", "SoftsignGrad", "Elu", "EluGrad", "Selu", "SeluGrad", "LeakyRelu", "LeakyReluGrad", "Erf", "Erfc", "Erfinv",
    "Ndtri", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Atan2", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Inv",
    "InvGrad", "Reciprocal", "ReciprocalGrad", "Lgamma", "Digamma", "Polygamma", "Zeta", "Igamma", "Igammac", "BesselI0",
    "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1", "BesselK1", "BesselK1e", "BesselY0", "BesselY1", "Dawsn",
    "Expint", "FresnelCos", "FresnelSin", "BiasAdd", "BiasAddV1", "AddN", "Cast", "LinSpace", "AssignAddVariableOp",
    "AssignSubVariableOp", "ResourceApplyGradientDescent", "ResourceApplyMomentum", "ResourceApplyKerasMomentum",
    "ResourceApplyAdam", "ResourceApplyAdamWithAmsgrad", "ResourceApplyAdagrad", "ResourceApplyAdagradV2",
    "ResourceApplyRMSProp", "ResourceApplyCenteredRMSProp", "ResourceApplyAdadelta", "ResourceApplyFtrl", "ResourceApplyFtrlV2",
    "ResourceApplyAdaMax", "AccumulateNV2", "ComplexAbs", "ResourceStridedSliceAssign",
}  # fmt: skip
# Their results have gates in them, which rounding may flip: a result above zero, or not.
_GATED = {"Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Abs"}
# Their results jump, at many places: of a hundred thousand elements one may be so near to such a place that it jumps in the
# program, and in no draw. What they are given is moved by so many units in draws, so that draws jump where the program may:
# tensors of correct programs lie at up to 6.3 floors, of the clean rows in reference_results/own_steps.
_JUMPING = {"Floor", "Ceil", "Round", "Rint", "FloorDiv"}
_QUANTIZING = {"FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"}
_JUMP_UNITS = 8.0
_REDUCING = {"Sum", "Mean", "Prod"}
_SUMMING = {"Sum", "Mean", "BiasAddGrad"}
# Each element of their results has as many terms as the indices say, those of one row may be most of them: the argument of the
# indices, which count rows of the result, or lead into it by their last axis.
_BY_ROWS = {
    "UnsortedSegmentSum": 1, "UnsortedSegmentProd": 1, "SegmentSum": 1, "SegmentSumV2": 1, "SegmentMean": 1, "SegmentProd": 1,
    "SegmentProdV2": 1, "SparseSegmentSum": 2, "SparseSegmentSumWithNumSegments": 2, "SparseSegmentMean": 2,
    "SparseSegmentMeanWithNumSegments": 2, "SparseSegmentSqrtN": 2, "SparseSegmentSqrtNWithNumSegments": 2,
    "SparseSegmentSumGrad": 1, "SparseSegmentMeanGrad": 1, "SparseSegmentSqrtNGrad": 1, "ResourceScatterAdd": 1,
    "ResourceScatterSub": 1, "Bincount": 0,
}  # fmt: skip
_BY_PLACES = {
    "TensorScatterAdd": 1, "TensorScatterSub": 1, "ScatterNd": 0, "ScatterNdNonAliasingAdd": 1, "ResourceScatterNdAdd": 1,
    "ResourceScatterNdSub": 1,
}  # fmt: skip
# Each factor of a product rounds it once more.
_MULTIPLYING = {"Prod", "Cumprod", "SegmentProd", "SegmentProdV2", "UnsortedSegmentProd"}
_SCALING = {"Mul", "RealDiv", "Div", "DivNoNan", "MulNoNan"}
# Of numbers that their type has they may give another one, which is not rounded; so may what adds up.
_ARITHMETIC = {"Add", "AddV2", "Sub", "AddN", *_SCALING}
# What they say of their arguments is not a number of them.
_OF_FORM = {
    "Shape", "ShapeN", "Size", "Rank", "VariableShape", "TensorListLength", "TensorListElementShape", "VarIsInitializedOp",
    "BroadcastGradientArgs",
}  # fmt: skip
_RANDOM = {
    "Multinomial", "StatelessMultinomial", "TruncatedNormal", "ParameterizedTruncatedNormal", "StatefulStandardNormal",
    "StatefulStandardNormalV2", "StatefulUniform", "StatefulUniformInt", "StatefulUniformFullInt",
    "StatefulTruncatedNormal", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2",
    "StatelessParameterizedTruncatedNormal", "Bitcast",
}  # fmt: skip
_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
_BRANCHES = {"If", "StatelessIf"}
_CASES = {"Case", "StatelessCase"}
_LOOPS = {"While", "StatelessWhile"}
_LEAVES_PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


class _Node(NamedTuple):
    """One operator: how it is carried out, of which slots it takes and in which it leaves what it computes."""

    work: Callable[[Interpreter, _Node, list], Sequence[Any]]
    type: str
    name: str
    inputs: tuple[int, ...]
    outputs: range
    attributes: tuple[Any, ...]
    given: tuple[int, ...]  # types in the program
    types: tuple[int, ...]
    plain: Mapping[str, Any]
    scale: float | None
    bodies: tuple[str, ...]
    is_own: bool  # comes of constants alone: what is exact in its type is not rounded, as the power of a derivative
    last: tuple[int, ...]  # slots that nothing needs after it


class _Body(NamedTuple):
    """A function: its nodes in an order in which they can run."""

    nodes: tuple[_Node, ...]
    slots: int
    outputs: tuple[int, ...]


class Traced:
    """A function of TensorFlow as it was traced: what `Interpreter.run` carries out.

    Args:
        concrete: a concrete function; its arguments are tensors, its result is a list of them.
    """

    def __init__(self, concrete: Any) -> None:
        graph = concrete.graph
        self.variables = list(graph.variables)
        self.captured = list(concrete.captured_inputs)
        self._definitions = {each.signature.name: each for each in graph.as_graph_def().library.function}
        self._definitions[""] = concrete.function_def
        self._bodies: dict[tuple[str, tuple[int, ...] | None], _Body] = {}

    def body(self, name: str, wanted: tuple[int, ...] | None = None) -> _Body:
        """Return a function of it, read once. `wanted`: those of its results; None for all."""
        key = name, wanted
        if key not in self._bodies:
            if name not in self._definitions:
                raise Unsupported(f"function {name}: its definition is not part of the graph")
            self._bodies[key] = _read(self._definitions[name], self._definitions, wanted)
        return self._bodies[key]

    def operators(self) -> set[str]:
        """Return the types of all operators, those of functions that it calls among them."""
        return {node.op for each in self._definitions.values() for node in each.node_def}


class Interpreter:
    """Carries out traced functions in float64, on variables of its own.

    `choices`: of each operator that chooses, in order, its name and a checksum of what it chose.
    `overflow`: without rounding, the first operator that gave a finite number which the program's type cannot hold.
    """

    def __init__(self) -> None:
        self.choices: list[tuple[str, int]] = []
        self.overflow: Overflow | None = None
        self._overflows = False
        self.operators = 0
        self._context = eager_context.context()
        self._variables: dict[int, tuple[Any, tf.Tensor, tf.Variable]] = {}
        self._own: dict[int, tuple[tf.Variable, tf.Variable]] = {}
        self._draw: int | None = None
        self._places = random.Random(_SEED)
        self._uniform = np.zeros(0)
        self._factors: dict[float, tf.Tensor] = {}
        self._shapes: dict[tuple[int, ...], tf.Tensor] = {}
        self._traced: Traced | None = None

    def restart(self, draw: int | None, *, overflows: bool = False) -> None:
        """Begin anew with the variables' first values, without rounding (None) or with the rounding of a draw.

        Args:
            overflows: what the program's type cannot hold becomes infinite, or zero, as it does in the program.
        """
        self.choices, self.overflow, self._overflows = [], None, overflows
        self.operators = 0
        self._draw = draw
        self._places = random.Random(_SEED + (draw or 0))
        if draw is not None and not self._uniform.size:
            self._uniform = np.random.default_rng(_SEED).uniform(-1.0, 1.0, _POOL)
            self._starts = [tf.constant([8 * place * (_POOL // 8 // _PLACES)]) for place in range(_PLACES)]
        for _, first, wide in self._variables.values():
            attributes = ("dtype", first.dtype.as_datatype_enum)
            quick_execute("AssignVariableOp", 0, [wide.handle, first], attributes, self._context)

    def of(self, variable: tf.Variable) -> tf.Variable:
        """Return the interpreter's own of a variable of the program, which at first holds the same numbers."""
        key = id(variable.handle)
        if key not in self._variables:
            first = self.widened(variable.read_value())
            with tf.init_scope():
                wide = tf.Variable(first, trainable=False, dtype=first.dtype)
            self._variables[key] = variable, first, wide
            self._own[id(wide.handle)] = variable, wide
        return self._variables[key][2]

    def run(self, traced: Traced, arguments: Sequence[Any], wanted: tuple[int, ...] | None = None) -> list[tf.Tensor]:
        """Return a function's results in float64. `wanted`: the places of those that are needed; None for all."""
        for variable in traced.variables:
            self.of(variable)
        captured = [
            self._variables[id(each)][2].handle if id(each) in self._variables else self.widened(each) for each in traced.captured
        ]
        outer, self._traced = self._traced, traced
        try:
            with tf.device("CPU:0"):
                return self._carry_out(traced.body("", wanted), [*map(self.widened, arguments), *captured])
        finally:
            self._traced = outer

    def widened(self, tensor: Any) -> Any:
        """Return a tensor with its numbers in float64, and what holds none as it is."""
        tensor = tf.convert_to_tensor(tensor)
        return tf.cast(tensor, _wide(tensor.dtype.as_datatype_enum)) if _wide(tensor.dtype.as_datatype_enum) else tensor

    def _carry_out(self, body: _Body, arguments: Sequence[Any]) -> list[Any]:
        held: list[Any] = [*arguments, *(None,) * (body.slots - len(arguments))]
        for node in body.nodes:
            results = node.work(self, node, [held[place] for place in node.inputs])
            for place, result in zip(node.outputs, results, strict=False):
                held[place] = result
            for place in node.last:
                held[place] = None
        return [held[place] for place in body.outputs]

    def _execute(self, node: _Node, inputs: list, attributes: tuple | None = None) -> list:
        try:
            return quick_execute(
                node.type, len(node.outputs), inputs, node.attributes if attributes is None else attributes, self._context
            )
        except (tf.errors.OpError, TypeError, ValueError) as error:
            if isinstance(error, tf.errors.ResourceExhaustedError):
                raise
            said = (str(error).strip().splitlines() or [""])[0]
            raise Unsupported(f"operator {node.type} ({node.name}): cannot be carried out in float64: {said}") from error

    def _computed(self, node: _Node, inputs: list) -> Sequence[Any]:
        """Carry out an operator in float64, with noise."""
        return self._rounded(node, inputs, lambda given: self._execute(node, given))

    def _alternative(self, node: _Node, inputs: list) -> Sequence[Any]:
        """Carry out an operator that has no float64 kernel by others that have one."""
        return self._rounded(node, inputs, lambda given: ALTERNATIVES[node.type](node.plain, *given))

    def _rounded(self, node: _Node, inputs: list, work: Callable[[list], Sequence[Any]]) -> Sequence[Any]:
        self.operators += 1
        adds = node.type not in _MOVING and node.type not in _POINTWISE
        adds_up = adds and node.type not in _MULTIPLYING and any(each in _ROUNDED for each in node.types)
        if self._draw is not None and adds_up and not all(map(_is_whole, inputs)):
            # What adds up rounds within itself.
            inputs = [
                self._noisy(each, _accumulation(node, kind)) if kind in _ROUNDED and each.shape.rank else each
                for each, kind in zip(inputs, node.given, strict=True)
            ]
        if self._draw is not None and _jumps(node) and _count(inputs[0]):
            inputs = [self._beside(inputs[0], is_whole_kept=node.type not in _QUANTIZING), *inputs[1:]]
        changes = self._draw is not None and _RESOURCE in node.given and node.type not in _NOT_ROUNDING
        is_whole = node.type in _CHANGING_ALL
        before = (
            [(each, None if is_whole else self._read(each)) for each in inputs if each.dtype == tf.resource] if changes else ()
        )
        results = list(work(inputs))
        for handle, old in before:
            self._round_variable(node, inputs, handle, old)
        if any(each in _FLOATS for each in node.given):
            self._choose(node, inputs, results)
        if self._draw is None:
            return [self._held(node, *each) for each in zip(results, node.types, strict=True)]
        return [
            self._rounded_result(node, inputs, result, kind, adds=adds) if kind in _ROUNDED else result
            for result, kind in zip(results, node.types, strict=True)
        ]

    def _beside(self, tensor: Any, *, is_whole_kept: bool) -> Any:
        """Return the argument of an operator that jumps, moved by as much as rounding in the program may have moved it.

        Args:
            is_whole_kept: whole numbers and those half way between are not moved: they are such by their making, as indices are.
        """
        finite = tf.where(tf.math.is_finite(tensor), tensor, 0.0)
        size = tf.abs(finite) + tf.sqrt(tf.reduce_mean(tf.square(finite)))
        moved = tensor + (self._noise(tensor, _ACCUMULATION) - 1.0) * _JUMP_UNITS * size
        return tf.where(2.0 * tensor == tf.round(2.0 * tensor), tensor, moved) if is_whole_kept else moved

    def _rounded_result(self, node: _Node, inputs: list, result: Any, kind: int, *, adds: bool) -> Any:
        """Return a result as far off as rounding to the program's type puts it."""
        unit = _ROUNDED[kind]
        if node.type in _MOVING or (node.type == "Cast" and kind in _COMPLEX):
            return result
        if node.type in _REDUCING and _count(inputs[0]) == _count(result):
            return result
        if adds:
            unit = _unit_of_sum(node, inputs, result, kind)
        if node.scale is not None and math.frexp(node.scale)[0] in (0.5, -0.5, 0.0):
            return result  # a power of two
        exact = result
        result = self._noisy(result, unit)
        if adds and node.type in _SUMMING and kind in UNITS and _count(exact):
            result = result + self._left_by_cancelling(node, inputs, exact) * (self._noise(exact, _ACCUMULATION) - 1.0)
        if kind in UNITS and (node.is_own or ((adds or node.type in _ARITHMETIC) and _may_be_held(node, exact, kind))):
            return tf.where(tf.cast(tf.cast(exact, kind), tf.float64) == exact, exact, result)
        if node.scale is not None and kind in UNITS:  # it is rounded as well, for all elements alike
            result = _multiply(self._context, result, self._one(_ACCUMULATION))
        if kind == _HALF:
            result = result + _LEAST_HALF / _ACCUMULATION * (self._noise(result, _ACCUMULATION) - 1.0)
        return result

    def _left_by_cancelling(self, node: _Node, inputs: list, result: Any) -> Any:
        """Return how many units a sum is off besides a share of itself: on the way to a small one, it is as large as its terms.

        BiasAddGrad and XLA on a CPU add up term by term (Higham 2002, Accuracy and Stability of Numerical Algorithms, 4.2).
        """
        n = _count(inputs[0]) / _count(result)
        of_squares = tf.sqrt(self._execute(node, [inputs[0] * inputs[0], *inputs[1:]])[0])
        left = of_squares * ((1.0 if node.type == "Mean" else math.sqrt(n)) / 3.0)
        return tf.where(tf.math.is_finite(left), left, 0.0)  # a sum that is infinite stays so

    def _same(self, node: _Node, inputs: list) -> Sequence[Any]:
        return inputs

    def _idle(self, node: _Node, inputs: list) -> Sequence[Any]:
        return ()

    def _constant(self, node: _Node, inputs: list) -> Sequence[Any]:
        return (node.plain["value"],)

    def _cast(self, node: _Node, inputs: list) -> Sequence[Any]:
        """Carry out a cast, which rounds where it narrows."""
        (given,), (kind,) = node.given, node.types
        if kind not in _FLOATS:
            return self._computed(node, inputs)
        if given not in _FLOATS:
            self.operators += 1
            results = self._execute(node, inputs)
            if self._draw is None or kind not in UNITS or float(tf.reduce_max(tf.abs(results[0]))) * UNITS[kind] <= 1.0:
                return results  # whole numbers that the type holds, as classes are
            return (self._rounded_result(node, inputs, results[0], kind, adds=False),)
        self.operators += 1
        if self._draw is not None and UNITS.get(given, 0.0) < UNITS.get(kind, 0.0):
            return (self._rounded_result(node, inputs, inputs[0], kind, adds=False),)
        return [self._held(node, inputs[0], kind)] if self._draw is None else inputs

    def _held(self, node: _Node, result: Any, kind: int) -> Any:
        """Note what rounds to infinity in the program's type. Return the result, as it is there if overflows are carried out."""
        least = _LEAST_INFINITE.get(kind)
        if least is None or not _count(result):
            return result
        size = np.abs(numbers := result.numpy())
        if self._overflows and kind in _MOST_ZERO:
            numbers = np.where(size <= _MOST_ZERO[kind], 0.0, numbers)
            result = tf.constant(numbers)
        leaves = (size >= least) & np.isfinite(size)
        if not leaves.any():
            return result
        if self.overflow is None:
            self.overflow = Overflow(f"{node.name} ({node.type})", tf.as_dtype(kind).name, float(size[leaves].max()))
        return tf.constant(np.where(leaves, np.copysign(np.inf, numbers), numbers)) if self._overflows else result

    def _as_it_is(self, node: _Node, inputs: list) -> Sequence[Any]:
        """Carry out an operator as the program does, in its own types."""
        self.operators += 1
        own = [tf.cast(each, kind) if _wide(kind) else each for each, kind in zip(inputs, node.given, strict=True)]
        return [self.widened(each) for each in self._execute(node, own)]

    def _call(self, node: _Node, inputs: list) -> Sequence[Any]:
        return self._carry_out(self._body(node.bodies[0]), inputs)

    def _branch(self, node: _Node, inputs: list) -> Sequence[Any]:
        return self._carry_out(self._body(node.bodies[0 if _is_true(inputs[0]) else 1]), inputs[1:])

    def _case(self, node: _Node, inputs: list) -> Sequence[Any]:
        index = int(inputs[0])
        return self._carry_out(self._body(node.bodies[index if 0 <= index < len(node.bodies) else -1]), inputs[1:])

    def _loop(self, node: _Node, inputs: list) -> Sequence[Any]:
        condition, body = map(self._body, node.bodies)
        while _is_true(self._carry_out(condition, inputs)[0]):
            inputs = self._carry_out(body, inputs)
        return inputs

    def _body(self, name: str) -> _Body:
        assert self._traced is not None
        return self._traced.body(name)

    def _read(self, handle: Any) -> Any:
        """Return what a variable holds, a copy: updates are made in place. None where it is no variable of numbers."""
        known = self._own.get(id(handle))
        return known[1].numpy().copy() if known and known[1].dtype == tf.float64 else None

    def _round_variable(self, node: _Node, inputs: list, handle: Any, old: np.ndarray | None) -> None:
        """Round what an operator changed of a variable. `old`: its numbers before; None where all of them change."""
        variable, wide = self._own.get(id(handle), (None, None))
        kind = None if variable is None else variable.dtype.as_datatype_enum
        if kind not in UNITS or not _count(wide):
            return
        unit = _unit_of_sum(node, inputs, wide, kind) if node.type in _BY_ROWS or node.type in _BY_PLACES else UNITS[kind]
        attributes = ("dtype", _WIDE)
        new = quick_execute("ReadVariableOp", 1, [handle], attributes, self._context)[0]
        rounded = self._noisy(new, unit)
        if old is not None:
            rounded = tf.where(tf.constant(new.numpy() != old), rounded, new)
        quick_execute("AssignVariableOp", 0, [handle, rounded], attributes, self._context)

    def _choose(self, node: _Node, inputs: list, results: list) -> None:
        """Note what an operator of numbers chose: what is no number itself, or on which side of a gate it is."""
        if node.type in _GATED:
            self._note(node, results[0] > 0)
        elif node.type in _JUMPING or node.type in _QUANTIZING:
            self._note(node, results[0])
        elif node.type == "MaxPool" and node.plain.get("data_format", b"NHWC") == b"NHWC":
            plain = node.plain
            chosen = tf.raw_ops.MaxPoolWithArgmax(
                input=inputs[0], ksize=plain["ksize"], strides=plain["strides"], padding=plain["padding"]
            ).argmax if plain["padding"] != b"EXPLICIT" else results[0]  # fmt: skip
            self._note(node, chosen)
        elif node.type not in _OF_FORM:
            for result, kind in zip(results, node.types, strict=True):
                if kind not in _FLOATS and kind not in (_RESOURCE, _VARIANT) and kind not in _COMPLEX:
                    self._note(node, result)

    def _note(self, node: _Node, chosen: Any) -> None:
        self.choices.append((node.type, zlib.crc32(np.ascontiguousarray(chosen.numpy()).tobytes())))

    def _noisy(self, tensor: Any, unit: float | np.ndarray) -> Any:
        """Return a tensor with each element off by up to a unit: of all of it, or of what broadcasts to it."""
        if not _count(tensor):
            return tensor
        if tensor.dtype == tf.complex128:  # it is moved in its angle as well
            parts = [(self._noise(tensor, _ACCUMULATION) - 1.0) * (unit / _ACCUMULATION) for _ in range(2)]
            return tensor * tf.complex(1.0 + parts[0], parts[1])
        if isinstance(unit, np.ndarray):
            return tensor * (1.0 + (self._noise(tensor, _ACCUMULATION) - 1.0) * (unit / _ACCUMULATION))
        return _multiply(self._context, tensor, self._noise(tensor, unit))

    def _noise(self, tensor: Any, unit: float) -> Any:
        """Return numbers within a unit of 1 in the shape of a tensor, taken from a place at random in a pool.

        They are made once for all draws: a draw is its places.
        """
        n, shape = _count(tensor), tuple(tensor.shape)
        if unit not in self._factors:
            if len(self._factors) >= 24:
                self._factors.pop(next(iter(self._factors)))
            self._factors[unit] = tf.constant(1.0 + unit * self._uniform)
        pool = self._factors[unit]
        if 2 * n <= _POOL:
            found = self._slice(pool, n)
        else:  # of pieces, so that each place is as random as it is in a small tensor
            piece = _POOL // 2
            found = tf.concat([self._slice(pool, min(piece, n - first)) for first in range(0, n, piece)], 0)
        if len(shape) == 1:
            return found
        return quick_execute("Reshape", 1, [found, self._shape(shape)], ("T", _WIDE, "Tshape", 3), self._context)[0]

    def _slice(self, pool: Any, n: int) -> Any:
        step = _POOL // _PLACES
        start = self._starts[self._places.randrange(max(1, (_POOL - n) // step))]
        return quick_execute("Slice", 1, [pool, start, self._shape((n,))], ("T", _WIDE, "Index", 3), self._context)[0]

    def _shape(self, shape: tuple[int, ...]) -> Any:
        if shape not in self._shapes:
            self._shapes[shape] = tf.constant(shape, tf.int32)
        return self._shapes[shape]

    def _one(self, unit: float) -> Any:
        return tf.constant(1.0 + unit * self._places.uniform(-1.0, 1.0), tf.float64)


_CHANGING_ALL = {"AssignAddVariableOp", "AssignSubVariableOp"}
_NOT_ROUNDING = {"ReadVariableOp", "AssignVariableOp", "ResourceGather", "ResourceGatherNd", *_OF_FORM, *_RANDOM}


def _multiply(context: Any, one: Any, other: Any) -> Any:
    return quick_execute("Mul", 1, [one, other], ("T", _WIDE), context)[0]


def _count(tensor: Any) -> int:
    return tensor.shape.num_elements()


def _is_true(tensor: Any) -> bool:
    value = tensor.numpy()
    return bool(value) if value.ndim == 0 else value.size > 0


def _wide(kind: int) -> int | None:
    """Return the type that numbers of a type are held in here; None for what holds none."""
    return _WIDE if kind in _FLOATS else _COMPLEX.get(kind)


def _jumps(node: _Node) -> bool:
    """Does an operator round float32 to whole numbers, or to levels? In halves, rounding alone makes it jump in each draw."""
    if not node.given or node.given[0] != _SINGLE or node.is_own:
        return False
    kind = tf.as_dtype(node.types[0]) if node.type == "Cast" else tf.float32
    return kind.is_integer or kind.name.startswith("float8") or node.type in _JUMPING or node.type in _QUANTIZING


def _may_be_held(node: _Node, result: Any, kind: int) -> bool:
    """Has a type the first number of a result, and all that rows are added up to on the way to it?"""
    numbers = result.numpy()
    with np.errstate(over="ignore"):
        if not (numbers.flat[:1].astype(tf.as_dtype(kind).as_numpy_dtype).astype(np.float64) == numbers.flat[:1]).all():
            return False
    is_by_row = node.type in _BY_ROWS or node.type in _BY_PLACES
    return not is_by_row or float(np.abs(numbers).max(initial=0.0)) * UNITS[kind] <= 1.0


def _is_whole(tensor: Any) -> bool:
    """Are all numbers of a tensor whole? The first one tells most that are not."""
    if tensor.dtype not in (tf.float64, tf.complex128):
        return True
    numbers = tensor.numpy()
    return all(np.array_equal(part, np.rint(part)) for part in (numbers.flat[:1], numbers))


def _accumulation(node: _Node, kind: int) -> float:
    """Return how far each term of a sum is rounded; rows are added up in their own type, all else in float32."""
    return max(_ROUNDED[kind], _ACCUMULATION) if node.type in _BY_ROWS or node.type in _BY_PLACES else _ACCUMULATION


def _unit_of_sum(node: _Node, inputs: list, result: Any, kind: int) -> float | np.ndarray:
    """Return how far each element of a sum or product of several is rounded, as what broadcasts against the result."""
    root = np.sqrt(_terms(node, inputs, result))
    found = _ROUNDED[kind] * root if node.type in _MULTIPLYING else _ROUNDED[kind] + root / 3.0 * _accumulation(node, kind)
    return found if np.ndim(found) else float(found)


def _terms(node: _Node, inputs: list, result: Any) -> float | np.ndarray:
    """Return how many terms are added up, or multiplied, in each element of a result, as what broadcasts against it."""
    if node.type in _BY_ROWS or node.type in _BY_PLACES:
        return _terms_of_rows(node, inputs, tuple(result.shape))
    if node.type == "SparseTensorDenseMatMul":
        rows = inputs[0].numpy()[:, 1 if node.plain["adjoint_a"] else 0]
        return float(max(1, np.bincount(rows, minlength=1).max()))
    if node.type in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
        return float(inputs[0].shape[int(inputs[1])])
    if "FFT" in node.type:  # adds up two numbers at a time
        axes = int(node.type.rstrip("D")[-1]) if node.type.endswith("D") else 1
        return 1.0 + math.log2(max(1, *(math.prod(tuple(each.shape)[-axes:]) for each in (inputs[0], result))))
    given = zip(inputs, node.given, strict=True)
    sizes, n = [_count(each) or 0 for each, kind in given if kind in _FLOATS or kind in _COMPLEX], _count(result)
    if not sizes or not n:
        return 1.0
    if node.type == "MatMul":
        return inputs[0].shape[0 if node.plain["transpose_a"] else 1]
    if node.type in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
        return inputs[0].shape[-2 if node.plain["adj_x"] else -1]
    if node.type == "Einsum":
        return _einsum_terms(node.plain["equation"].decode(), inputs)
    if node.type in ("Conv2D", "Conv3D", "Conv"):
        return sizes[1] / inputs[1].shape[-1]
    if node.type in ("Conv2DBackpropInput", "Conv3DBackpropInputV2"):
        return sizes[0] / inputs[1].shape[-2]
    if node.type in ("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput"):
        image, kernel = (0, 1) if node.type == "DepthwiseConv2dNative" else (None, 1)
        height, width, _, multiplier = inputs[kernel].shape
        return height * width * (1 if image == 0 else multiplier)
    if node.type in ("Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter"):
        is_last = not node.plain.get("data_format", b"NHWC").startswith(b"NC")
        return sizes[-1] / inputs[2].shape[-1 if is_last else 1]
    return max(1.0, max(sizes) / n)


def _terms_of_rows(node: _Node, inputs: list, shape: tuple[int, ...]) -> np.ndarray:
    """Return how many terms the indices of an operator bring to each row of its result, at least 1."""
    if node.type in _BY_ROWS:
        indices, within = inputs[_BY_ROWS[node.type]].numpy().ravel(), shape[:1]
    else:
        indices = inputs[_BY_PLACES[node.type]].numpy()
        within = shape[: indices.shape[-1]]
        places = np.moveaxis(indices.reshape(-1, indices.shape[-1]), -1, 0)
        indices = np.ravel_multi_index(tuple(places), within, mode="clip") if within else np.zeros(len(indices), np.int64)
    rows = math.prod(within)
    counts = np.bincount(indices[(indices >= 0) & (indices < rows)], minlength=rows)  # others are left out
    return np.maximum(counts, 1.0).reshape(*within, *(1,) * (len(shape) - len(within)))


def _einsum_terms(equation: str, inputs: list) -> float:
    left, _, right = equation.partition("->")
    terms: dict[str, int] = {}
    for labels, tensor in zip(left.split(","), inputs, strict=True):
        before, _, after = labels.partition("...")
        terms |= dict(zip(before, tensor.shape, strict=False)) | dict(zip(after[::-1], tuple(tensor.shape)[::-1], strict=False))
    return math.prod(size for label, size in terms.items() if label not in right)


def _read(definition: Any, library: Mapping[str, Any], wanted: tuple[int, ...] | None) -> _Body:
    """Return a function's nodes, those that its results need and those that change state, in an order in which they can run."""
    nodes = {node.name: node for node in definition.node_def}
    results = [definition.ret[each.name] for each in definition.signature.output_arg]
    results = results if wanted is None else [results[place] for place in wanted]
    order = _ordered(nodes, _needed(nodes, [*results, *definition.control_ret.values()]))
    slots: dict[str, int] = {each.name: place for place, each in enumerate(definition.signature.input_arg)}
    types: dict[int, int] = {place: each.type for place, each in enumerate(definition.signature.input_arg)}
    count = len(slots)
    scalars: dict[int, float] = {}
    own: set[int] = set()
    read: list[_Node] = []
    for name in order:
        node = nodes[name]
        inputs = tuple(slots[each] for each in node.input if not each.startswith("^"))
        form = library[node.op].signature if node.op in library else op_def_registry.get(node.op)
        if form is None:
            raise Unsupported(f"operator {node.op} ({name}): this release does not know it")
        kinds: list[int] = []
        for argument in form.output_arg:
            for index, kind in enumerate(_kinds(argument, node)):
                slots[f"{name}:{argument.name}:{index}"] = count + len(kinds)
                if index == 0:
                    slots[f"{name}:{argument.name}"] = count + len(kinds)
                kinds.append(kind)
        outputs = range(count, count + len(kinds))
        types |= dict(zip(outputs, kinds, strict=True))
        count += len(kinds)
        scale = next((scalars[each] for each in inputs if each in scalars), None) if node.op in _SCALING else None
        read.append(_node(node, form, inputs, outputs, tuple(types[each] for each in inputs), tuple(kinds), scale, library))
        if node.op == "Const" or (inputs and own.issuperset(inputs) and not form.is_stateful):
            own.update(outputs)
            read[-1] = read[-1]._replace(is_own=True)
        if node.op == "Const" and (value := read[-1].plain["value"]).shape.rank == 0 and kinds[0] in UNITS:
            scalars[outputs[0]] = float(value)
        elif node.op in (*_SAME, "Cast") and len(inputs) == 1 and inputs[0] in scalars:
            scalars[outputs[0]] = scalars[inputs[0]]
    kept = tuple(slots[each] for each in results)
    return _Body(tuple(_with_last(read, set(kept))), count, kept)


def _with_last(nodes: list[_Node], kept: set[int]) -> list[_Node]:
    """Return nodes that know which slots are of no more use after them."""
    seen, changed = set(kept), []
    for node in reversed(nodes):
        mine = {*node.inputs, *node.outputs}
        changed.append(node._replace(last=tuple(mine - seen)))
        seen |= mine
    return changed[::-1]


def _needed(nodes: Mapping[str, Any], results: Sequence[str]) -> set[str]:
    found: set[str] = set()
    left = [each.split(":")[0] for each in results]
    while left:
        name = left.pop()
        if name in nodes and name not in found:
            found.add(name)
            left += [each.lstrip("^").split(":")[0] for each in nodes[name].input]
    return found


def _ordered(nodes: Mapping[str, Any], needed: set[str]) -> list[str]:
    """Return the needed nodes, each after all that it takes, otherwise in the order of the definition."""
    place = {name: index for index, name in enumerate(nodes)}
    waits = {
        name: {each.lstrip("^").split(":")[0] for each in nodes[name].input} & needed
        for name in sorted(needed, key=lambda each: place[each])
    }
    followers: dict[str, list[str]] = {}
    for name, before in waits.items():
        for each in before:
            followers.setdefault(each, []).append(name)
    ready = [place[name] for name, before in waits.items() if not before]
    heapq.heapify(ready)
    names, order = list(nodes), []
    while ready:
        name = names[heapq.heappop(ready)]
        order.append(name)
        for each in followers.get(name, ()):
            waits[each].discard(name)
            if not waits[each]:
                heapq.heappush(ready, place[each])
    if len(order) < len(needed):
        raise Unsupported("its graph has loops of the first version of TensorFlow, which are not read")
    return order


def _kinds(argument: Any, node: Any) -> list[int]:
    """Return the types of an argument, which may be a list of tensors."""
    if argument.type_list_attr:
        return list(node.attr[argument.type_list_attr].list.type)
    kind = argument.type or node.attr[argument.type_attr].type
    return [kind] * (node.attr[argument.number_attr].i if argument.number_attr else 1)


def _node(
    node: Any,
    form: Any,
    inputs: tuple[int, ...],
    outputs: range,
    given: tuple[int, ...],
    kinds: tuple[int, ...],
    scale: float | None,
    library: Mapping[str, Any],
) -> _Node:
    plain = {each.name: _plain(each, node.attr[each.name]) for each in form.attr if each.name in node.attr}
    bodies: tuple[str, ...] = ()
    is_own = "Random" in node.op or node.op in _RANDOM
    if node.op == "RandomShuffle":
        is_own = False
    if node.op == "Const":
        value = tf.make_ndarray(node.attr["value"].tensor)
        plain = {"value": tf.cast(tf.constant(value), _wide(kinds[0])) if _wide(kinds[0]) else tf.constant(value)}
        work = Interpreter._constant
    elif node.op in _SAME:
        work = Interpreter._same
    elif node.op in _IDLE:
        work = Interpreter._idle
    elif node.op in library:
        work, bodies = Interpreter._call, (node.op,)
    elif node.op in _CALLS:
        work, bodies = Interpreter._call, (plain["f"],)
    elif node.op in _BRANCHES:
        work, bodies = Interpreter._branch, (plain["then_branch"], plain["else_branch"])
    elif node.op in _CASES:
        work, bodies = Interpreter._case, tuple(plain["branches"])
    elif node.op in _LOOPS:
        work, bodies = Interpreter._loop, (plain["cond"], plain["body"])
    elif node.op in _LEAVES_PYTHON or any(each.type in ("func", "list(func)") for each in form.attr):
        raise Unsupported(f"operator {node.op} ({node.name}): it calls what is no part of the graph")
    elif node.op == "Cast":
        work = Interpreter._cast
    elif node.op in ALTERNATIVES:
        work = Interpreter._alternative
    elif is_own:
        work = Interpreter._as_it_is
    elif any(each.type in UNITS for each in (*form.input_arg, *form.output_arg)):
        raise Unsupported(f"operator {node.op} ({node.name}): has no float64 kernel")
    else:
        work = Interpreter._computed
    attributes: list[Any] = []
    for each in form.attr:
        if work in _WITH_ATTRIBUTES and each.name in plain:
            attributes += [each.name, _widened(each, plain[each.name]) if work is not Interpreter._as_it_is else plain[each.name]]
    return _Node(work, node.op, node.name, inputs, outputs, tuple(attributes), given, kinds, plain, scale, bodies, False, ())


_WITH_ATTRIBUTES = (Interpreter._computed, Interpreter._cast, Interpreter._as_it_is)


def _widened(form: Any, value: Any) -> Any:
    """Return an attribute with its types widened."""
    if form.type == "type":
        return _wide(value) or value
    return [_wide(each) or each for each in value] if form.type == "list(type)" else value


def _plain(form: Any, value: Any) -> Any:
    """Return an attribute as Python's own."""
    field = {"string": "s", "int": "i", "float": "f", "bool": "b", "type": "type", "shape": "shape", "func": "func"}
    kind = form.type[5:-1] if form.type.startswith("list(") else form.type
    if kind not in field:
        return None

    def one(item: Any) -> Any:
        if kind == "shape":
            return None if item.unknown_rank else [each.size for each in item.dim]
        return item.name if kind == "func" else item

    if form.type.startswith("list("):
        return [one(each) for each in getattr(value.list, field[kind])]
    return one(getattr(value, field[kind]))
