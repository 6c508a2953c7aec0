"""PyTorch's CPU convolution, 1 x 1 with stride 2, channels last: its backward pass writes beyond its memory."""

import subprocess
import sys

import torch

STEP = """
import sys
import torch
channels, layout = int(sys.argv[1]), getattr(torch, sys.argv[2])
torch.set_num_threads(1)
convolution = torch.nn.Conv2d(channels, 6, 1, stride=2, bias=False).to(memory_format=layout)
convolution(torch.randn(12, channels, 32, 32).to(memory_format=layout)).sum().backward()
"""

print("torch", torch.__version__)
ended = {}
for channels in (3, 4, 7, 8):
    for layout in ("contiguous_format", "channels_last"):
        try:
            command = [sys.executable, "-c", STEP, str(channels), layout]
            code = subprocess.run(command, stderr=subprocess.DEVNULL, timeout=60).returncode
            ended[channels, layout] = "came to its end" if code == 0 else f"exit code {code}"
        except subprocess.TimeoutExpired:
            ended[channels, layout] = "hangs"
        print(f"{channels} channels, {layout}: {ended[channels, layout]}")
broken = [f"{channels} channels {layout}" for (channels, layout), how in ended.items() if how != "came to its end"]
print("RIGHT" if not broken else "WRONG", "a backward pass that does not come to its end:", ", ".join(broken) or "none")
raise SystemExit(bool(broken))
