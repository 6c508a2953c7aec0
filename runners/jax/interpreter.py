"""A program of JAX as a list of equations, carried out in float64; and how far rounding moves it.

A program's jaxpr, with the calls in it written out, says which operators run, and in which type each result is held. Every
number that the program holds in float32, bfloat16 or float16 is held in float64 here. Without noise this is the oracle. With
noise, each result is off by as much as rounding to the type that the program holds it in: draws of that are the noise floor.

What comes of whole numbers and constants alone, such as what is drawn at random, rounds only where it is not exact in its type:
`uniform` gives the program's own numbers, and what is dropped is dropped. Nor does arithmetic with numbers that their type has
round where it gives another of them, nor a sum of whole numbers: an index, as `floor(x) + 1`, is one in each draw.
Loops are carried out round by round. Most operators are NumPy's: to compile each for its shapes took longer than all draws.
"""

from __future__ import annotations

import functools
import hashlib
import math
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from runners.contract.errors import Unsupported
from runners.contract.steps.overflow import LEAST_INFINITE, MOST_ZERO, Overflow
from runners.jax.operators import OPERATORS

_TF32 = 2.0**-11  # to which a GPU rounds what it multiplies, where that is allowed
_ACCUMULATION = 2.0**-24  # what is added up in halves is held in float32, but for `_ADD_IN_TYPE`
_SEED = 1997
_POOL = 2**20 + 7

# Calls: what they call is written out. The parameter that holds it differs between primitives and releases.
_CALLS = {
    "jit", "pjit", "closed_call", "core_call", "core_closed_call", "xla_call", "checkpoint", "remat", "remat2",
    "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_jvp_call_jaxpr",
}  # fmt: skip
_CALLED = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_LOOPS = {"scan": ("jaxpr",), "while": ("cond_jaxpr", "body_jaxpr"), "cond": ("branches",)}
# Their results hold numbers of their arguments as they are.
_MOVING = {
    "reshape", "transpose", "broadcast_in_dim", "slice", "dynamic_slice", "dynamic_update_slice", "gather", "select_n",
    "concatenate", "pad", "rev", "squeeze", "expand_dims", "copy", "copy_p", "max", "min", "neg", "abs", "sign", "sort", "top_k",
    "reduce_max", "reduce_min", "cummax", "cummin", "clamp", "scatter", "scatter-update", "iota", "real", "imag", "conj",
    "floor", "ceil", "round", "name", "optimization_barrier", "split", "tile", "stop_gradient", "reduce_window_max",
    "reduce_window_min", "select_and_gather_add", "scatter_max", "scatter_min", "scatter-max", "scatter-min", "device_put",
    "sharding_constraint", "pvary", "bitcast_convert_type", "random_bits", "rng_uniform", "nextafter", "approx_top_k", "copysign",
    "complex", "empty", "stack", "unstack",
}  # fmt: skip
_OF_COMPLEX = {"abs", "sign"}  # of a complex number they compute
# They hold the very numbers of an argument, in another form, or none that were computed; or jump where a number is rounded.
_UNSHOWN = {
    "reshape", "transpose", "broadcast_in_dim", "squeeze", "expand_dims", "copy", "copy_p", "iota", "real", "imag", "conj",
    "name", "optimization_barrier", "split", "stop_gradient", "device_put", "sharding_constraint", "pvary", "empty", "sign",
    "floor", "ceil", "round", "bitcast_convert_type", "random_bits", "rng_uniform", "nextafter", "complex",
}  # fmt: skip
# Each element of their results has as many terms as the indices say: those of one row may be most of them.
_ADDING_ROWS = {"scatter-add", "scatter_add", "scatter-sub", "scatter_sub"}
_ADDING = {
    "dot_general", "conv_general_dilated", "reduce_sum", "cumsum", "reduce_window_sum", "select_and_scatter_add",
    "cumlogsumexp", "reduce_window", "reduce", "fft", "ragged_dot", "ragged_dot_general", *_ADDING_ROWS,
}  # fmt: skip
# They add up in the type of their result, as XLA does on a CPU: 8,192 ones in bfloat16 make 256.
_ADD_IN_TYPE = {"reduce_window_sum", "select_and_scatter_add", "reduce_window", *_ADDING_ROWS}
# Each factor of a product rounds it once more.
_MULTIPLYING_ROWS = {"scatter-mul", "scatter_mul"}
_MULTIPLYING = {"reduce_prod", "cumprod", *_MULTIPLYING_ROWS}
_BY_ROWS = _ADDING_ROWS | _MULTIPLYING_ROWS
_KNOWN_INDICES = 64  # of an equation: each round of a loop has its own
_WIDE = (np.float64, np.complex128)
_PRODUCTS = {"dot_general", "conv_general_dilated"}
_SCALING = {"mul", "div"}
# Of numbers that their type has they may give another one, which is not rounded.
_EXACT_OF_EXACT = {"add", "add_any", "sub", "mul", "div", *_ADDING}
_COMPARING = {"eq", "ne", "lt", "le", "gt", "ge"}
# Rounding may flip what they choose: a result above another, or not.
_CHOOSING = {
    *_COMPARING, "convert_element_type", "argmax", "argmin", "sort", "top_k", "max", "min", "abs", "sign", "clamp",
    "select_and_scatter_add", "floor", "ceil", "round",
}  # fmt: skip
# Their results jump, at many places: of a hundred thousand elements one may be so near to such a place that it jumps in the
# program, and in no draw. What they are given is moved by so many units in draws, so that draws jump where the program may:
# tensors of correct programs lie at up to 6.3 floors, of the clean rows in reference_results/own_steps.
_JUMPING = {"floor", "ceil", "round"}
_JUMP_UNITS = 8.0
# Of the bits of a number, or numbers drawn in one type: in another they are others.
_OF_ITS_TYPE = {"bitcast_convert_type", "random_gamma", "rng_uniform", "nextafter"}


