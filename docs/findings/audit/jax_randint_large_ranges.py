"""JAX 0.10.2: jax.random.randint is far from uniform where the range is a large share of 2**32."""

import jax

high = 3 * 2**29
key = jax.random.PRNGKey(0)
x = jax.random.randint(key, (1_000_000,), 0, high)
shares = [round(float(((x >= high // 6 * k) & (x < high // 6 * (k + 1))).mean()), 4) for k in range(6)]
print("jax", jax.__version__, "shares of sixths, right 0.1667 each:", shares)
x = jax.random.randint(key, (1_000_000,), 0, 10**9)
print("range 1e9, mean over 5e8, right 1.0000:", float((x / 5e8).mean()))
is_right = max(abs(share - 1 / 6) for share in shares) < 0.01
print("RIGHT" if is_right else "WRONG", "got", shares[0], "expected", 0.1667)
raise SystemExit(not is_right)
