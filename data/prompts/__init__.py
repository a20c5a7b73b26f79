"""The fixed prompts, and the message that presents one case to a model as delimited data.

May import `ragtriage.data.errors`. Nothing here calls a model.
"""
