"""The PyTorch runner: torch.nn, torch.optim, autocast, DistributedDataParallel. Start it as `python -m runners.torch RUN_DIR`."""
