"""The same script under switches that change how numbers are computed, and not what: which of them hide the failure.

A switch that hides it is the best clue that there is, and often a workaround. One that the release does not know ends the script
in an error, which is no evidence. XLA's passes are found by a run that dumps what each of them has changed.
"""

from __future__ import annotations

import dataclasses
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from vigil.narrow.outcome import RIGHT, Outcome, run_script

_PASS = re.compile(r"\.\d{4}\.[^.]+\.after_([a-z0-9_-]+)\.before_")
_NO_PASS = ("pipeline-start",)
_MOST_PASSES = 40


@dataclasses.dataclass(frozen=True)
class Switch:
    """One switch.

    tells: what computes the wrong numbers, where the switch hides them. variables: of the process's environment.
    prelude: Python that is carried out once the framework is imported. in_force: an expression that is true where the switch is
    (tests hold each to it); empty: an unknown one ends the process. where: what the script's text has if the switch can matter.
    """

    name: str
    framework: str
    tells: str
    is_workaround: bool = False
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    prelude: str = ""
    in_force: str = ""
    where: str = ""


class Tried(NamedTuple):
    """What the script said under a switch."""

    switch: Switch
    outcome: Outcome


def _torch(name: str, tells: str, *, check: str, where: str = "") -> Switch:
    """Return a switch that is a statement of Python: its name is the statement."""
    return Switch(name, "torch", tells, True, prelude=f"import torch; {name}", in_force=check, where=where)


def _inductor(name: str, value: str, tells: str) -> Switch:
    """Return an option of Inductor: its name is the option."""
    setting = f"torch._inductor.config.{name}"
    prelude = f"import torch, torch._inductor.config; assert hasattr(torch._inductor.config{_parent(name)}, {_last(name)!r})"
    return Switch(
        f"{setting} = {value}", "torch", tells, False, prelude=f"{prelude}; {setting} = {value}",
        in_force=f"{setting} == {value}", where="torch.compile",
    )  # fmt: skip


def _parent(name: str) -> str:
    return f".{name.rpartition('.')[0]}" if "." in name else ""


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _backend(name: str, tells: str) -> Switch:
    """Return another backend of torch.compile, whichever way the script compiles."""
    prelude = (
        "import functools, torch; _compile = torch.compile; "
        f"torch.compile = functools.wraps(_compile)(lambda *a, **k: _compile(*a, **{{**k, 'backend': {name!r}}}))"
    )
    return Switch(
        f'torch.compile(backend="{name}")', "torch", tells, True, prelude=prelude,
        in_force="hasattr(torch.compile, '__wrapped__')", where="torch.compile",
    )  # fmt: skip


def _xla(flag: str, tells: str, *, framework: str, workaround: bool = False) -> Switch:
    where = "" if framework == "jax" else "jit_compile"
    return Switch(f"XLA_FLAGS={flag}", framework, tells, workaround, variables={"XLA_FLAGS": flag}, where=where)


def _xla_switches(framework: str) -> list[Switch]:
    return [
        _xla("--xla_backend_optimization_level=0", "LLVM's optimisation", framework=framework, workaround=True),
        _xla("--xla_llvm_disable_expensive_passes=true", "LLVM's expensive passes", framework=framework),
        _xla("--xla_disable_all_hlo_passes=true", "XLA's passes on whole programs", framework=framework),
        _xla("--xla_cpu_use_fusion_emitters=false", "the new emitters of fused kernels", framework=framework, workaround=True),
        _xla("--xla_cpu_use_onednn=false", "oneDNN's kernels", framework=framework, workaround=True),
        _xla("--xla_cpu_use_xnnpack=false", "XNNPACK's kernels", framework=framework, workaround=True),
        _xla("--xla_cpu_multi_thread_eigen=false", "more than one thread", framework=framework, workaround=True),
        _xla("--xla_cpu_max_isa=SSE4_2", "vectors of AVX", framework=framework, workaround=True),
        _xla("--xla_cpu_prefer_vector_width=128", "vectors wider than 128 bits", framework=framework),
        _xla("--xla_cpu_enable_fast_min_max=false", "a fast minimum and maximum", framework=framework, workaround=True),
        _xla("--xla_cpu_enable_platform_dependent_math=false", "mathematics of the platform", framework=framework),
        _xla("--xla_allow_excess_precision=false", "precision that is kept beyond what was asked", framework=framework),
    ]


