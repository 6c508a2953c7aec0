"""Random streams, data sets, and the batches that are made of them: the same bits in every framework."""
