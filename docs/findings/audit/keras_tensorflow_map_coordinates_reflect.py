"""Keras 3.15.1 on TensorFlow 2.21.0: map_coordinates with "reflect" reads other elements beyond the border; "mirror" raises."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

print("keras", keras.__version__)
line, places = np.arange(1.0, 6.0, dtype="float32"), np.array([[-3.0, -2.0, -1.0, 5.0, 6.0, 7.0]], "float32")
map_coordinates, wrong = keras.ops.image.map_coordinates, []
for mode, right in (("mirror", [4, 3, 2, 4, 3, 2]), ("reflect", [3, 2, 1, 5, 4, 3])):
    try:
        got = keras.ops.convert_to_numpy(map_coordinates(line, places, 0, mode)).tolist()
    except Exception as error:
        got = type(error).__name__
    if got != right:
        wrong.append(mode)
    print(mode, got, "right", right)
is_right = wrong == []
print("RIGHT" if is_right else "WRONG", *wrong)
raise SystemExit(not is_right)
