"""What each kind of recipe needs: parameters, batches, evaluation."""
