"""What passes between the conductor and a runner: spec, events, checkpoints, questions and answers."""
