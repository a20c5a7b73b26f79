"""The colours of pages, charts and exports, by theme; every text colour has a contrast of at least 4.5."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ragtriage.metrics.diagnosis.stages import Owner

Theme = Literal["light", "dark"]
FONT = "Source Sans, sans-serif"


@dataclass(frozen=True)
class StateColours:
    """The colours of one state: of its text and marks, and of the surface behind them."""

    text: str
    tint: str


@dataclass(frozen=True)
class Tokens:
    """The colours of one theme.

    Attributes:
        background, panel, border, track: surfaces, from the page to the line under a strip.
        text, muted, primary: text, small print, links.
        good, bad, unclear, unmeasured: the states of a verdict.
        good_mark: of bars and marks that are good.
        alive, flow: what still survives in the picture of the pipeline.
        stages: colour of a failure stage by the part of the pipeline that owns it.
        on_stage: text on such a colour.
        sequential: ten steps from low to high.
        diverging: ten steps from bad to good.
        versions: colours for versions side by side, where no stage is drawn.
    """

    background: str
    panel: str
    border: str
    track: str
    text: str
    muted: str
    primary: str
    good: StateColours
    bad: StateColours
    unclear: StateColours
    unmeasured: StateColours
    good_mark: str
    alive: str
    flow: str
    stages: Mapping[Owner, str]
    on_stage: Mapping[Owner, str]
    sequential: tuple[str, ...]
    diverging: tuple[str, ...]
    versions: tuple[str, ...]


LIGHT = Tokens(
    background="#FFFFFF",
    panel="#F4F6F8",
    border="#DCE2E8",
    track="#E6EAEE",
    text="#17212B",
    muted="#56626E",
    primary="#0B5FA5",
    good=StateColours("#00684A", "#E2F4EC"),
    bad=StateColours("#B3370B", "#FCEDE6"),
    unclear=StateColours("#7A5300", "#FBF1D9"),
    unmeasured=StateColours("#56626E", "#EEF1F4"),
    good_mark="#008F68",
    alive="#C9D6E2",
    flow="#E3EAF1",
    stages=MappingProxyType(
        {
            "retrieval": "#0B5FA5", "reranking": "#56B4E9", "refusal": "#7D2A6C", "generation": "#C04A00",
            "format": "#E3A81B", "orchestration": "#5B7A1E", "safety": "#3A3F45", "unexplained": "#97A1AA",
        }
    ),
    on_stage=MappingProxyType(
        {
            "retrieval": "#FFFFFF", "reranking": "#17212B", "refusal": "#FFFFFF", "generation": "#FFFFFF",
            "format": "#17212B", "orchestration": "#FFFFFF", "safety": "#FFFFFF", "unexplained": "#17212B",
        }
    ),
    sequential=(
        "#EEF5FA", "#D6E7F3", "#B9D6EA", "#97C2DF", "#71ABD2",
        "#4C93C4", "#2B7AB2", "#14629B", "#0A4B80", "#063561",
    ),
    diverging=(
        "#A63603", "#D0561A", "#E98B54", "#F5BC98", "#FBE6D9",
        "#E0EFEA", "#A9D8C8", "#62B89D", "#1F9474", "#006B50",
    ),
    versions=("#0B5FA5", "#C04A00", "#7D2A6C", "#008F68", "#B07D00", "#56626E"),
)  # fmt: skip
DARK = Tokens(
    background="#10161C",
    panel="#1A232C",
    border="#2C3843",
    track="#2A3540",
    text="#E8EEF3",
    muted="#A9B5C0",
    primary="#5AB0F0",
    good=StateColours("#55D6A9", "#12312A"),
    bad=StateColours("#FF9C70", "#3A2015"),
    unclear=StateColours("#F0C667", "#352A12"),
    unmeasured=StateColours("#A9B5C0", "#222C35"),
    good_mark="#2FC29B",
    alive="#3D4E5E",
    flow="#1E2A35",
    stages=MappingProxyType(
        {
            "retrieval": "#3F8FE0", "reranking": "#B5E3FF", "refusal": "#D98AC4", "generation": "#F0803C",
            "format": "#FFD866", "orchestration": "#A9C95C", "safety": "#D5DBE1", "unexplained": "#6F7B86",
        }
    ),
    on_stage=MappingProxyType(
        {
            "retrieval": "#10161C", "reranking": "#10161C", "refusal": "#10161C", "generation": "#10161C",
            "format": "#10161C", "orchestration": "#10161C", "safety": "#10161C", "unexplained": "#FFFFFF",
        }
    ),
    sequential=(
        "#14212D", "#16304A", "#184063", "#1A527D", "#1F6696",
        "#2B7BAF", "#4391C4", "#64A9D6", "#8DC3E6", "#BCDFF5",
    ),
    diverging=(
        "#F0803C", "#CC6A30", "#9C5228", "#6B3B22", "#3A2A22",
        "#1D2E2C", "#1F4A42", "#23705F", "#29987C", "#2FC29B",
    ),
    versions=("#3F8FE0", "#F0803C", "#D98AC4", "#2FC29B", "#FFD866", "#A9B5C0"),
)  # fmt: skip
THEMES: Mapping[Theme, Tokens] = MappingProxyType({"light": LIGHT, "dark": DARK})


def text_on(colour: str) -> str:
    """Return black or white, whichever is read better on a colour: its contrast is at least 4.5 on any."""
    return "#000000" if (luminance(colour) + 0.05) ** 2 > 1.05 * 0.05 else "#FFFFFF"


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours as WCAG defines it."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour written as #RRGGBB, 0 to 1, as WCAG defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
