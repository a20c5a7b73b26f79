"""Profiles of `ragtriage init`: a gates.toml for each kind of use, with the reason for each threshold."""
