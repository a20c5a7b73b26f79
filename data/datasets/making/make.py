"""Making a dataset: written, filtered, read blind and chosen in rounds until the plan is filled.

Everything follows from the replies, which the ledger keeps: the same command after a stop asks nothing again
and comes to the same items. An item is decided once; more replies only decide more of them.
"""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.checks import CHECKS, FreeChecks
from ragtriage.data.datasets.coverage import USUAL_MIX
from ragtriage.data.datasets.item import KINDS, Item
from ragtriage.data.datasets.making.candidates import FreeFilters, item_of, with_denying_gold
from ragtriage.data.datasets.making.quotas import CANDIDATES, Writing, WritingPlan, largest_remainder
from ragtriage.data.datasets.making.requests import (
    ALONE_AT_ONCE,
    AloneReply,
    MakingPrompts,
    ReadReply,
    WriteReply,
    alone_request,
    read_request,
    write_request,
)
from ragtriage.data.datasets.making.verdicts import KNOWN, alone_verdict, read_verdict, shown_passages
from ragtriage.data.datasets.making.waves import Waves
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.errors import DataError
from ragtriage.data.judge.requests import ModelCall, Request
from ragtriage.data.text.language import language_name
from ragtriage.data.text.tokens import jaccard
from ragtriage.metrics.number_text import percent

ROUNDS = 3  # of writing, before what is short is said
MOST_KNOWN = 0.1  # share of questions that a model may answer without the corpus
N_EXAMPLES = 3  # rejected questions that are shown of each filter
MADE_KINDS = tuple(kind for kind in KINDS if kind != "real")
# in the order in which they are applied: key -> what passes
FILTERS: Mapping[str, str] = {
    "verbatim": "Quote stands in the passage",
    "hops": "Quotes from two places",
    "language": "In the language asked for",
    **{key: check.title for key, check in CHECKS.items() if key not in ("copied", "elsewhere")},
    "stands_alone": "Understood without the page",
    "realism": "A user would ask it (4 or 5 of 5)",
    "closed_book": f"Needs the corpus (at most {percent(MOST_KNOWN)} do not)",
    "read": "Read blind: its gold answers",
}


def read_mix(text: str) -> dict[str, float]:
    """Read kinds with their shares, as in single=50,multi-hop=20.

    Raises:
        DataError: a share is no number.
    """
    shares: dict[str, float] = {}
    for part in text.split(","):
        kind, _, share = part.partition("=")
        try:
            shares[kind.strip()] = float(share)
        except ValueError:
            shares[kind.strip()] = math.nan
        if not math.isfinite(shares[kind.strip()]):
            raise DataError(f"mix: {part.strip()!r}; accepted: KIND=SHARE,... as in {mix_text(USUAL_MIX)}")
    return shares


def mix_text(mix: Mapping[str, float]) -> str:
    """Return kinds with their shares as `read_mix` reads them."""
    return ",".join(f"{kind}={share:g}" for kind, share in mix.items())


@dataclass(frozen=True)
class MakeOptions:
    """What is to be made."""

    n: int  # questions
    mix: Mapping[str, float] = field(default_factory=lambda: dict(USUAL_MIX))  # kind -> share, in any unit
    seed: int = 0
    language: str = ""  # code of the questions' language; "" for that of the corpus
    examples: tuple[str, ...] = ()  # real questions, whose style is followed

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.mix if kind not in MADE_KINDS]
        if unknown or not sum(self.mix.values()) > 0 or min(self.mix.values()) < 0:
            wrong = f"kind {unknown[0]!r}" if unknown else "shares that are all 0, or below it"
            raise DataError(f"mix: {wrong}; accepted: KIND=SHARE out of {', '.join(MADE_KINDS)}")

    @property
    def shares(self) -> dict[str, int]:
        """Questions of each kind."""
        return {kind: n for kind, n in largest_remainder(self.mix, self.n).items() if n}


@dataclass(frozen=True)
class Made:
    """What came of making a dataset, so far."""

    items: tuple[Item, ...]  # that are decided: accepted, and rejected by a filter
    facts: Mapping[str, Any]  # of the batch
    stopped: str  # why it is not finished; "" where it is
    out_of_budget: bool  # whether that is why


