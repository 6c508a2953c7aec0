"""What an audit asks of a framework, and how it is answered."""
