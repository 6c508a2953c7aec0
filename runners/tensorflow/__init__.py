"""The TensorFlow runner: Keras 3 layers and optimizers, GradientTape, MirroredStrategy.

Start it as `python -m runners.tensorflow RUN_DIR`.
"""

import os

# Both are read when the framework is imported.
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
