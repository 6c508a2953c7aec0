"""What a recipe may say: one kind a way of training, each closed, with the line of the file in every error."""
