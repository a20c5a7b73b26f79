"""Live traffic: spans and feedback become calls, windows of calls become runs, and a policy watches them."""
