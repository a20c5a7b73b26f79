"""The tool that labels a case: offered only where the server was started with --allow-labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from ragtriage.dashboard.mcp_server.chosen_runs import run_values
from ragtriage.dashboard.mcp_server.quoting import name_text
from ragtriage.dashboard.mcp_server.single_case import QuestionId, case_state, found_row
from ragtriage.data.api import diagnosis_of
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.labels.failure_taxonomy import LONGEST_LABEL
from ragtriage.data.scoring.run_store import RunStore

AGENT = "agent: "  # before the name of every annotator, so that nobody takes its labels for a person's
LONGEST_NOTE = 2_000


@dataclass(frozen=True)
class LabelTools:
    """The tool that labels.

    Attributes:
        store: of the workspace.
    """

    store: RunStore

    def label(
        self,
        run: Annotated[str, Field(min_length=1, description="Id or name of the run.")],
        question_id: QuestionId,
        verdict: Annotated[
            Literal["pass", "fail", "note"], Field(description="`note` keeps the note without a verdict.")
        ],
        annotator: Annotated[
            str,
            Field(min_length=1, max_length=60, description="Who labels; recorded as `agent: NAME`."),
        ],
        repeat: Annotated[
            int | None, Field(description="Which repeat; needed where there are several.")
        ] = None,
        failure: Annotated[
            str, Field(max_length=LONGEST_LABEL, description="Failure label, a few words; may be empty.")
        ] = "",
        note: Annotated[str, Field(max_length=LONGEST_NOTE, description="Why; may be empty.")] = "",
    ) -> dict[str, Any]:
        """Label a case as passing or failing. Writes to the workspace: ask the user before you call it.

        A label overrules scores and checks in the diagnosis and counts in every pass rate and gate. It
        replaces your earlier label of the case; the page Cases shows it as `agent: NAME`, where it can be
        undone.
        """
        chosen = self.store.find(run)
        before = diagnosis_of(self.store, chosen, DiagnosisSettings())
        row = found_row(before, question_id, repeat)
        case = (chosen.run_id, question_id, int(before.scored.repeats[row]))
        who = f"{AGENT}{name_text(annotator).strip() or 'unnamed'}"
        pass_or_fail = None if verdict == "note" else verdict
        number = self.store.ledger.add_label(case, who, pass_or_fail, failure, note)
        after = diagnosis_of(self.store, chosen, DiagnosisSettings())
        return {
            "run": run_values(self.store, chosen),
            "label_id": number,
            "annotator": who,
            "state_before": case_state(before, row),
            "state_now": case_state(after, row),
            "pass_rate_before": before.pass_rate.mean,
            "pass_rate_now": after.pass_rate.mean,
            "next": f'triage(run="{chosen.run_id}") counts the label',
        }
