"""A document that is nested without end is refused before it takes the memory of the machine."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.data.errors import InputError
from ragtriage.data.importers.parsing import documents_in_json
from ragtriage.data.importers.parsing.documents_in_json import DEEPEST, JsonDepth
from ragtriage.data.importers.parsing.input_file import InputFile

MEMORY = 3 << 30
LEVELS = 17 << 20  # of a document too large to be parsed at once: some 17 KB when packed
JSON = st.recursive(
    st.none() | st.text(alphabet='[]{}"\\\n\u00e9a') | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('[]{}"\\b', max_size=3), inner, max_size=3)
    ),
    max_leaves=20,
)


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


@given(value=JSON, cut=st.integers(min_value=1, max_value=9))
def test_depth_is_followed_through_strings_and_escapes(value: object, cut: int) -> None:
    text = json.dumps(value, ensure_ascii=False).encode()
    outer = DEEPEST - _depth(value)
    _follow(b"[" * outer + text + b"]" * outer, cut)
    with pytest.raises(RecursionError, match="500 levels"):
        _follow(b"[" * (outer + 1) + text + b"]" * (outer + 1), cut)


def _follow(text: bytes, cut: int) -> None:
    follower = JsonDepth()
    for at in range(0, len(text), cut):
        follower.read(text[at : at + cut])


@pytest.mark.parametrize(
    "read", [documents_in_json.outline, documents_in_json.beginning, documents_in_json.names_of]
)
def test_every_reader_of_large_documents_refuses_deep_ones(
    read: Callable[[InputFile], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents_in_json, "WHOLE_UP_TO", 1_000)
    with pytest.raises(InputError, match="nested more than 500 levels deep"):
        read(InputFile("deep.json", content=b'{"results": ' + b"[" * 5_000))


@pytest.mark.processes
@pytest.mark.parametrize(
    "begin", [b"", b'[{"question": "?", "extra": ', b'{"results": [{"question": "?", "extra": ']
)
def test_a_small_archive_of_brackets_is_one_sentence_within_bounded_memory(
    begin: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(begin + b"[" * LEVELS))
    assert path.stat().st_size < 20_000
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ragtriage.dashboard.cli.main",
            "import",
            str(path),
            "--workspace",
            str(tmp_path),
        ],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert "is nested more than 500 levels deep" in done.stderr
    assert "internal error" not in done.stderr
