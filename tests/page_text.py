"""What a person reads on a page that AppTest ran."""

from __future__ import annotations

import html
import re

from streamlit.testing.v1 import AppTest

ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
__all__ = ["headline", "html_text", "page_text"]


def html_text(app: AppTest) -> str:
    """Return the text of the HTML blocks of a page, tags left out, entities resolved."""
    bodies = [str(block.proto.body) for block in app.get("html")]
    texts = [re.sub(r"<style>.*?</style>", "", body, flags=re.DOTALL) for body in bodies]
    return "\n".join(html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))) for text in texts)


def headline(app: AppTest) -> str:
    """Return the statement that a page opens with."""
    bodies = " ".join(str(block.proto.body) for block in app.get("html"))
    (statement,) = re.findall(r"<h1>(.*?)</h1>", bodies, flags=re.DOTALL)
    return html.unescape(statement)


def page_text(app: AppTest) -> str:
    """Return every text of a page: Markdown, messages, tables, HTML, without the escapes of Markdown."""
    texts = [html_text(app)]
    for element in app.main:
        value = getattr(element, "value", None)
        if value is not None and not hasattr(value, "to_csv"):
            texts.append(ESCAPED.sub(r"\1", str(value)))
        label = getattr(element, "label", None)
        texts.append(str(label or ""))
    texts += [frame.value.to_csv() for frame in app.dataframe]
    return "\n".join(texts)
