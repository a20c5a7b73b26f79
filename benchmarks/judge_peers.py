"""Runs Ragas or RAGChecker over samples against a service of one's own; judge_cost.py starts it.

    PYTHON benchmarks/judge_peers.py ragas|ragchecker SAMPLES.json URL MODEL

PYTHON is the interpreter of an environment that has the tool; ragtriage is not needed there. SAMPLES.json
holds a list of question, answer, reference and contexts. Printed last is a line of JSON: the version, and for
each metric how many samples it has a value for.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

Found = dict[str, int]
DIMENSIONS = 256


class WordEmbeddings:
    """Vectors of word counts: they cost nothing and need no model."""

    def embed_query(self, text: str) -> list[float]:
        """Give the vector of a text."""
        made = [1e-6] * DIMENSIONS
        for word in re.findall(r"\w+", text.lower()):
            made[sum(word.encode()) % DIMENSIONS] += 1.0
        return made

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Give the vectors of texts."""
        return [self.embed_query(one) for one in texts]


def by_ragas(samples: list[dict[str, Any]], url: str, model: str) -> Found:
    """Faithfulness, answer relevancy, context precision and context recall, by its own `evaluate`."""
    from langchain_anthropic import ChatAnthropic
    from ragas import EvaluationDataset, evaluate
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import answer_relevancy, context_precision, context_recall, faithfulness

    rows = [
        {
            "user_input": one["question"],
            "response": one["answer"],
            "reference": one["reference"],
            "retrieved_contexts": one["contexts"],
        }
        for one in samples
    ]
    asked = ChatAnthropic(model=model, base_url=url, max_tokens=8_000, max_retries=2)
    answer_relevancy.embeddings = WordEmbeddings()
    result = evaluate(
        EvaluationDataset.from_list(rows),
        metrics=[faithfulness, answer_relevancy, context_precision, context_recall],
        llm=LangchainLLMWrapper(asked),
        show_progress=False,
    )
    names = result.scores[0]
    return {name: sum(not math.isnan(row[name]) for row in result.scores) for name in names}


def by_ragchecker(samples: list[dict[str, Any]], url: str, model: str) -> Found:
    """Extract claims of answer and reference, check them against everything: all its metrics."""
    from ragchecker import RAGChecker, RAGResults
    from ragchecker.container import RAGResult, RetrievedDoc
    from ragchecker.metrics import all_metrics

    results = RAGResults(
        [
            RAGResult(
                query_id=str(at),
                query=one["question"],
                gt_answer=one["reference"],
                response=one["answer"],
                retrieved_context=[
                    RetrievedDoc(str(rank), text) for rank, text in enumerate(one["contexts"])
                ],
            )
            for at, one in enumerate(samples)
        ]
    )
    name = f"anthropic/{model}"
    checker = RAGChecker(name, name, 1000, url, url, drop_params=True)
    checker.evaluate(results, all_metrics)
    names = results.results[0].metrics
    return {name: sum(not math.isnan(one.metrics[name]) for one in results.results) for name in names}


TOOLS = {"ragas": by_ragas, "ragchecker": by_ragchecker}
QUIET = {"RAGAS_DO_NOT_TRACK": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "ANTHROPIC_API_KEY": "none"}


def main() -> None:
    """Run one tool and print what it came to."""
    os.environ.update(QUIET)
    warnings.simplefilter("ignore")
    tool, path, url, model = sys.argv[1:]
    samples = json.loads(Path(path).read_text("utf-8"))
    found = TOOLS[tool](samples, url, model)
    print(json.dumps({"version": version(tool), "metrics": found}))


if __name__ == "__main__":
    main()
