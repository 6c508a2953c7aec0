"""Data that recipes train on: official archives, and a user's annotated images."""
