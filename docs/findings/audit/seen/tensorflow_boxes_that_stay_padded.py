"""tensorflow.image.non_max_suppression_padded, tensorflow 2.21.0, eager: outputs/0 is inf times rounding off."""
from typing import Any
import numpy as np
import tensorflow as tf
image_of = tf.image
def _stay_padded(boxes: Any, scores: Any, count: int, overlap: float, least: float) -> Any:
    return image_of.non_max_suppression_padded(boxes, scores, count, overlap, least, pad_to_max_output_size=True)
call = _stay_padded
boxes = tf.cast(tf.constant(np.array([0.3907478153705597, 0.1583562195301056, 0.6492117047309875, 0.3950597941875458, 0.4064042866230011, 0.2437324970960617, 0.6082868576049805, 0.7041318416595459, 0.2875204086303711, 0.07029750198125839, 0.5973817110061646, 0.30665162205696106, 0.14324873685836792, 0.4067540466785431, 0.5660328269004822, 0.6726120710372925, 0.0942637026309967, 0.34865227341651917, 0.49012869596481323, 0.5846872329711914, 0.380476713180542, 0.4433223605155945, 0.6757074594497681, 0.7976638674736023, 0.20970188081264496, 0.3179243505001068, 0.5328325033187866, 0.5724418759346008, 0.3127945065498352, 0.061823755502700806, 0.5985476970672607, 0.27739372849464417, 0.48198962211608887, 0.14872214198112488, 0.8641024231910706, 0.4144967794418335], 'float32').reshape((9, 4))), tf.float32)
scores = tf.cast(tf.constant(np.array([0.057596754282712936, 0.2565823197364807, 0.15029554069042206, 0.5949569344520569, 0.37068700790405273, 0.5149326324462891, 0.9334908127784729, 0.7542668581008911, 0.8595752716064453], 'float32').reshape((9,))), tf.float32)
work = lambda: call(boxes=boxes, scores=scores, count=40, overlap=0.0, least=-1e+30)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('7.0')  # by the definition in float64
is_right = abs(got - expected) < 0.5
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
