"""Compiled for AVX-512 and kept, a program of torch.compile is taken for AVX2, and fills half of its result.

Needs a processor with AVX-512; on others it says RIGHT.
Two processes share Inductor's cache, as machines with one home directory do.
"""

import os
import subprocess
import sys
import tempfile

import torch

if "child" in sys.argv:
    right = torch.linspace(0, 1, 4096).exp()
    found = torch.compile(torch.exp)(torch.linspace(0, 1, 4096))
    wrong = int((found - right).abs().gt(1e-5).sum())
    print(torch.__version__, torch.backends.cpu.get_cpu_capability(), f"wrong: {wrong} of {found.numel()}", flush=True)
else:
    for capabilities in (["avx2"], ["avx512", "avx2"]):
        with tempfile.TemporaryDirectory() as cache:
            print("cache of its own" if len(capabilities) == 1 else "the same cache")
            for capability in capabilities:
                environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache, "ATEN_CPU_CAPABILITY": capability}
                command = [sys.executable, __file__, "child"]
                said = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
                print(said, end="", flush=True)
    wrong = int(said.split("wrong: ")[1].split()[0])
    print("RIGHT" if wrong == 0 else "WRONG", "got", wrong, "expected", 0)
    raise SystemExit(wrong != 0)
