"""What Vigil costs: each runner against a bare loop, a script that trains the same model and knows nothing of Vigil.

The three bare scripts stand on their framework alone. Nothing else here imports one.
"""
