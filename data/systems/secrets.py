"""Keep secrets out of what is stored and printed: keys of a service, in whatever a system says.

A secret is known by its value (that of a header's variable, or of a variable of the environment that is named
like one) or by its look ("sk-...", "Bearer ..."). What stands in its place names the variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

SHORTEST = 8  # characters: shorter values are words that stand in answers by chance
_NAMED_LIKE_ONE = re.compile(r"(?i)(key|token|secret|passw|credential|authorization)")
_LOOKS = re.compile(r"\b(sk-[A-Za-z0-9_-]{8,200}|gh[pousr]_[A-Za-z0-9]{16,200}|AKIA[0-9A-Z]{16})")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,2000}")
_LOGIN = re.compile(r"(?<=://)[^/\s@]{1,200}@")
_OPTION = re.compile(r"(?i)^--?[\w-]*(key|token|secret|passw|credential|authorization)[\w-]*$")
MASK = "[secret]"


class Secrets:
    """The secrets that may come up while a system is asked."""

    def __init__(self, named: Mapping[str, str] | None = None) -> None:
        """Gather the values to hide.

        Args:
            named: name of a variable -> its value, hidden whatever its length; variables of the environment
                that are named like a secret are hidden too.
        """
        values = {
            name: value
            for name, value in os.environ.items()
            if _NAMED_LIKE_ONE.search(name) and len(value) >= SHORTEST
        }
        values |= {name: value for name, value in (named or {}).items() if value}
        keys = [(name, value.split(None, 1)[1]) for name, value in values.items() if _is_scheme(value)]
        self._values = sorted([*values.items(), *keys], key=lambda item: -len(item[1]))

    def hide(self, text: str) -> str:
        """Return a text without any secret."""
        for name, value in self._values:
            text = text.replace(value, f"[{name}]")
        text = _LOOKS.sub(MASK, text)
        text = _BEARER.sub(rf"\1 {MASK}", text)
        return _LOGIN.sub("", text)

    def hide_values(self, value: Any) -> Any:
        """Return a JSON value in which no text holds a secret that is known by its value."""
        if isinstance(value, str):
            for name, secret in self._values:
                value = value.replace(secret, f"[{name}]")
            return value
        if isinstance(value, list):
            return [self.hide_values(item) for item in value]
        if isinstance(value, dict):
            return {self.hide_values(key): self.hide_values(item) for key, item in value.items()}
        return value

    def hide_arguments(self, arguments: Sequence[str]) -> list[str]:
        """Return the arguments of a command without secrets, nor the value after an option such as --key."""
        shown, hide_next = [], False
        for argument in arguments:
            option, equals, _ = argument.partition("=")
            if hide_next:
                shown.append(MASK)
            elif equals and (_OPTION.match(option) or _NAMED_LIKE_ONE.search(option)):
                shown.append(f"{option}={MASK}")
            else:
                shown.append(self.hide(argument))
            hide_next = not equals and bool(_OPTION.match(argument))
        return shown


def _is_scheme(value: str) -> bool:
    """Return whether a header's value is a scheme and a key, as in "Bearer abc"."""
    scheme, _, key = value.partition(" ")
    return scheme.casefold() in ("basic", "bearer", "token") and len(key.strip()) > 0


def secret_arguments(arguments: Sequence[str]) -> dict[str, str]:
    """Return the secrets among the arguments of a command, by option: they are not to be in what it says."""
    found, name = {}, ""
    for argument in arguments:
        option, equals, value = argument.partition("=")
        if name:
            found[name] = argument
        elif equals and (_OPTION.match(option) or _NAMED_LIKE_ONE.search(option)):
            found[option.lstrip("-")] = value
        name = argument.lstrip("-") if not name and not equals and _OPTION.match(argument) else ""
    return {name: value for name, value in found.items() if len(value) >= SHORTEST}
