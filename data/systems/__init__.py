"""Systems under test: a command, an HTTP endpoint or the built-in pipeline, asked within limits.

The protocol is in ragtriage.data.systems.system. Whatever a system answers is hostile text; whatever it
fails at is a failed sample with its reason, and the rest goes on. The built-in system runs without a network
and without a model as `extractive`, so that an experiment can be tried before a system of one's own is
connected.
"""
