"""Gradients of TensorFlow's bfloat16 convolutions without oneDNN's kernels: python tensorflow_bfloat16_convolution_gradients.py

A processor without AVX-512 has none of these kernels; elsewhere TF_ENABLE_ONEDNN_OPTS=0 does without them, too.
"""

import os
import subprocess
import sys

import numpy as np

if "child" in sys.argv:
    import tensorflow as tf

    def gradients(x, kernel, cotangent):
        with tf.GradientTape() as tape:
            tape.watch([x, kernel])
            y = tf.nn.conv2d(x, kernel, 1, "SAME")
        return tape.gradient(y, [x, kernel], cotangent)

    generator = np.random.default_rng(0)
    shapes = (32, 16, 16, 16), (3, 3, 16, 16), (32, 16, 16, 16)
    rounded = [tf.constant(generator.normal(size=shape), tf.bfloat16) for shape in shapes]
    right = gradients(*(tf.cast(tensor, tf.float64) for tensor in rounded))
    onednn = "without" if os.environ["TF_ENABLE_ONEDNN_OPTS"] == "0" else "with"
    for name, found, expected in zip(("data", "kernel"), gradients(*rounded), right, strict=True):
        error = np.linalg.norm(tf.cast(found, tf.float64) - expected) / np.linalg.norm(expected)
        what = f"{tf.__version__} {onednn:7} oneDNN, {name:6} gradient"
        print(f"{what}: relative error {error:.1e} (one rounding: 2e-03)", flush=True)
else:
    for setting in "1", "0":
        environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": setting, "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, __file__, "child"]
        said = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        print(said, end="", flush=True)
    # Without oneDNN, on any processor: both gradients within two roundings.
    errors = [float(line.split("relative error ")[1].split()[0]) for line in said.splitlines() if "relative error" in line]
    is_right = max(errors) < 4e-3
    print("RIGHT" if is_right else "WRONG", "got", errors[1], "expected", 0.002)
    raise SystemExit(not is_right)