SWITCHES: tuple[Switch, ...] = (
    _torch("torch.set_num_threads(1)", "more than one thread", check="torch.get_num_threads() == 1"),
    _torch("torch.set_num_threads(2)", "one thread alone", check="torch.get_num_threads() == 2"),
    _torch("torch.backends.mkldnn.enabled = False", "oneDNN's kernels", check="not torch.backends.mkldnn.enabled"),
    _torch("torch.backends.nnpack.set_flags(False)", "NNPACK's kernels", check="not torch._C._get_nnpack_enabled()"),
    _torch("torch.use_deterministic_algorithms(True)", "kernels whose order differs from run to run",
           check="torch.are_deterministic_algorithms_enabled()"),
    _torch("torch.backends.cuda.enable_flash_sdp(False)", "the flash kernel of attention", where="attention",
           check="not torch.backends.cuda.flash_sdp_enabled()"),
    _torch("torch.jit._state.disable()", "TorchScript", check="not torch.jit._state._enabled.enabled", where="torch.jit"),
    Switch("ATEN_CPU_CAPABILITY=default", "torch", "PyTorch's vectorised kernels", True, {"ATEN_CPU_CAPABILITY": "default"},
           in_force="torch.backends.cpu.get_cpu_capability() == 'DEFAULT'"),
    Switch("ONEDNN_MAX_CPU_ISA=SSE41", "torch", "oneDNN's kernels for AVX", True, {"ONEDNN_MAX_CPU_ISA": "SSE41"},
           in_force="__import__('os').environ['ONEDNN_MAX_CPU_ISA'] == 'SSE41'"),
    _backend("eager", "what Dynamo captures and compiles: left out, it is right"),
    _backend("aot_eager", "Inductor: captured and differentiated ahead of time, but not compiled, it is right"),
    _inductor("pattern_matcher", "False", "Inductor's patterns"),
    _inductor("epilogue_fusion", "False", "Inductor's fusion of epilogues"),
    _inductor("max_fusion_size", "1", "Inductor's fusion"),
    _inductor("cpp.simdlen", "0", "Inductor's vectorised loops"),
    _inductor("cpp.enable_loop_tail_vec", "False", "vectorised tails of loops"),
    _inductor("emulate_precision_casts", "True", "casts that Inductor leaves out"),
    _inductor("split_reductions", "False", "Inductor's split reductions"),
    _inductor("inplace_buffers", "False", "buffers that Inductor writes in place"),
    _inductor("allow_buffer_reuse", "False", "buffers that Inductor uses again"),
    _inductor("layout_optimization", "False", "layouts that Inductor changes"),
    _inductor("comprehensive_padding", "False", "strides that Inductor pads"),
    _inductor("fallback_random", "True", "Inductor's random numbers"),
    _inductor("use_pre_grad_passes", "False", "passes before differentiation"),
    _inductor("use_joint_graph_passes", "False", "passes on the joint graph"),
    _inductor("use_post_grad_passes", "False", "passes after differentiation"),
    Switch("TF_ENABLE_ONEDNN_OPTS=0", "tensorflow", "oneDNN's kernels", True, {"TF_ENABLE_ONEDNN_OPTS": "0"},
           in_force="__import__('os').environ['TF_ENABLE_ONEDNN_OPTS'] == '0'"),
    Switch("ONEDNN_MAX_CPU_ISA=SSE41", "tensorflow", "oneDNN's kernels for AVX", True, {"ONEDNN_MAX_CPU_ISA": "SSE41"},
           in_force="__import__('os').environ['ONEDNN_MAX_CPU_ISA'] == 'SSE41'"),
    Switch("tf.config.threading: 1 thread", "tensorflow", "more than one thread", True,
           prelude="import tensorflow as tf; tf.config.threading.set_intra_op_parallelism_threads(1); "
           "tf.config.threading.set_inter_op_parallelism_threads(1)",
           in_force="tf.config.threading.get_intra_op_parallelism_threads() == 1"),
    Switch("tf.config.experimental.enable_op_determinism()", "tensorflow", "kernels whose order differs from run to run", True,
           prelude="import tensorflow as tf; tf.keras.utils.set_random_seed(0); tf.config.experimental.enable_op_determinism()",
           in_force="tf.config.experimental.is_op_determinism_enabled() if "
           "hasattr(tf.config.experimental, 'is_op_determinism_enabled') else True"),
    Switch("tf.config.run_functions_eagerly(True)", "tensorflow", "the graph: op by op it is right", True,
           prelude="import tensorflow as tf; tf.config.run_functions_eagerly(True)",
           in_force="tf.config.functions_run_eagerly()", where="tf.function"),
    Switch("tf.config.optimizer: meta optimizer off", "tensorflow", "grappler, which rewrites graphs", True,
           prelude="import tensorflow as tf; tf.config.optimizer.set_experimental_options({'disable_meta_optimizer': True})",
           in_force="tf.config.optimizer.get_experimental_options()['disable_meta_optimizer']", where="tf.function"),
    *_xla_switches("tensorflow"),
    Switch("JAX_DISABLE_JIT=1", "jax", "compiled programs: op by op it is right", True, {"JAX_DISABLE_JIT": "1"},
           in_force="jax.config.jax_disable_jit"),
    Switch("JAX_DEFAULT_MATMUL_PRECISION=highest", "jax", "products of lower precision", True,
           {"JAX_DEFAULT_MATMUL_PRECISION": "highest"}, in_force="jax.config.jax_default_matmul_precision == 'highest'"),
    Switch("JAX_THREEFRY_PARTITIONABLE=false", "jax", "the partitionable order of random numbers", True,
           {"JAX_THREEFRY_PARTITIONABLE": "false"}, in_force="not jax.config.jax_threefry_partitionable"),
    Switch("JAX_NUMPY_RANK_PROMOTION=raise", "jax", "shapes that are promoted in silence", False,
           {"JAX_NUMPY_RANK_PROMOTION": "raise"}, in_force="jax.config.jax_numpy_rank_promotion == 'raise'"),
    *_xla_switches("jax"),
)  # fmt: skip