class Equation:
    """One operator of a program, once.

    given, results: what it takes and gives, as the program holds it. where: in the user's file, or below.
    units: how far each result is rounded, relatively, and least: absolutely. accumulation: of what is added up in it.
    is_own: comes of whole numbers and constants alone. jumps: rounds float32 to whole numbers.
    """

    __slots__ = (
        "accumulation", "bodies", "chooses", "counts", "function", "given", "inputs", "is_own", "is_scaled", "jumps", "least",
        "name", "outputs", "parameters", "primitive", "results", "units", "where",
    )  # fmt: skip

    def __init__(self, eqn: Any, inputs: Sequence[int], outputs: Sequence[int], where: str) -> None:
        self.primitive, self.name, self.parameters, self.where = eqn.primitive, eqn.primitive.name, eqn.params, where
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.given, self.results = [var.aval for var in eqn.invars], [var.aval for var in eqn.outvars]
        self.bodies: list[Flat] = []
        self.is_own = self.is_scaled = self.chooses = False
        self.function: Callable | None = None  # where JAX carries it out
        self.counts: dict[bytes, np.ndarray] = {}  # see `_terms_of_rows`, by the digest of the indices
        self.units, self.least, self.accumulation = self._rounding()
        # In halves, rounding alone makes it jump in each draw.
        is_cast = self.name == "convert_element_type" and (_is_integer(self.results[0]) or _is_quarter(self.results[0]))
        self.jumps = (self.name in _JUMPING or is_cast) and _is_float(self.given[0]) and self.given[0].dtype == np.float32

    def _rounding(self) -> tuple[list[float], list[float], float]:
        units = [_unit(aval) for aval in self.results]
        least = [_least(aval) for aval in self.results]
        none = [0.0] * len(units), [0.0] * len(units), 0.0
        is_computed = self.name in _OF_COMPLEX and _is_complex(self.given[0])
        if (self.name in _MOVING and not is_computed) or self.name in _LOOPS:
            return none
        if self.name == "convert_element_type":
            is_wider = _is_float(self.given[0]) and (_is_quarter(self.given[0]) or _unit(self.given[0]) >= units[0])
            return none if is_wider else (units, least, 0.0)
        if self.name == "reduce_precision":
            return [max(units[0], 2.0 ** -(self.parameters["mantissa_bits"] + 1))], least, 0.0
        if self.name in _MULTIPLYING - _MULTIPLYING_ROWS:
            return [math.sqrt(self._terms()) * unit for unit in units], least, 0.0
        if self.name not in _ADDING or not units[0]:
            return units, least, 0.0
        accumulation = max(units[0], _ACCUMULATION) if self.name in _ADD_IN_TYPE else _ACCUMULATION
        if self.name in _ADDING_ROWS:
            return units, least, accumulation
        terms = self._terms()
        return [unit + math.sqrt(terms) / 3.0 * accumulation for unit in units], least, accumulation if terms > 1 else 0.0

    def _terms(self) -> float:
        """Return how many terms are added up in each element of a result."""
        if self.name == "dot_general":
            (axes, _), _ = self.parameters["dimension_numbers"]
            return math.prod(self.given[0].shape[axis] for axis in axes)
        if self.name == "conv_general_dilated":
            features = self.parameters["dimension_numbers"].rhs_spec[0]
            return self.given[1].size / self.given[1].shape[features]
        if self.name.startswith("ragged_dot"):
            return self.given[0].shape[-1]
        if self.name in ("cumsum", "cumprod", "cumlogsumexp"):
            return self.given[0].shape[self.parameters["axis"]]
        if self.name == "fft":  # adds up two numbers at a time
            return 1.0 + math.log2(max(1, math.prod(self.parameters["fft_lengths"])))
        if self.name in ("reduce_window_sum", "select_and_scatter_add"):
            return math.prod(self.parameters["window_dimensions"])
        return max(1.0, self.given[0].size / max(1, self.results[0].size))


