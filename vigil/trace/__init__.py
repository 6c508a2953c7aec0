"""Where two runs of a user's script part: its processes, the first record that differs, the operator, what makes it go away."""
