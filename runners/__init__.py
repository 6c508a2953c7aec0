"""What executes inside one framework's process. See runners/README.md for the contract."""
