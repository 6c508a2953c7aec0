"""The ground floor: what every runner and the conductor agree on. Standard library and numpy only."""
