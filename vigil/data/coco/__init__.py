"""COCO's format and figures: a user's annotations come in, scenes go out, and detections become average precision.

pycocotools and Pillow are imported where they are used, so that the command line starts quickly.
"""
