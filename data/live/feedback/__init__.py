"""Feedback of users: its records, the calls that it is about, what it amounts to, and its way in."""
