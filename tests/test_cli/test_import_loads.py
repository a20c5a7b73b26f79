"""What an import loads: no modules of comparisons, gates and reports, and no library that few checks need."""

import json
import subprocess
import sys
from pathlib import Path

from places import REPOSITORY

IMPORT = """
import sys
from ragtriage.dashboard.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code, ended.code
print(" ".join(sys.modules))
"""
NOT_NEEDED = (
    *("ragtriage.data.api", "ragtriage.data.comparison", "ragtriage.data.gates", "ragtriage.data.cases"),
    *("ragtriage.dashboard.wording.next_steps", "ragtriage.data.importers.tools", "duckdb", "jsonschema"),
)


def test_an_import_loads_nothing_of_what_comes_after_it(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(json.dumps({"question": "What is due?", "answer": "A fee."}), encoding="utf-8")
    words = [sys.executable, "-c", IMPORT, "-w", str(tmp_path / "ws"), "import", str(file)]
    answer = subprocess.run(
        words, check=True, capture_output=True, text=True, cwd=REPOSITORY, timeout=120
    ).stdout
    assert "1 sample from ragtriage" in answer
    assert not set(NOT_NEEDED) & set(answer.split("\n")[-2].split())
