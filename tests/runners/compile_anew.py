"""`python -m tests.runners.compile_anew RUN_DIR`: the runner of JAX, which reads nothing that was compiled before."""

import runpy

import jax

if __name__ == "__main__":
    # JAX has read its environment when it was imported, which is before a fork.
    jax.config.update("jax_enable_compilation_cache", False)
    runpy.run_module("runners.jax", run_name="__main__", alter_sys=True)
