"""Whether a judge evaluates answers of its own model: judges favour what they would have written."""

from __future__ import annotations

import re
from collections.abc import Mapping

GENERATOR_KEYS = ("generator_model", "generator", "answer_model", "model", "llm", "llm_model", "model_name")
_FAMILIES = ("claude", "gpt", "gemini", "llama", "mistral", "mixtral", "qwen", "deepseek", "command")
_DATE = re.compile(r"[-@:](\d{8}|latest|v\d+(:\d+)?)$")


def generator_of(config: Mapping[str, object]) -> str:
    """Return the model that answered, by the run's configuration; "" where it names none."""
    lower = {str(key).lower(): value for key, value in config.items()}
    return next(
        (str(lower[key]) for key in GENERATOR_KEYS if isinstance(lower.get(key), str) and lower[key]), ""
    )


def self_preference(config: Mapping[str, object], judge: str) -> str:
    """Return a warning where judge and generator are one model, or of one family; "" where they are not.

    Args:
        config: configuration of the run.
        judge: the judge's model.
    """
    generator = generator_of(config)
    if not generator:
        return ""
    if _plain(generator) == _plain(judge):
        return (
            f"judge and generator are one model, {generator}: judges favour what they would have written "
            "themselves; judge with another model, or trust it only as far as human labels agree"
        )
    family = _family(judge)
    if family and family == _family(generator):
        return (
            f"judge ({judge}) and generator ({generator}) are of one family, which may favour its own "
            "answers; compare with human labels, or judge with another"
        )
    return ""


def _plain(model: str) -> str:
    """Return a model's name without provider, effort and date."""
    name = model.strip().lower()
    for _ in range(2):
        name = _DATE.sub("", name)
    provider, slash, rest = name.partition("/")
    if slash and provider in ("anthropic", "openai", "google", "meta", "mistral", "bedrock", "azure"):
        name = rest
    return name.partition("/")[0].replace(".", "-").removeprefix("anthropic-")


def _family(model: str) -> str:
    name = model.lower()
    return next((family for family in _FAMILIES if family in name), "")
