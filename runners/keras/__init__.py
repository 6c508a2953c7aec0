"""The audited calls of Keras, which are the same on every backend: the framework that runs them is its runner's."""

NAMESPACES = (
    "keras.ops", "keras.ops.image", "keras.ops.linalg", "keras.ops.nn", "keras.layers", "keras.losses", "keras.metrics",
    "keras.optimizers", "keras.optimizers.schedules", "keras.activations", "keras.initializers", "keras.random",
)  # fmt: skip
