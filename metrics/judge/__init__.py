"""The LLM judge's prompts and the reply it must give; nothing here calls a model.

May import `metrics.schema` and `metrics.text`.
"""
