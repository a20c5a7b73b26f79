"""How many refusals does the rule find, and how many of those it finds are refusals, by language?

    python benchmarks/refusal_table.py [FILE ...]

A file has one JSON object a line with `language`, `text` and `label`: `refusal`, `refusal_safety`, `partial`
or `answer`. Recall is over the plain refusals, precision over these and the answers; refusals for safety and
partial answers stand apart. Without a file: the labelled texts among the fixtures of the tests.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from ragtriage.data.text.refusal_detection import detect_refusal

__all__ = ["FIXTURES", "Outcomes", "outcomes_of"]

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures" / "refusals"
ALL = "all"


class Outcomes(Counter[tuple[str, bool]]):
    """Texts of a language by label and by whether the rule takes them for refusals."""

    @property
    def recall(self) -> float:
        """Share of the refusals that are found."""
        return self["refusal", True] / max(1, self["refusal", True] + self["refusal", False])

    @property
    def precision(self) -> float:
        """Share of refusals among the refusals and answers that are taken for one."""
        return self["refusal", True] / max(1, self["refusal", True] + self["answer", True])

    def found(self, label: str) -> str:
        """Return how many of the texts with a label are taken for refusals, such as "18 of 20"."""
        return f"{self[label, True]} of {self[label, True] + self[label, False]}"


def outcomes_of(lines: Iterable[str]) -> Mapping[str, Outcomes]:
    """Return the outcomes of labelled texts by language, and those of all."""
    outcomes: dict[str, Outcomes] = defaultdict(Outcomes)
    for line in lines:
        sample = json.loads(line)
        outcome = sample["label"], detect_refusal(sample["text"]).refused
        for language in (sample["language"], ALL):
            outcomes[language][outcome] += 1
    return outcomes


def table(outcomes: Mapping[str, Outcomes]) -> str:
    """Return the outcomes as a table in Markdown."""
    lines = [
        "| language | refusals found | recall | precision | answers wrongly | partial | for safety |",
        "|---|---|---|---|---|---|---|",
    ]
    for language, counts in sorted(outcomes.items(), key=lambda item: (item[0] == ALL, item[0])):
        found, wrong, partial, safety = map(counts.found, ("refusal", "answer", "partial", "refusal_safety"))
        shares = f"{counts.recall:.2f} | {counts.precision:.2f}"
        lines.append(f"| {language} | {found} | {shares} | {wrong} | {partial} | {safety} |")
    return "\n".join(lines)


def main() -> None:
    """Print a table for each file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", nargs="*", type=Path, default=sorted(FIXTURES.glob("*.jsonl")))
    for path in parser.parse_args().file:
        print(f"{path.name}\n\n{table(outcomes_of(path.read_text('utf-8').splitlines()))}\n")


if __name__ == "__main__":
    main()
