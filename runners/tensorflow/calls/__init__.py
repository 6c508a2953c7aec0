"""The public calls that are audited: one module a family, `CALLS` by operator and public name."""

NAMESPACES = (
    "tensorflow.nn", "tensorflow.math", "tensorflow.math.special", "tensorflow.linalg", "tensorflow.image", "tensorflow.signal",
    "tensorflow.random", "tensorflow.sparse", "tensorflow.ragged",
)  # fmt: skip
