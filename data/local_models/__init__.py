"""Metrics of models on this machine: NLI faithfulness, context quality by embeddings, reverse questions.

They are metrics of their own beside the judge's, named after the model. A model is loaded late: from
a folder, or by a download that the user allowed.
"""