def switches_of(framework: str, text: str) -> list[Switch]:
    """Return the switches that can matter to a script: those of compiled code only where it compiles."""
    return [each for each in SWITCHES if each.framework == framework and each.where in text]


def try_switches(
    script: Path,
    python: Path,
    *,
    framework: str,
    modules: Sequence[str],
    like: str | None,
    fault: str = "",
    repeats: int = 1,
    jobs: int = 1,
    seen: Callable[[int, int, Tried], None] = lambda done, total, tried: None,
) -> Iterator[Tried]:
    """Yield what a script, which is wrong without any, says under each switch, and under each of XLA's passes left out.

    Args:
        repeats: how often it must be right for a switch to hide it; one WRONG ends that.
        seen: told how many are done, of how many.
    """
    text = script.read_text(encoding="utf-8")
    switches = switches_of(framework, text)
    uses_xla = any("XLA_FLAGS" in each.variables for each in switches)

    def run(switch: Switch) -> Tried:
        outcome = None
        for _ in range(repeats):
            outcome = run_script(
                script,
                python,
                modules=modules,
                variables=_added(switch.variables),
                prelude=switch.prelude,
                fault=fault,
                like=like,
            )
            if outcome.kind != RIGHT:
                break
        assert outcome is not None
        return Tried(switch, outcome)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            if uses_xla:
                names = passes_of(script, python, modules=modules, fault=fault)
                tells = "that pass of XLA"
                switches += [_xla(f"--xla_disable_hlo_passes={name}", tells, framework=framework) for name in names]
            running = [pool.submit(run, switch) for switch in switches]
            for done, future in enumerate(running, start=1):
                tried = future.result()
                seen(done, len(running), tried)
                yield tried
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _added(variables: Mapping[str, str]) -> dict[str, str]:
    """Return variables, flags of XLA behind those that the user has set."""
    given = os.environ.get("XLA_FLAGS")
    return {name: f"{given} {value}" if given and name == "XLA_FLAGS" else value for name, value in variables.items()}


def passes_of(script: Path, python: Path, *, modules: Sequence[str], fault: str = "") -> list[str]:
    """Return the passes of XLA that have changed a script's programs, in their order."""
    with tempfile.TemporaryDirectory(prefix="vigil-") as folder:
        flags = _added({"XLA_FLAGS": f"--xla_dump_to={folder} --xla_dump_hlo_pass_re=.*"})
        run_script(script, python, modules=modules, variables=flags, fault=fault)
        found = [match[1] for path in sorted(os.listdir(folder)) if (match := _PASS.search(path))]
    return [name for name in dict.fromkeys(found) if name not in _NO_PASS][:_MOST_PASSES]
