"""keras.ops.image.map_coordinates, tensorflow 2.21.0, eager: outputs/0 is 1.95e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from typing import Any
import keras
import numpy as np
import tensorflow as tf
def _coordinates(x: Any, rows: Any, columns: Any, order: int, mode: str, fill: float) -> Any:
    return keras.ops.image.map_coordinates(x, keras.ops.stack([rows, columns]), order, mode, fill)
call = _coordinates
x = tf.cast(tf.constant(np.array([-0.8498764038085938, -0.0005504042492248118, -1.884226679801941, 1.398514747619629, 1.2811458110809326, -0.19529198110103607, 0.5573396682739258, -0.9728960990905762, -1.601806640625, -0.809719443321228, 0.18216578662395477, 0.16949987411499023, -2.1817522048950195, 1.0425629615783691, -0.15465381741523743, -0.4591432511806488, 1.8472559452056885, -1.5190435647964478, -0.2107435017824173, 0.5590716004371643], 'float32').reshape((4, 5))), tf.float32)
rows = tf.cast(tf.constant(np.array([-1.1331212520599365, -2.6072356700897217, -0.38647982478141785, 5.619566440582275, 0.2888611853122711, 5.364552974700928, -2.2066447734832764, 1.845070719718933, -0.349961519241333], 'float32').reshape((9,))), tf.float32)
columns = tf.cast(tf.constant(np.array([0.6117991805076599, 5.153904438018799, -0.8026775121688843, 0.12248098850250244, -1.2749577760696411, 3.6811676025390625, 2.348186731338501, 1.1755224466323853, 3.658473253250122], 'float32').reshape((9,))), tf.float32)
work = lambda: call(x=x, rows=rows, columns=columns, order=1, mode='reflect', fill=0.0)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(2,)]), float('-0.8498764038085938')  # by the definition in float64
is_right = abs(got - expected) < 0.452
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
