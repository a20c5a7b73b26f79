"""Jinja templates with autoescape on: the one way in which values become HTML.

A template of the folder `templates/` escapes every value it is given; only `markupsafe.Markup`, escaped by
another template or by `Markup(...).format(...)`, passes as it is.
No template uses the filter `safe`.
"""

import re
from base64 import b64encode
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ragtriage.dashboard.headlines.headline import GLYPHS, LOOKS, WORDS
from ragtriage.data.text.printable import printable

_CODE = re.compile(r"`([^`\n]+)`")


@cache
def environment() -> Environment:
    """Return the Jinja environment: autoescape on, a missing value is an error."""
    templates = Environment(
        loader=PackageLoader("ragtriage.dashboard.present"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["code"] = code_marked
    templates.globals |= {"LOOKS": LOOKS, "GLYPHS": GLYPHS, "WORDS": WORDS}  # of a state
    return templates


def code_marked(text: str) -> Markup:
    """Return a text escaped, with what stands between backticks as code."""
    # Markup: the text is escaped before the tags are put in
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(printable(text)))))  # noqa: S704 -- see above


def render(template: str, **values: Any) -> Markup:
    """Render a template; the result is HTML that other templates take as it is."""
    # Markup: every value in it was escaped by the template
    return Markup(environment().get_template(template).render(values))  # noqa: S704 -- see above


def svg_address(picture: str) -> str:
    """Return an SVG picture as the address of an image, which needs no request."""
    return f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"


def _printable(value: Any) -> Any:
    """Replace characters that HTML may not carry, such as controls, in text that is still to be escaped."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
