"""How far correct operators are from float64, and how often one passes limits made from the others."""