class Flat:
    """A program as a list of equations, each of which reads and writes places by number.

    constants, wide: by place, as the program holds them and in float64.
    last: of each equation, the places that nothing reads after it.
    """

    def __init__(self) -> None:
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.given: list[Any] = []
        self.results: list[Any] = []
        self.constants: dict[int, Any] = {}
        self.wide: dict[int, Any] = {}
        self.equations: list[Equation] = []
        self.size = 0
        self.last: list[tuple[int, ...]] = []

    def place(self) -> int:
        self.size += 1
        return self.size - 1

    def constant(self, value: Any) -> int:
        place = self.place()
        self.constants[place] = value
        return place

    def count(self) -> int:
        """Return how many equations there are, those of loops among them, each once."""
        return len(self.equations) + sum(body.count() for equation in self.equations for body in equation.bodies)

    def names(self) -> set[str]:
        """Return the names of the operators, those of loops among them."""
        own = {equation.name for equation in self.equations}
        return own.union(*(body.names() for equation in self.equations for body in equation.bodies))


def flatten(closed: Any, *, file: str = "") -> Flat:
    """Return a closed jaxpr as equations, calls written out. `file`: the user's, whose lines name equations."""
    flat = _flattened(closed, file)
    _mark(flat, [not _is_float(aval) for aval in flat.given])
    return flat


def _flattened(closed: Any, file: str) -> Flat:
    flat = Flat()
    jaxpr, constants = closed.jaxpr, closed.consts
    flat.given, flat.results = [var.aval for var in jaxpr.invars], [var.aval for var in jaxpr.outvars]
    flat.inputs = [flat.place() for _ in jaxpr.invars]
    flat.outputs = _inline(flat, jaxpr, [flat.constant(each) for each in constants], flat.inputs, file, "")
    flat.wide = {place: widen(value) for place, value in flat.constants.items()}
    flat.equations = _used(flat)
    kept, last = {*flat.outputs, *flat.constants}, []
    for equation in reversed(flat.equations):
        free = {*equation.inputs, *equation.outputs} - kept
        kept |= free
        last.append(tuple(free))
    flat.last = last[::-1]
    return flat


def _used(flat: Flat) -> list[Equation]:
    """Return the equations on which the results depend: XLA leaves out the others, whose choices would be noted."""
    needed, used = {*flat.outputs}, []
    for equation in reversed(flat.equations):
        if not needed.isdisjoint(equation.outputs):
            needed.update(equation.inputs)
            used.append(equation)
    return used[::-1]


def _inline(flat: Flat, jaxpr: Any, constants: list[int], inputs: list[int], file: str, above: str) -> list[int]:
    """Add a jaxpr's equations; return where its results are. above: where the library's function that it is was called."""
    places: dict[Any, int] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *inputs], strict=True))

    def place_of(var: Any) -> int:
        if hasattr(var, "val"):  # a literal
            return flat.constant(np.asarray(var.val, dtype=var.aval.dtype) if not _is_key(var.aval) else var.val)
        return places[var]

    for eqn in jaxpr.eqns:
        given = [place_of(var) for var in eqn.invars]
        where = above or _where(eqn, file)
        if eqn.primitive.name == "custom_linear_solve":
            solve, given = _solve(eqn, given)
            results = _inline(flat, solve.jaxpr, [flat.constant(each) for each in solve.consts], given, file, where)
            places |= dict(zip(eqn.outvars, results, strict=True))
            continue
        called = next((eqn.params[key] for key in _CALLED if key in eqn.params), None) if eqn.primitive.name in _CALLS else None
        if called is not None:
            inner = getattr(called, "jaxpr", called)
            held = [flat.constant(each) for each in getattr(called, "consts", ())]
            is_library = eqn.primitive.name in ("jit", "pjit") and not _is_of(inner, eqn.params.get("name", ""), file)
            results = _inline(flat, inner, held, given, file, where if is_library else above)
        else:
            results = [flat.place() for _ in eqn.outvars]
            if results:  # what gives nothing, as printing does, is left out
                equation = Equation(eqn, given, results, where)
                equation.is_scaled = equation.name in _SCALING and any(_scales(flat.constants.get(each)) for each in given)
                for key in _LOOPS.get(equation.name, ()):
                    held = eqn.params[key]
                    equation.bodies += [_flattened(each, file) for each in (held if isinstance(held, tuple) else (held,))]
                flat.equations.append(equation)
        places |= dict(zip(eqn.outvars, results, strict=True))
    return [place_of(var) for var in jaxpr.outvars]


def _solve(eqn: Any, given: list[int]) -> tuple[Any, list[int]]:
    """Return the program by which a `custom_linear_solve` is carried out, and which of the arguments it has."""
    counts = eqn.params["const_lengths"]
    first = counts.matvec + counts.vecmat
    return eqn.params["jaxprs"].solve, [*given[first : first + counts.solve], *given[sum(counts) :]]


