"""Programs that nobody tuned the verification of users' steps on, and what is measured with them."""
