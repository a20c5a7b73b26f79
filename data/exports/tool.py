"""What a tool takes in: the id that joins a score, the form of a line, and how its file is sent."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ragtriage.data.exports.feedback import Feedback, SampleFeedback

_OURS = uuid.uuid5(uuid.NAMESPACE_OID, "ragtriage")


@dataclass(frozen=True)
class Tool:
    """A tool that takes scores back."""

    title: str  # name on screen
    ending: str  # of its file
    content: str  # what the file holds, in a few words
    id_name: str  # name of the id that joins a score to what the tool recorded, as kept with a sample
    imports: str  # what to import so that samples have it, as part of a sentence
    accepts: Callable[[Mapping[str, str]], bool]  # whether the ids of a sample suffice
    # the line of a score or label; None where the tool has no form for a failed score
    line: Callable[[SampleFeedback, Feedback], bytes | None]
    load: str  # lines of Python that read the file, which is called FILE in them
    send: str  # lines of Python that send what was read
    header: bytes = b""  # the first line of the file, if it needs one
    human_needs: str = ""  # what the tool must have before human labels are sent; "" for nothing
    send_human: str = ""  # lines that go before `send` where there are human labels

    def lines(self, path: str, human: bool) -> str:
        """Return the lines of Python that send a file, with or without human labels in it."""
        parts = [self.load, *([self.send_human] if human and self.send_human else []), self.send]
        return "\n".join(parts).replace("FILE", json.dumps(path))


def feedback_id(subject: str, sample: SampleFeedback, entry: Feedback) -> str:
    """Return an id that is the same whenever a score is exported, so that sending it again replaces it."""
    who = entry.author if entry.human else ""
    parts = (subject, sample.question_id, str(sample.repeat), entry.name, str(entry.human), who)
    return str(uuid.uuid5(_OURS, "\x1f".join(parts)))


def metadata_of(sample: SampleFeedback, entry: Feedback) -> dict[str, str]:
    """Return where a score comes from: its source and author, the run and the question."""
    author = {"annotator" if entry.human else "judge": entry.author} if entry.author else {}
    return {
        "tool": "ragtriage",
        "source": entry.source,
        **author,
        "run": sample.run_id,
        "question_id": sample.question_id,
        "repeat": str(sample.repeat),
    }
