"""A report: a story as it was made, with all that is needed to read its numbers without the app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dashboard.story import Audience, Made

__all__ = ["OBTAINED", "REPRODUCE", "Report"]

REPRODUCE = "how to reproduce"  # the fact that holds command lines
HEADLINE = ("run", "baseline", "data set", "date", "written")  # facts that stand below the title
OBTAINED = "How these numbers were obtained"


@dataclass(frozen=True)
class Report:
    """What the exports write.

    Attributes:
        title: of the whole.
        subtitle: one line below it, "" for none.
        audience: whom it is for.
        made: the points, in order.
        facts: name -> text: run, baseline, data set and its version, judge, date, version of ragtriage, and
            under REPRODUCE the command lines.
        caveats: what a reader has to know before quoting a number.
    """

    title: str
    subtitle: str = ""
    audience: Audience = "stakeholder"
    made: tuple[Made, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """The command lines that give these numbers again."""
        return tuple(line.strip() for line in self.facts.get(REPRODUCE, "").splitlines() if line.strip())

    @property
    def headline(self) -> list[str]:
        """The facts that stand below the title."""
        return [f"{name}: {text}" for name, text in self.plain_facts.items() if name.lower() in HEADLINE]

    @property
    def plain_facts(self) -> dict[str, str]:
        """The facts without the command lines, those that are not known left out."""
        return {name: text for name, text in self.facts.items() if name != REPRODUCE and text.strip()}
