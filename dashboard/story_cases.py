"""Cases in a story: those chosen by name, else the worst of a failure stage."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dashboard.rounding import count
from dashboard.story import Made
from dashboard.story_view import StoryView
from data.cases import read_case
from data.diagnoses import row_of
from data.exports import native_record
from metrics.stages import STAGES
from metrics.values import IntArray

__all__ = ["chosen_cases"]

MOST_CASES, USUAL_CASES = 50, 3


def chosen_cases(view: StoryView, chosen: Mapping[str, str]) -> Made:
    """Give cases in full.

    Args:
        view: the runs.
        chosen: `cases`, names as in the address ("question_id~repeat") on lines; else `stage`, a failure
            stage or "" for the one that owns most, and `n`, how many.
    """
    rows, missing = _named(view, chosen["cases"]) if chosen.get("cases") else (_worst(view, chosen), 0)
    cases = [native_record(_plain(read_case(view.table, int(row)))) for row in rows]
    heading = "Cases" if chosen.get("cases") or not len(rows) else f"Examples: {_stage(view, int(rows[0]))}"
    said = "" if cases else "There is no such case in this run."
    gone = f"{count(missing, 'case')} chosen before are not in this run" if missing else ""
    return Made("cases", heading, said, cases=cases, facts=[count(len(cases), "case") + " in full", gone])


def _plain(sample: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in sample.items() if key != "judged"}


def _named(view: StoryView, names: str) -> tuple[IntArray, int]:
    wanted = [one.strip() for one in names.splitlines() if one.strip()][:MOST_CASES]
    found = []
    for name in wanted:
        question, _, repeat = name.rpartition("~")
        row = row_of(view.table, question, int(repeat)) if question and repeat.isdecimal() else None
        found += [] if row is None else [row]
    return np.array(found, dtype=np.int64), len(wanted) - len(found)


def _worst(view: StoryView, chosen: Mapping[str, str]) -> IntArray:
    found = view.diagnosis
    entries = found.fix_first
    key = chosen.get("stage") or (entries[0].key if entries else "")
    codes = [at for at, stage in enumerate(STAGES) if stage.key == key]
    if not codes:
        return np.zeros(0, dtype=np.int64)
    given = chosen.get("n", "")
    n = min(int(given), MOST_CASES) if given.isdecimal() else USUAL_CASES
    return np.flatnonzero(found.stages.stage == codes[0])[:n]


def _stage(view: StoryView, row: int) -> str:
    code = int(view.diagnosis.stages.stage[row])
    return STAGES[code].title if code >= 0 else "not bad"