def _scales(value: Any) -> bool:
    """Is it one number, by which scaling is not exact?"""
    if value is None or not _is_float(value) or _is_complex(value) or np.ndim(value):
        return False
    return abs(math.frexp(float(value))[0]) != 0.5


def _mark(flat: Flat, owned: list[bool]) -> list[bool]:
    """Mark equations that come of whole numbers and constants alone; return whether the results do."""
    own = dict.fromkeys(flat.constants, True) | dict(zip(flat.inputs, owned, strict=True))
    for equation in flat.equations:
        given = [own[place] for place in equation.inputs]
        equation.is_own = all(given)
        equation.chooses = not equation.is_own and equation.name in _CHOOSING and any(map(_is_float, equation.given))
        results = [equation.is_own] * len(equation.outputs)
        if equation.bodies:
            results = _mark_loop(equation, given)
        own |= dict(zip(equation.outputs, results, strict=True))
    return [own[place] for place in flat.outputs]


def _mark_loop(equation: Equation, given: list[bool]) -> list[bool]:
    """Mark what a loop's rounds are made of: what a round passes on to the next one as well."""
    parameters = equation.parameters
    if equation.name == "cond":
        marked = [_mark(body, given[1:]) for body in equation.bodies]
        return [given[0] and all(each) for each in zip(*marked, strict=True)]
    if equation.name == "scan":
        first, n = _shares_of_scan(equation)
        fixed, carried, rows = given[:first], given[first : first + n], given[first + n :]
        step = functools.partial(_mark, equation.bodies[0])
        while (after := [a and b for a, b in zip(carried, step([*fixed, *carried, *rows]), strict=False)]) != carried:
            carried = after
        return step([*fixed, *carried, *rows])
    cut, first = parameters["cond_nconsts"], parameters["cond_nconsts"] + parameters["body_nconsts"]
    carried = given[first:]
    condition, body = equation.bodies
    while True:
        goes_on = _mark(condition, [*given[:cut], *carried])[0]
        after = [goes_on and a and b for a, b in zip(carried, _mark(body, [*given[cut:first], *carried]), strict=True)]
        if after == carried:
            return carried
        carried = after


def _shares_of_scan(equation: Equation) -> tuple[int, int]:
    """Return how many of a scan's arguments are the same in each round, and how many a round passes on to the next one."""
    parameters = equation.parameters
    if "num_consts" in parameters:
        return parameters["num_consts"], parameters["num_carry"]
    # DIFFERS(jax 0.11): a tree of them says which are what.
    fixed, carried, _ = parameters["ft_in"].update(range(len(equation.inputs))).unpack()
    return len(list(fixed)), len(list(carried))


