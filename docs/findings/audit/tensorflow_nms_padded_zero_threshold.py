"""TensorFlow 2.21.0: non_max_suppression_padded keeps every box where iou_threshold is 0."""

import tensorflow as tf

print("tensorflow", tf.__version__)
boxes = tf.constant([[0.0, 0.0, 1.0, 1.0], [0.5, 0.5, 1.5, 1.5], [3.0, 3.0, 4.0, 4.0]])
scores = tf.constant([0.9, 0.8, 0.7])
found = []
for limit in (0.0, 0.01):
    plain = tf.image.non_max_suppression(boxes, scores, 3, limit).numpy().tolist()
    kept, count = tf.image.non_max_suppression_padded(boxes, scores, 3, limit, pad_to_max_output_size=True)
    padded = kept.numpy().tolist()[: int(count)]
    found.append((plain, padded))
    print("iou_threshold", limit, "plain", plain, "padded", padded)
is_right = all(plain == padded for plain, padded in found)
print("RIGHT" if is_right else "WRONG", "got", len(found[0][1]), "expected", len(found[0][0]))
raise SystemExit(not is_right)
