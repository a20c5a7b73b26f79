"""The command `ragtriage dataset review`: how far the reading of a dataset is, and what it found."""

from __future__ import annotations

from math import isfinite
from typing import Any

import click

from ragtriage.dashboard.cli.datasets.frozen import NAME, opened
from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json, row_table
from ragtriage.data.datasets.readers import ReaderAgreement, reader_agreement, reader_rows, share_kept
from ragtriage.data.datasets.review import Draft, read_draft
from ragtriage.metrics.number_text import count, interval_text, number
from ragtriage.metrics.statistics.intervals import Interval


@click.command("review")
@NAME
@JSON
@click.pass_obj
def review(workspace: str | None, name: str, as_json: bool) -> None:
    """Say how far the review is: who read how much, why items were rejected, how far two readers agree.

    The reading itself is done on the page Datasets.
    """
    draft = read_draft(opened(workspace, name))
    kept, agreement = share_kept(draft.offered), reader_agreement(draft)
    rejected = [each for each in draft.items if each.item.rejected_by]
    # what the filters rejected and readers looked at nevertheless
    lost = share_kept(rejected)
    if as_json:
        print_json(_answer(draft, kept, lost, agreement))
        return
    lines = [f"{plain(draft.dataset.name)}: {draft.n_read:,} of {len(draft.offered):,} read."]
    if kept is not None:
        lines.append(f"Kept {_share(kept)}.")
    if lost is not None:
        lines.append(f"Filters' rejects that were read: {lost.n_scored:,}; kept {_share(lost)}.")
    if agreement is not None:
        lines.append(agreement.sentence(plain))
    click.echo("\n".join(lines))
    if draft.readers:
        click.echo(f"\n{row_table(reader_rows(draft))}")
    if left := len(draft.offered) - draft.n_read:
        click.echo(f"\n{count(left, 'question')} to go: `ragtriage serve`, page Datasets, Review.")


def _share(share: Interval) -> str:
    return f"{number(share.mean)} {interval_text(share.low, share.high)}"


def _answer(
    draft: Draft, kept: Interval | None, lost: Interval | None, agreement: ReaderAgreement | None
) -> dict[str, Any]:
    return {
        "dataset": draft.dataset.dataset_id,
        "name": draft.dataset.name,
        "items": len(draft.offered),
        "read": draft.n_read,
        "kept": _interval(kept),
        "filters_rejects_kept": _interval(lost),
        "readers": reader_rows(draft),
        "agreement": agreement
        and {
            "readers": agreement.readers,
            "n": agreement.n,
            "same": agreement.same,
            "kappa": _finite(agreement.kappa.value),
            "low": _finite(agreement.kappa.low),
            "high": _finite(agreement.kappa.high),
        },
    }


def _interval(share: Interval | None) -> dict[str, Any] | None:
    if share is None:
        return None
    return {"share": share.mean, "low": share.low, "high": share.high, "n": share.n_scored}


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
