"""Systems under test: a command, an HTTP endpoint or the built-in pipeline, asked within limits.

The protocol is in ragtriage.data.systems.system. Whatever a system answers is hostile text; whatever it
fails at is a
failed sample with its reason, and the rest goes on.
"""
