"""An importer that fails on a file refuses it in a sentence, and does not keep others from reading it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers import detect as detection
from ragtriage.data.importers.importer import Importer, Options, Peek
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.preview import preview
from ragtriage.data.importers.registry import candidates, importer_of
from ragtriage.data.store.parsed_run import ParsedRun, Record

FILE = InputFile.from_bytes("f.jsonl", b'{"question": "Who?", "answer": "Ann."}\n')
FAILURES = {
    KeyError("x"): "'x' is missing",
    TypeError("'NoneType' object is not iterable"): "a value in it has an unexpected type",
    RecursionError(): "it is nested too deeply",
    OverflowError("int too large to convert to float"): "a number in it is too large",
    IndexError("list index out of range"): "a list in it is too short",
}


def with_failing(
    monkeypatch: pytest.MonkeyPatch, error: Exception, *, lazily: bool = False, detecting: bool = False
) -> None:
    """Put an importer before all others that recognises every file and fails on it."""

    def records() -> Iterator[Record]:
        yield 1, {"question": "Who?", "answer": "Ann."}
        raise error

    def detect(_peek: Peek) -> bool:
        if detecting:
            raise error
        return True

    def read(source: InputFile, _options: Options, _errors: ValidationErrors) -> list[ParsedRun]:
        if lazily:
            return [ParsedRun("r", records(), source.name, "failing")]
        raise error

    failing = Importer("failing", "Tool X", "a file of X", detect, read)
    monkeypatch.setattr(detection, "candidates", lambda peek: (failing, *candidates(peek)))
    monkeypatch.setattr(
        detection, "importer_of", lambda key: failing if key == "failing" else importer_of(key)
    )


@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_a_failing_importer_refuses_the_file_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, error: Exception, lazily: bool
) -> None:
    with_failing(monkeypatch, error, lazily=lazily)
    with pytest.raises(InputError) as refused:
        preview(FILE, Options())
    assert str(refused.value) == (
        f"f.jsonl: cannot be read as Tool X: {FAILURES[error]}; its version may be unknown; "
        "accepted: a file of X"
    )
    assert refused.value.__cause__ is error


def test_an_importer_that_says_what_is_wrong_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    with_failing(monkeypatch, FILE.error("is empty", "rows"), lazily=True)
    with pytest.raises(InputError, match=r"^f\.jsonl: is empty; accepted: rows$"):
        preview(FILE, Options())


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_an_importer_that_fails_to_recognise_a_file_leaves_it_to_others(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    with_failing(monkeypatch, error, detecting=True)
    assert detection.detect(FILE) == "native"
