"""The float64 oracle, in numpy.

It is a voter beside the frameworks when a golden tape is made, and the source of whole tensors after that.
"""