class Interpreter:
    """Carries out programs in float64.

    Args:
        draw: the number of a draw of rounding; None for none.
        is_tf32: products of float32 round what they multiply as TF32 does.
        overflows: what the program's type cannot hold becomes infinite, or zero, as it does in the program.

    `choices`: of each equation that chose, in order, where it is and a checksum of what it chose.
    `overflowed`: without rounding, each equation that gave a finite number which the program's type cannot hold.
    """

    def __init__(self, *, draw: int | None = None, is_tf32: bool = False, overflows: bool = False) -> None:
        self._is_tf32, self._overflows = is_tf32, overflows
        self.choices: list[tuple[str, int]] = []
        self.overflowed: list[Overflow] = []
        self._random: np.random.Generator | None = None
        if draw is not None:
            self._random = np.random.default_rng([_SEED, draw])
            self._pool = self._random.uniform(-1.0, 1.0, _POOL)
            self._factors: dict[float, np.ndarray] = {}

    def run(self, flat: Flat, values: Sequence[Any], show: Callable[[int, list[Any]], None] | None = None) -> list[Any]:
        """Return a program's results, floats in float64. show: is given the number and the results of each equation."""
        with np.errstate(all="ignore"):
            return self._run(flat, [widen(value) for value in values], show)

    def _run(self, flat: Flat, values: Sequence[Any], show: Callable[[int, list[Any]], None] | None = None) -> list[Any]:
        places: list[Any] = [None] * flat.size
        for place, value in flat.wide.items():
            places[place] = value
        for place, value in zip(flat.inputs, values, strict=True):
            places[place] = value
        for number, equation in enumerate(flat.equations):
            results = self._carry_out(equation, [places[place] for place in equation.inputs])
            for place, result in zip(equation.outputs, results, strict=True):
                places[place] = result
            if show is not None:
                show(number, results)
            for place in flat.last[number]:
                places[place] = None
        return [places[place] for place in flat.outputs]

    def _carry_out(self, equation: Equation, values: list[Any]) -> list[Any]:
        if equation.name in _LOOPS:
            return getattr(self, f"_{equation.name}")(equation, values)
        units: Sequence[float | np.ndarray] = equation.units
        accumulation = equation.accumulation
        if self._random is not None and equation.name in _BY_ROWS and units[0]:
            terms = _terms_of_rows(equation, values)
            if equation.name in _ADDING_ROWS:
                units = [units[0] + np.sqrt(terms) / 3.0 * accumulation]
                accumulation = accumulation if terms.max(initial=1.0) > 1.0 else 0.0
            else:
                units = [units[0] * np.sqrt(terms)]
        if self._random is not None and accumulation and not all(map(_is_whole, values)):
            unit = _TF32 if self._is_tf32 and equation.name in _PRODUCTS else accumulation
            values = [self._jittered(value, unit) for value in values]
        if self._random is not None and equation.jumps and not equation.is_own and np.size(values[0]):
            values = [self._beside(values[0]), *values[1:]]
        results = _results(equation, values)
        for place, (result, aval) in enumerate(zip(results, equation.results, strict=True)):
            if _is_quarter(aval):
                results[place] = narrow(result, aval.dtype).astype(np.float64)
            if equation.units[place] and result.size:
                if self._random is not None:
                    results[place] = self._rounded(equation, place, values, result, units[place])
                elif (least := LEAST_INFINITE.get(str(aval.dtype))) is not None:
                    results[place] = self._held(equation, str(aval.dtype), result, least)
        if equation.chooses:
            self._note_choice(equation, values, results)
        return results

    def _scan(self, equation: Equation, values: list[Any]) -> list[Any]:
        parameters, body = equation.parameters, equation.bodies[0]
        (first, n), length = _shares_of_scan(equation), parameters["length"]
        fixed, carried, rows = values[:first], values[first : first + n], values[first + n :]
        given: list[list[Any]] = [[] for _ in body.outputs[n:]]
        order = range(length)[::-1] if parameters["reverse"] else range(length)
        for place in order:
            results = self._run(body, [*fixed, *carried, *(_row(each, place) for each in rows)])
            carried = results[:n]
            for kept, result in zip(given, results[n:], strict=True):
                kept.append(result)
        stacked = [_stack(kept[::-1] if parameters["reverse"] else kept) for kept in given] if length else []
        empty = [np.zeros(aval.shape, _wide(aval.dtype)) for aval in equation.results[n:]] if not length else []
        return [*carried, *stacked, *empty]

    def _while(self, equation: Equation, values: list[Any]) -> list[Any]:
        parameters = equation.parameters
        cut, first = parameters["cond_nconsts"], parameters["cond_nconsts"] + parameters["body_nconsts"]
        condition, body = equation.bodies
        carried = values[first:]
        while bool(self._run(condition, [*values[:cut], *carried])[0]):
            carried = self._run(body, [*values[cut:first], *carried])
        return carried

    def _cond(self, equation: Equation, values: list[Any]) -> list[Any]:
        which = min(max(int(values[0]), 0), len(equation.bodies) - 1)
        return self._run(equation.bodies[which], values[1:])

    def _jittered(self, value: Any, unit: float) -> Any:
        """Return an argument of a sum with each element rounded once more: what adds up rounds within itself."""
        if isinstance(value, np.ndarray) and value.dtype in _WIDE and value.ndim:
            return value * self._factor(value.shape, unit, is_complex=value.dtype == np.complex128)
        return value

    def _beside(self, numbers: np.ndarray) -> np.ndarray:
        """Return the argument of an operator that jumps, moved by as much as rounding in the program may have moved it.

        Whole numbers and those half way between are not moved: they are such by their making, as indices are.
        """
        numbers = np.asarray(numbers)
        finite = np.where(np.isfinite(numbers), numbers, 0.0)
        size = np.abs(finite) + math.sqrt(np.mean(np.square(finite)))
        moved = numbers + self._uniform(numbers.shape) * (_JUMP_UNITS * _ACCUMULATION) * size
        return np.where(2.0 * numbers == np.rint(2.0 * numbers), numbers, moved)

    def _rounded(
        self, equation: Equation, place: int, values: list[Any], result: np.ndarray, unit: float | np.ndarray
    ) -> np.ndarray:
        """Return a result as far off as rounding puts it. unit: of all of it, or of what broadcasts to it."""
        least, is_complex = equation.least[place], result.dtype == np.complex128
        is_fresh = result.base is None and result.flags.writeable and not any(result is value for value in values)
        exact, aval = None, equation.results[place]
        may_be_exact = equation.is_own or (equation.name == "convert_element_type" and not _is_float(equation.given[0]))
        if equation.name in _EXACT_OF_EXACT and _are_held(result.flat[:1], aval).all():
            may_be_exact |= equation.name not in _ADD_IN_TYPE or bool(np.abs(result).max() * _unit(aval) <= 1.0)
        if may_be_exact:
            exact = _are_held(result, aval)
            if exact.all():
                return result
        if equation.is_scaled and not is_complex:  # the number that it is scaled by is rounded as well, for all elements alike
            relative = self._uniform(result.shape) * unit
            relative += 1.0 + _ACCUMULATION * self._random.uniform(-1.0, 1.0)
        else:
            relative = self._factor(result.shape, unit, is_complex=is_complex)
        rounded = np.multiply(result, relative, out=result if is_fresh and exact is None else None)
        if equation.name == "reduce_sum" and not is_complex:
            rounded = rounded + self._uniform(rounded.shape) * _left_by_cancelling(equation, values[0])
        if least:
            rounded = rounded + self._uniform(result.shape) * least
        return np.asarray(rounded if exact is None else np.where(exact, result, rounded))

    def _factor(self, shape: tuple[int, ...], unit: float | np.ndarray, *, is_complex: bool) -> np.ndarray:
        """Return numbers as far from 1 as rounding moves a number; a complex one is moved in its angle as well."""
        if is_complex:
            return self._factor(shape, unit, is_complex=False) + 1j * (self._uniform(shape) * unit)
        if isinstance(unit, np.ndarray):
            factor = self._uniform(shape) * unit
            factor += 1.0
            return factor
        if unit not in self._factors and math.log2(unit).is_integer():
            self._factors[unit] = self._pool * unit + 1.0
        if unit in self._factors and (part := self._part(self._factors[unit], shape)) is not None:
            return part
        factor = self._uniform(shape) * unit
        factor += 1.0
        return factor

    def _uniform(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return numbers between -1 and 1; all but the largest arrays take theirs from a pool, which is cheaper."""
        part = self._part(self._pool, shape)
        return part if part is not None else self._random.uniform(-1.0, 1.0, shape)

    def _part(self, pool: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
        n = math.prod(shape)
        if 2 * n > _POOL:
            return None
        start = int(self._random.integers(_POOL - n))
        return pool[start : start + n].reshape(shape)

    def _held(self, equation: Equation, dtype: str, result: np.ndarray, least: float) -> np.ndarray:
        """Note what rounds to infinity in the program's type. Return the result, as it is there if overflows are carried out."""
        size = np.abs(result)
        if self._overflows and dtype in MOST_ZERO:
            result = np.where(size <= MOST_ZERO[dtype], 0.0, result)
        if not size.max() >= least and not np.isnan(size).any():
            return result
        leaves = (size >= least) & np.isfinite(size)
        if not leaves.any():
            return result
        self.overflowed.append(Overflow(f"{equation.where}:{equation.name}", dtype, float(size[leaves].max())))
        return np.where(leaves, np.copysign(np.inf, result), result) if self._overflows else result

    def _note_choice(self, equation: Equation, values: list[Any], results: list[Any]) -> None:
        name = equation.name
        told = equation.results[0]
        is_told = name in ("convert_element_type", "argmax", "argmin") and not _is_float(told)
        if name in _COMPARING or is_told or _is_quarter(told):
            chosen = results[0]
        elif name in ("sort", "top_k"):
            chosen = results[-1] if not _is_float(equation.results[-1]) else None
        elif name in ("max", "min") and (np.ndim(values[0]) == 0 or np.ndim(values[1]) == 0):
            chosen = values[0] > values[1]
        elif name in _OF_COMPLEX:
            chosen = values[0] > 0 if values[0].dtype == np.float64 else None
        elif name == "clamp":
            chosen = results[0] == values[1]
        elif name == "select_and_scatter_add":
            chosen = results[0] != 0
        elif name in ("floor", "ceil", "round"):
            chosen = results[0]
        else:
            chosen = None
        if chosen is not None:
            self.choices.append((f"{equation.where}:{name}", zlib.crc32(np.ascontiguousarray(chosen).tobytes())))


def evaluate(flat: Flat, values: Sequence[Any], show: Callable[[int, list[Any]], None] | None = None) -> list[Any]:
    """Return a program's results as JAX computes them, equation by equation, in the program's own types."""
    places: dict[int, Any] = dict(flat.constants) | dict(zip(flat.inputs, values, strict=True))
    for number, equation in enumerate(flat.equations):
        results = _bind(equation.primitive, equation.parameters, [places[place] for place in equation.inputs])
        places |= dict(zip(equation.outputs, results, strict=True))
        if show is not None:
            show(number, results)
        for place in flat.last[number]:
            places.pop(place, None)
    return [places[place] for place in flat.outputs]


def is_shown(equation: Equation) -> bool:
    """Does an equation compute, choose or place numbers, rather than hand them on?"""
    return equation.name not in _UNSHOWN and any(_is_float(aval) for aval in equation.results)


def widen(value: Any) -> Any:
    """Return a value as it is held here: floats in float64, keys as they are, all else in NumPy."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return value
    if not isinstance(value, np.ndarray) and _is_key(value):
        return value
    array = np.asarray(value)
    return array.astype(_wide(array.dtype)) if _wide(array.dtype) != array.dtype else array


def narrow(value: Any, dtype: Any) -> Any:
    """Return a value in the type that the program holds it in."""
    return value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype != dtype else value


def _are_held(numbers: np.ndarray, aval: Any) -> np.ndarray:
    """Return of each number whether a type has it."""
    with np.errstate(over="ignore"):
        return narrow(numbers, aval.dtype).astype(numbers.dtype) == numbers


def _is_whole(value: Any) -> bool:
    """Are all numbers of an array whole? The first one tells most that are not."""
    if not isinstance(value, np.ndarray) or value.dtype not in _WIDE:
        return True
    return all(np.array_equal(part, np.rint(part)) for part in (value.flat[:1], value))


def _results(equation: Equation, values: list[Any]) -> list[Any]:
    """Return what an operator gives in float64."""
    operator = OPERATORS.get(equation.name)
    given: Any = NotImplemented
    if equation.name == "convert_element_type" and isinstance(values[0], np.ndarray) and not _is_key(equation.results[0]):
        dtype = _wide(np.dtype(equation.parameters["new_dtype"]))
        is_cut = _is_float(values[0]) and jnp.issubdtype(dtype, np.integer)
        given = _cut(values[0], dtype) if is_cut else values[0].astype(dtype, copy=False)
    elif operator is not None and all(isinstance(value, np.ndarray) for value in values):
        given = operator(equation.parameters, *values)
    if given is NotImplemented:
        given = _bound(equation, values)
    results = list(given) if isinstance(given, (list, tuple)) else [given]
    return [result if isinstance(result, np.ndarray) or _is_key(result) else np.asarray(result) for result in results]


def _cut(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return numbers as whole ones. In XLA those that a type cannot hold are its last ones, and NaN is 0; in NumPy they wrap."""
    most = jnp.iinfo(dtype).max
    values = np.nan_to_num(values.real, nan=0.0, posinf=np.inf, neginf=-np.inf)
    # The last number of int64 is none of float64.
    return np.where(values >= most, np.asarray(most, dtype), np.clip(values, jnp.iinfo(dtype).min, most).astype(dtype))


def _left_by_cancelling(equation: Equation, terms: np.ndarray) -> np.ndarray:
    """Return how far a sum is off besides a share of itself: on the way to a small one, it is as large as its terms.

    XLA on a CPU adds up term by term (Higham 2002, Accuracy and Stability of Numerical Algorithms, section 4.2).
    """
    axes = equation.parameters["axes"]
    n = math.prod(terms.shape[axis] for axis in axes)
    left = np.sqrt(np.square(terms).sum(axes)) * (math.sqrt(n) / 3.0 * equation.accumulation)
    return np.where(np.isfinite(left), left, 0.0)  # a sum that is infinite stays so


def _terms_of_rows(equation: Equation, values: list[Any]) -> np.ndarray:
    """Return how many terms the indices of a scatter bring to each element: at least 1, as what broadcasts against its result."""
    operand, indices, updates = values
    digest = hashlib.blake2b(np.ascontiguousarray(indices).tobytes(), digest_size=16).digest()
    if digest not in equation.counts:
        # Ones, added up by the same indices, whichever of their forms a scatter has.
        parameters = equation.parameters
        with x64(True):
            found = jax.lax.scatter_add(
                np.zeros(operand.shape), indices, np.ones(updates.shape), parameters["dimension_numbers"], mode=parameters["mode"]
            )
        terms = np.maximum(np.asarray(found), 1.0)
        for axis in range(terms.ndim):
            first = terms.take([0], axis)
            terms = first if (terms == first).all() else terms
        while len(equation.counts) >= _KNOWN_INDICES:
            equation.counts.pop(next(iter(equation.counts)))
        equation.counts[digest] = terms
    return equation.counts[digest]


def _bound(equation: Equation, values: list[Any]) -> list[Any]:
    """Carry out an operator as JAX does: in float64, or in the program's type where the numbers depend on it."""
    is_wide = any(_is_float(aval) for aval in (*equation.given, *equation.results)) and equation.name not in _OF_ITS_TYPE
    if not is_wide:
        values = [narrow(value, aval.dtype) for value, aval in zip(values, equation.given, strict=True)]
    try:
        with x64(is_wide):
            results = _compiled(equation, is_wide)(*values)
    except Unsupported:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise Unsupported(f"operator {equation.name}: cannot be carried out in float64: {first}") from error
    return [widen(result) for result in results]


def _bind(primitive: Any, parameters: dict[str, Any], values: Sequence[Any]) -> list[Any]:
    found = primitive.get_bind_params(parameters)
    functions, rest = ((), found) if isinstance(found, dict) else found  # a pair before JAX 0.8
    results = primitive.bind(*functions, *values, **rest)
    return list(results) if primitive.multiple_results else [results]


def _compiled(equation: Equation, is_wide: bool) -> Callable:
    """Return an operator as a function; JAX compiles it for each shape, once."""
    if equation.function is None:
        items = tuple(sorted(equation.parameters.items()))
        try:
            equation.function = _cached(equation.primitive, items, is_wide)
        except TypeError:  # a parameter that has no hash
            equation.function = _cached.__wrapped__(equation.primitive, items, is_wide)
    return equation.function


@functools.lru_cache(maxsize=4096)
def _cached(primitive: Any, items: tuple, is_wide: bool) -> Callable:
    parameters = {key: _widened(value) if is_wide else value for key, value in items}
    return jax.jit(lambda *values: _bind(primitive, parameters, values))


def _widened(value: Any) -> Any:
    """Return a parameter in which a type that is narrower than float64 is float64."""
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return _wide(np.dtype(value))
    if hasattr(value, "jaxpr") and hasattr(value, "consts"):
        inner = _flattened(value, "")
        shapes = [jax.ShapeDtypeStruct(aval.shape, _wide(aval.dtype)) for aval in inner.given]
        return jax.make_jaxpr(lambda *given: _wide_evaluate(inner, given))(*shapes)
    if hasattr(value, "eqns") and not value.constvars:
        return _widened(_Closed(value, [])).jaxpr
    return value


class _Closed(NamedTuple):
    jaxpr: Any
    consts: list[Any]


def _wide_evaluate(flat: Flat, values: Sequence[Any]) -> list[Any]:
    """Return a program's results as JAX computes them with float64 in the place of each narrower type."""
    places: dict[int, Any] = {place: jnp.asarray(value) for place, value in flat.wide.items()}
    places |= dict(zip(flat.inputs, values, strict=True))
    for equation in flat.equations:
        parameters = {key: _widened(value) for key, value in equation.parameters.items()}
        results = _bind(equation.primitive, parameters, [places[place] for place in equation.inputs])
        places |= dict(zip(equation.outputs, results, strict=True))
    return [places[place] for place in flat.outputs]


def x64(is_on: bool) -> Any:
    switch = getattr(jax, "enable_x64", None)
    if not callable(switch):
        from jax.experimental import enable_x64 as switch
    return switch(is_on)


def _is_key(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.extended)


def _is_float(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and not _is_key(value) and jnp.issubdtype(dtype, np.inexact)


def _is_complex(value: Any) -> bool:
    return _is_float(value) and jnp.issubdtype(value.dtype, np.complexfloating)


def _wide(dtype: Any) -> Any:
    if jnp.issubdtype(dtype, np.complexfloating):
        return np.dtype(np.complex128)
    return np.dtype(np.float64) if jnp.issubdtype(dtype, np.floating) else dtype


def _unit(aval: Any) -> float:
    """Return the largest relative error of one rounding to a type; 0 of what does not round."""
    return float(jnp.finfo(aval.dtype).eps) / 2.0 if _is_float(aval) and not _is_quarter(aval) else 0.0


def _is_quarter(aval: Any) -> bool:
    """Is this of a type of 8 bits, or fewer? A program rounds to them on purpose: what it holds is held here as well."""
    return _is_float(aval) and np.dtype(aval.dtype).itemsize == 1


def _is_integer(aval: Any) -> bool:
    return not _is_key(aval) and jnp.issubdtype(aval.dtype, np.integer)


def _least(aval: Any) -> float:
    """Return half of the smallest number of a type: what a result that is nearly zero may be off by. 0 where it is negligible."""
    return 2.0**-25 if getattr(aval, "dtype", None) == np.float16 else 0.0


def _row(value: Any, place: int) -> Any:
    return np.asarray(value[place]) if isinstance(value, np.ndarray) else value[place]


def _stack(values: list[Any]) -> Any:
    return np.stack(values) if isinstance(values[0], np.ndarray) else jnp.stack(values)


def _where(eqn: Any, file: str) -> str:
    """Return the line of the user's file that an equation comes from, or else the innermost one outside of JAX."""
    frames = _frames(eqn)
    for name, line, _ in frames:
        if name == file:
            return f"{_plain(name)}:{line}"
    return f"{_plain(frames[0][0])}:{frames[0][1]}" if frames else "jax"


def _is_of(jaxpr: Any, function: str, file: str) -> bool:
    """Is it the user's own function of this name? A library's, traced once, would go by the line that called it first."""
    plain = function.split(".")[-1]
    return any(name == file and of.split(".")[-1] == plain for eqn in jaxpr.eqns[:1] for name, _, of in _frames(eqn))


def _frames(eqn: Any) -> list[tuple[str, int, str]]:
    """Return where an equation was made, the innermost first: file, line, function. JAX offers no public way to read it."""
    try:
        from jax._src import source_info_util

        source: Any = eqn.source_info
        try:
            frames = list(source_info_util.user_frames(source))
        except (AttributeError, TypeError):
            frames = list(source_info_util.user_frames(source.traceback))
        return [(frame.file_name, frame.start_line, frame.function_name) for frame in frames]
    except (ImportError, AttributeError, TypeError):
        return []


def _plain(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]
