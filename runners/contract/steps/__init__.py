"""What runners share to verify a program of a user's own, which no recipe declares."""
