"""Whatever file of a workspace is damaged: what is derived is mended, the rest is named in one sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import run

DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "other": lambda path: path.write_bytes(b"[1]" * 50),
}
RUN_FILES = {"ledger.sqlite", "metrics.toml", "questions", "runs"}  # whose content nothing else holds


def _file(folder: Path, name: str, answer: str) -> str:
    rows = [
        {"question_id": f"q{n}", "question": f"What is {n}?", "answer": answer, "reference_answer": "7"}
        | {"retrieved": [{"id": f"d{n}", "text": "It is 7."}], "relevant": [f"d{n}"], "scores": {"tone": 1}}
        for n in range(6)
    ]
    path = folder / name
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_mended_or_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    first, second = _file(tmp_path, "first.jsonl", "It is 7."), _file(tmp_path, "second.jsonl", "It is 8.")
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"question": "What is 1?", "reference_answer": "7"}', encoding="utf-8")
    imported = run(capsys, whole, "import", first, str(questions), "--metric", "tone=higher", "--json")
    run_id = imported.json["runs"][0]["run_id"]
    assert run(capsys, whole, "baseline", run_id, "--who", "Ann").code == 0
    files = [path.relative_to(whole) for path in whole.rglob("*") if path.is_file()]
    assert {path.parts[0] for path in files} == {*RUN_FILES, "catalogue.sqlite", "scores"}
    for file in files:
        for words in (
            ("questions",) if file.parts[0] == "questions" else ("metrics", run_id),
            ("import", second),
        ):
            shutil.copytree(whole, broken)
            DAMAGES[damage](broken / file)
            answer = run(capsys, broken, *words)
            assert answer.code in (0, 2), (file, words, answer)
            assert "internal error" not in answer.err
            if answer.code:
                assert file.parts[0] in RUN_FILES, (file, words, answer)
                assert answer.err.count("\n") == 1, (file, words, answer)
                assert answer.err.startswith("error: "), (file, words, answer)
            assert not list((broken / "runs").glob(".staging*"))
            shutil.rmtree(broken)
