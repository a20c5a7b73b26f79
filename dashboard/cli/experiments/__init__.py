"""The commands of `ragtriage experiment`: what they share in `asking`, and one module for each kind."""
