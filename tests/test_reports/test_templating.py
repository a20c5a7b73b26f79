"""Templates escape what they are given."""

import pytest
from jinja2 import DictLoader, UndefinedError
from markupsafe import Markup

from ragtriage.dashboard.present import templating
from ragtriage.dashboard.present.page_html.blocks import style_sheet


@pytest.fixture
def of_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = templating.environment().overlay(
        loader=DictLoader({"text.html": "<p title='{{ text }}'>{{ text }}</p>"})
    )
    monkeypatch.setattr(templating, "environment", lambda: environment)


def render(text: object) -> str:
    return templating.render("text.html", text=text)


@pytest.mark.usefixtures("of_strings")
def test_text_is_escaped_in_content_and_in_attributes() -> None:
    html = render("""<script>alert('1')</script>" onload=" \x00\ud800""")
    assert "<script" not in html
    assert '"' not in html
    assert html.count("'") == 2
    assert "\x00" not in html
    assert "\ud800" not in html


@pytest.mark.usefixtures("of_strings")
def test_markup_of_another_template_passes_as_it_is() -> None:
    assert "<b>1 &lt; 2</b>" in render(Markup("<b>{}</b>").format("1 < 2"))


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="absent"):
        templating.environment().from_string("{{ absent }}").render()


def test_backticks_become_code_and_the_rest_is_escaped() -> None:
    assert templating.code_marked("name `relevant`, `<b>` & 1 ` more") == (
        "name <code>relevant</code>, <code>&lt;b&gt;</code> &amp; 1 ` more"
    )


def test_the_figure_of_a_tile_stays_on_one_line() -> None:
    rule = style_sheet("light").partition(".rt-value {")[2].partition("}")[0]
    assert "flex: none" in rule
    assert "white-space: nowrap" in rule
