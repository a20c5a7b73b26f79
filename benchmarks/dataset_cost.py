"""What a question of `ragtriage dataset make` takes with every check: calls and input tokens, by acceptance.

    .venv/bin/python benchmarks/dataset_cost.py CORPUS

A stand-in answers from the request alone. How much of what it writes is good is set: the more that the
filters reject, the more a question costs. Tokens are those of the bundled tokenizer, as for the peers.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from dataset_replies import DatasetReplies, asked_stage
from judge_server import Body, JudgeServer, Script

from ragtriage.data.chunking.chunkers import count_tokens
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.datasets.dataset import create_dataset
from ragtriage.data.datasets.making.job import make_dataset
from ragtriage.data.datasets.making.make import Made, MakeOptions
from ragtriage.data.datasets.making.requests import MakingPrompts
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.judge.requests import ClientSettings, read_prices
from ragtriage.data.store.workspace import Workspace

# what the stand-in does wrong, as shares of what it is asked about
MODELS = {
    "all good": DatasetReplies(),
    "as planned": DatasetReplies(bad_quote=0.15, unclear=0.05, unreal=0.1, misread=0.2),
    "poor": DatasetReplies(bad_quote=0.25, unclear=0.1, unreal=0.3, misread=0.35),
}


class Counted:
    """A stand-in that counts the tokens of what it is sent, by stage."""

    def __init__(self, replies: DatasetReplies) -> None:
        self.replies = replies
        self.tokens: Counter[str] = Counter()

    def __call__(self, body: Body) -> object:
        """Return the reply, and count."""
        text = "".join(part["text"] for part in body["system"]) + str(body["messages"][0]["content"])
        self.tokens[asked_stage(body)] += count_tokens(text)
        return self.replies(body)


def made_by(windows: CorpusWindows, n: int, replies: Counted) -> Made:
    """Make a dataset of n questions."""
    with tempfile.TemporaryDirectory() as folder, JudgeServer(Script(reply=replies)) as server:
        dataset = create_dataset(Workspace(Path(folder)), "cost")
        settings = ClientSettings(read_prices().model(), server.url)
        return make_dataset(dataset, windows, MakeOptions(n), settings, MakingPrompts.of()).made


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("-n", type=int, nargs="*", default=[20, 100])
    arguments = parser.parse_args()
    os.environ.setdefault("ANTHROPIC_API_KEY", "sk-of-a-stand-in")
    windows = CorpusWindows(read_corpus(arguments.corpus))
    print("| model | n | accepted | of candidates | write | alone | read | calls a question | input tokens |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, replies in MODELS.items():
        for n in arguments.n:
            counted = Counted(replies)
            facts = made_by(windows, n, counted).facts
            accepted, stages = sum(facts["got"].values()), facts["calls_by_stage"]
            candidates = sum(facts["filters"]["verbatim"]) - facts["spare"]
            each = " | ".join(
                f"{stages.get(stage, 0) / accepted:.2f}" for stage in ("write", "alone", "read")
            )
            print(
                f"| {name} | {n} | {accepted} | {accepted / candidates:.0%} | {each} "
                f"| {facts['calls'] / accepted:.2f} | {counted.tokens.total() / accepted:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