class Making:
    """One making of a dataset."""

    def __init__(
        self,
        windows: CorpusWindows,
        options: MakeOptions,
        prompts: MakingPrompts,
        waves: Waves,
        others: Sequence[Item] = (),
    ) -> None:
        """Prepare it.

        Args:
            windows: of the corpus.
            options: what is to be made.
            prompts: the fixed prompts.
            waves: asks the model.
            others: items that the dataset has from elsewhere, which no question may repeat.
        """
        self.windows, self.options, self.prompts, self.waves = windows, options, prompts, waves
        self.key = making_key(windows.corpus, options, prompts, waves.settings.judge)
        self.plan = WritingPlan(windows, options.shares, options.seed)
        self.filters = FreeFilters(FreeChecks(windows, others), options.language)
        self.decided = dict[str, Item]()  # by id, in the order of the decisions
        self.ready = list[Item]()  # candidates that wait to be read
        self.counts = defaultdict[str, list[int]](lambda: [0, 0])
        self.written = 0
        self.rounds = 0
        self._known = 0

    @property
    def accepted(self) -> list[Item]:
        """The items that passed every filter."""
        return [item for item in self.decided.values() if not item.rejected_by]

    @property
    def got(self) -> Counter[str]:
        """Accepted items by kind."""
        return Counter(item.kind for item in self.accepted)

    def run(self) -> Made:
        """Make the items.

        Raises:
            JudgeStoppedError: no further request can succeed.
        """
        needed = Counter(self.plan.slots)
        while self.rounds < ROUNDS and needed and not self.waves.stopped:
            self.rounds += 1
            writings = self.plan.writings(needed, self.rounds)
            if not writings and not self.ready:
                break
            self._look_alone(self._write(writings))
            while not self.waves.stopped and (chosen := self._chosen()):
                self._read(chosen)
            needed = self._short()
        items = tuple(map(with_denying_gold, self.decided.values()))
        return Made(items, self._facts(), self.waves.stopped, self.waves.out_of_budget)

    def _count(self, key: str, passed: bool) -> None:
        self.counts[key][0 if passed else 1] += 1

    def _write(self, writings: Sequence[Writing]) -> list[Item]:
        """Let questions be written, and return those that pass the free filters."""
        requests = writing_requests(self.windows, writings, self.options, self.prompts)
        calls = self.waves.ask("write", requests)
        passed = []
        for writing, request, call in zip(writings, requests, calls, strict=True):
            number = self.written  # also where nothing came, so that ids do not depend on other replies
            self.written += CANDIDATES
            if call is None or call.payload is None:
                continue
            reply = cast("WriteReply", request.check(call.payload))
            for at, candidate in enumerate(reply.candidates[: writing.wanted]):
                question_id = f"{self.key[:6]}-{number + at + 1:04d}"
                item = item_of(candidate, writing, self.windows, question_id, self._origin)
                item = self.filters.filtered(item, self._count)
                if item.rejected_by:
                    self._keep(item)
                else:
                    passed.append(item)
        return passed

    @property
    def _origin(self) -> dict[str, Any]:
        return {
            "by": "model",
            "model": self.waves.settings.judge,
            "prompt": self.prompts.write.version,
            "seed": self.options.seed,
            "round": self.rounds,
        }

    def _look_alone(self, items: Sequence[Item]) -> None:
        """Let questions be looked at without their passages; what passes waits to be read."""
        groups = [items[at : at + ALONE_AT_ONCE] for at in range(0, len(items), ALONE_AT_ONCE)]
        requests = [alone_request(self.prompts.alone, group, self.options.examples) for group in groups]
        calls = self.waves.ask("alone", requests)
        for group, request, call in zip(groups, requests, calls, strict=True):
            if call is None:
                continue
            if call.payload is None:
                self._not_read(group, call, "stands_alone")
                continue
            reply = cast("AloneReply", request.check(call.payload))
            for item, alone in zip(group, reply.questions, strict=True):
                self._after_alone(alone_verdict(item, alone))

    def _after_alone(self, item: Item) -> None:
        self._count("stands_alone", item.rejected_by != "stands_alone")
        if item.rejected_by != "stands_alone":
            self._count("realism", item.rejected_by != "realism")
        if not item.rejected_by:
            known = KNOWN in item.tags
            self._known += known
            too_many = known and self._known > MOST_KNOWN * self.options.n
            self._count("closed_book", not too_many)
            if too_many:
                answer = item.judged["alone"]["answer"]
                item = replace(item, rejected_by="closed_book", reason=f"known without the corpus: {answer}")
        if item.rejected_by:
            self._keep(item)
        else:
            self.ready.append(item)

    def _chosen(self) -> list[Item]:
        """Take from what waits as many as are missing of each kind: spread by quota, far from each other."""
        words, taken = self.filters.checks.words, Counter(map(_document, self.accepted))
        before = [words[item.question_id] for item in self.accepted]
        near = {
            item.question_id: max((jaccard(words[item.question_id], other) for other in before), default=0.0)
            for item in self.ready
        }

        def order(item: Item) -> tuple[bool, float, str]:
            full = taken[_document(item)] >= self.plan.quotas.get(_document(item), 0)
            return full, near[item.question_id], item.question_id

        chosen = list[Item]()
        # a document with less to say than its share is asked again before another one stands in for it
        beyond = math.inf if self.rounds == ROUNDS else self.rounds - 1
        for kind, n in self.options.shares.items():
            for _ in range(n - self.got[kind]):
                waiting = [
                    item
                    for item in self.ready
                    if item.kind == kind
                    and taken[_document(item)] < self.plan.quotas.get(_document(item), 0) + beyond
                ]
                if not waiting:
                    break
                best = min(waiting, key=order)
                self.ready.remove(best)
                chosen.append(best)
                taken[_document(best)] += 1
                for item in self.ready:
                    like = jaccard(words[item.question_id], words[best.question_id])
                    near[item.question_id] = max(near[item.question_id], like)
        return chosen

    def _read(self, items: Sequence[Item]) -> None:
        """Let questions be read blind beside other passages, and decide on them."""
        checks = self.filters.checks
        shown = [shown_passages(item, checks, self.options.seed) for item in items]
        requests = [
            read_request(self.prompts.read, item, each.passages)
            for item, each in zip(items, shown, strict=True)
        ]
        calls = self.waves.ask("read", requests)
        for item, each, request, call in zip(items, shown, requests, calls, strict=True):
            if call is None:
                continue
            if call.payload is None:
                self._not_read([item], call, "read")
                continue
            reply = cast("ReadReply", request.check(call.payload))
            item = read_verdict(item, each, reply, self.windows)
            self._count("read", not item.rejected_by)
            self._keep(item)

    def _not_read(self, items: Sequence[Item], call: ModelCall, key: str) -> None:
        for item in items:
            self._count(key, False)
            self._keep(replace(item, rejected_by=key, reason=f"no reply ({call.status.replace('_', ' ')})"))

    def _keep(self, item: Item) -> None:
        self.decided[item.question_id] = item

    def _short(self) -> Counter[tuple[str, str]]:
        """Return what is missing, (kind, document) -> questions; documents below their quota first."""
        taken = Counter(_document(item) for item in self.accepted)
        below = [name for name, n in self.plan.quotas.items() for _ in range(n - taken[name])]
        missing = [kind for kind, n in self.options.shares.items() for _ in range(n - min(self.got[kind], n))]
        below += sorted(self.plan.quotas, key=lambda name: -self.plan.quotas[name]) * len(missing)
        return Counter(zip(missing, below, strict=False))

    def _facts(self) -> dict[str, Any]:
        shares, got = self.options.shares, self.got
        examples = defaultdict[str, list[dict[str, str]]](list)
        for item in self.decided.values():
            if item.rejected_by and len(examples[item.rejected_by]) < N_EXAMPLES:
                example = {"question_id": item.question_id, "question": item.question, "reason": item.reason}
                examples[item.rejected_by].append(example)
        return {
            "by": "model",
            "key": self.key,
            "model": self.waves.settings.judge,
            "prompts": self.prompts.versions,
            "seed": self.options.seed,
            "language": self.options.language,
            "examples": len(self.options.examples),
            "asked": self.options.n,
            "mix": shares,
            "got": {kind: got[kind] for kind in shares},
            "short": {kind: n - got[kind] for kind, n in shares.items() if got[kind] < n},
            "quotas": self.plan.quotas,
            "passages_left_out": self.plan.dropped,
            "rounds": self.rounds,
            "spare": len(self.ready),
            "filters": {key: self.counts[key] for key in FILTERS if key in self.counts},
            "filter_examples": dict(examples),
            **self.waves.facts(),
        }


def writing_requests(
    windows: CorpusWindows, writings: Sequence[Writing], options: MakeOptions, prompts: MakingPrompts
) -> list[Request]:
    """Return the requests to write; what the documents do not say is asked with their headings in view."""
    outlines = defaultdict[str, list[str]](list)
    for passage in windows.passages:
        if passage.headings and passage.headings[-1] not in outlines[passage.doc_id]:
            outlines[passage.doc_id].append(passage.headings[-1])
    language = language_name(options.language) if options.language else ""
    return [
        write_request(
            prompts.write,
            writing,
            outlines[writing.passages[0].doc_id] if writing.kind == "unanswerable" else (),
            options.examples,
            language,
        )
        for writing in writings
    ]


def making_key(corpus: Corpus, options: MakeOptions, prompts: MakingPrompts, judge: str) -> str:
    """Return the key of a making: two with the same key ask the same and come to the same items."""
    what = (corpus.version, options.n, options.shares, options.seed, options.language, options.examples)
    content = json.dumps([what, prompts.versions, judge], sort_keys=True)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _document(item: Item) -> str:
    spans = item.spans or item.distractors
    return spans[0].doc_id if spans else ""
