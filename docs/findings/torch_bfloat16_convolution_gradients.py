"""Gradients of PyTorch's own bfloat16 convolutions, taken without AVX-512: python torch_bfloat16_convolution_gradients.py

ONEDNN_MAX_CPU_ISA=AVX2 takes oneDNN's away on any processor, as one without AVX-512 does.
"""

import os
import subprocess
import sys

import numpy as np

if "child" in sys.argv:
    import torch

    def gradients(x, kernel, cotangent):
        x, kernel = (tensor.clone().requires_grad_() for tensor in (x, kernel))
        torch.nn.functional.conv2d(x, kernel, padding=1).backward(cotangent)
        return x.grad.double(), kernel.grad.double()

    generator = np.random.default_rng(0)
    shapes = (32, 16, 16, 16), (16, 16, 3, 3), (32, 16, 16, 16)
    tensors = [torch.from_numpy(generator.normal(size=shape)) for shape in shapes]
    instructions = os.environ.get("ONEDNN_MAX_CPU_ISA", "all")
    for dtype, rounding in ((torch.bfloat16, "2e-03"), (torch.float16, "2e-04")):
        rounded = [tensor.to(dtype) for tensor in tensors]
        right = gradients(*(tensor.double() for tensor in rounded))
        errors = [float((a - b).norm() / b.norm()) for a, b in zip(gradients(*rounded), right, strict=True)]
        what = f"{torch.__version__} {instructions:4} {str(dtype)[6:]:8}"
        print(f"{what}: relative error of data {errors[0]:.1e}, kernel {errors[1]:.1e} (one rounding: {rounding})", flush=True)
else:
    for setting in {}, {"ONEDNN_MAX_CPU_ISA": "AVX2"}:
        environment = {**os.environ, **setting}
        command = [sys.executable, __file__, "child"]
        said = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        print(said, end="", flush=True)
    # Without oneDNN's, on any processor: the kernel gradient in bfloat16 within two roundings.
    error = float(next(line for line in said.splitlines() if "bfloat16" in line).split("kernel ")[1].split()[0])
    is_right = error < 4e-3
    print("RIGHT" if is_right else "WRONG", "got", error, "expected", 0.002)
    raise SystemExit(not is_right)
