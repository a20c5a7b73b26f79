"""Datasets made by the stand-in service, for several tests."""

from collections import Counter
from pathlib import Path
from typing import Any

from dataset_replies import DatasetReplies, asked_stage
from handbook_items import handbook_corpus
from judge_server import Body, JudgeServer, Script

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.dataset import Dataset, create_dataset
from ragtriage.data.datasets.making.job import MakeResult, make_dataset
from ragtriage.data.datasets.making.make import MakeOptions
from ragtriage.data.datasets.making.requests import MakingPrompts
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.judge.requests import ClientSettings, Model, read_prices
from ragtriage.data.store.workspace import Workspace


class MakingService(JudgeServer):
    """The stand-in service, which counts what it is asked by stage."""

    def __init__(self, replies: DatasetReplies | None = None, **script: Any) -> None:
        self.replies = replies or DatasetReplies()
        self.stages: Counter[str] = Counter()
        super().__init__(Script(reply=self._reply, **script))

    def _reply(self, body: Body) -> object:
        self.stages[asked_stage(body)] += 1
        return self.replies(body)


def making(
    folder: Path,
    server: JudgeServer,
    options: MakeOptions | None = None,
    corpus: Corpus | None = None,
    **more: Any,
) -> MakeResult:
    """Make a dataset in a workspace; of the handbook unless told otherwise."""
    model = model_named(more.pop("model", None))
    return make_dataset(
        dataset_in(folder),
        CorpusWindows(corpus or handbook_corpus()),
        options or MakeOptions(20),
        ClientSettings(model, server.url, more.pop("concurrency", 8)),
        MakingPrompts.of(),
        **more,
    )


def model_named(name: str | None) -> Model:
    """Return the model that is asked."""
    return read_prices().model(name)


def dataset_in(folder: Path) -> Dataset:
    """Return the dataset of these tests in a workspace."""
    return create_dataset(Workspace(folder), "made")
