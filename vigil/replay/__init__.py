"""One step of a run again, bit for bit: which of its tensors is the first that is not finite, and has float64 it too."""
