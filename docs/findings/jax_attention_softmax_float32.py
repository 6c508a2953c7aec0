"""jax.nn.dot_product_attention takes its softmax in float32, in float64 too: python jax_attention_softmax_float32.py"""

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
generator = np.random.default_rng(0)
query, key, value = (generator.normal(size=(1, 64, 1, 16)) for _ in range(3))
scores = np.einsum("bqhd,bkhd->bhqk", query, key) / 4.0
shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
right = np.einsum("bhqk,bkhd->bqhd", shares / shares.sum(axis=-1, keepdims=True), value)
found = np.asarray(jax.nn.dot_product_attention(query, key, value))
off = np.linalg.norm(found - right) / np.linalg.norm(right)
print(f"jax {jax.__version__}: {found.dtype}, off by {off:.1e} of its norm")
is_right = bool(off < 1e-12)
print("RIGHT" if is_right else "WRONG", "got", off, "expected", 0.0)
raise SystemExit(not is_right)
