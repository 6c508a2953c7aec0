"""Compiled under autocast to bfloat16 and kept, a program of torch.compile is taken under autocast to float16, too.

Two processes share Inductor's cache, as every run of one home directory does.
WRONG in torch 2.10.0, right since 2.13.0.
"""

import os
import subprocess
import sys
import tempfile

import torch

if "child" in sys.argv:
    dtype = getattr(torch, sys.argv[-1])
    torch.manual_seed(0)
    layer, batch = torch.nn.Linear(64, 64), torch.randn(8, 64)
    with torch.autocast("cpu", dtype=dtype):
        found = torch.compile(layer)(batch)
    found.sum().backward()
    print(str(found.dtype).removeprefix("torch."), flush=True)
else:
    with tempfile.TemporaryDirectory() as cache:
        for dtype in ("bfloat16", "float16"):
            environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache}
            command = [sys.executable, __file__, "child", dtype]
            got = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
            print(torch.__version__, "autocast to", dtype, "gives", got, flush=True)
    print("RIGHT" if got == "float16" else "WRONG", "got", got, "expected", "float16")
    raise SystemExit(got != "float16")
