"""What a file for another tool holds, what was left out of it, and how it is sent."""

from __future__ import annotations

from collections.abc import Collection

from ragtriage.data.exports.feedback import Counts
from ragtriage.data.exports.tools import Tool


def written(tool: Tool, counts: Counts, path: str) -> str:
    """Return what was written, in a sentence."""
    samples = f"{counts.samples:,} sample{'' if counts.samples == 1 else 's'}"
    errors = f", {counts.errors:,} of them failed" if counts.errors else ""
    return f"Wrote {counts.written:,} scores and labels{errors}, of {samples} as {tool.content} to {path}."


def left_out(tool: Tool, counts: Counts) -> str:
    """Return what was left out, in a sentence; "" where everything was written."""
    parts = (
        (counts.failed, f"failed, for which {tool.title} has no form"),
        (counts.not_applicable, "not applicable"),
        (counts.not_run, "not run"),
        (counts.notes, "a note alone"),
        (counts.without_id, f"{'sample' if counts.without_id == 1 else 'samples'} without {tool.id_name}"),
    )
    listed = ", ".join(f"{number:,} {what}" for number, what in parts if number)
    return f"Left out: {listed}." if listed else ""


def cautions(tool: Tool, counts: Counts, others: Collection[Tool]) -> str:
    """Return what to look at before sending: scores that the tool may have, ids of another tool; else ""."""
    sentences = []
    if counts.imported:
        sentences.append(f"{counts.imported:,} came with the run; --sources leaves them out.")
    recorders = {name.lower() for name in counts.tools}
    foreign = sorted(
        other.title for other in others if other.title.lower() in recorders and other is not tool
    )
    if foreign and tool.title.lower() not in recorders:
        sentences.append(f"The {tool.id_name} of each sample is that of {' and '.join(foreign)}.")
    return " ".join(sentences)


def sending(tool: Tool, counts: Counts, path: str) -> str:
    """Return the lines of Python that send a file, with what must be there first."""
    needs = ""
    if counts.human and tool.send_human:
        kinds = "; ".join(
            f"{name} ({', '.join(sorted(values)) if all(values) else 'a number'})"
            for name, values in sorted(counts.human.items())
        )
        needs = f"{tool.title} needs {tool.human_needs}: {kinds}.\n"
    lines = tool.lines(path, bool(counts.human))
    return f"{needs}To send it (nothing was sent):\n\n{lines}"
