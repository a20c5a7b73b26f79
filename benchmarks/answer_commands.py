"""The commands whose answers `same_answers.py` compares, their files, and the clock they see."""

from __future__ import annotations

import json

__all__ = ["MADE", "PLACEHOLDERS", "READING", "REPORTS", "WRITING"]

# Times: in every interpreter of a tree (as its sitecustomize), the wall clock stands still, and a measured
# time is one millisecond for each look at the clock in a thread. No answer holds another time.
CLOCK = """
import ctypes, datetime, gc, threading, time
_moment = datetime.datetime(2027, 1, 1, 12, tzinfo=datetime.timezone.utc)
_looks = threading.local()
def _now(_, tz=None):
    return _moment.astimezone(tz) if tz else _moment.replace(tzinfo=None)
def _perf_counter():
    _looks.n = getattr(_looks, "n", 0) + 1
    return _looks.n / 1000
gc.get_referents(datetime.datetime.__dict__)[0]["now"] = classmethod(_now)  # a subclass would be another type
ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))
time.perf_counter = _perf_counter
"""
PLACEHOLDERS = (  # whatever else is not an answer, apart from the paths of tree and folder
    (r"ragtriage(,? version)? \d+\.\d+\.\d+\w*", "ragtriage VERSION"),
    (r"ragtriage-error-\w+\.txt", "ragtriage-error-NAME.txt"),
    (r"[\d,.]+ GB free", "N GB free"),  # doctor
)
MADE = {  # files for commands that no fixture fits
    "made/gold/page.md": "# A\n\nFees are due.\n\n|a|b|\n|-|-|\n|x|1|\n",
    "made/parsers/one/page.md": "A a b x 1\n",
    "made/parsers/two/page.md": "# A\n\nFees are due.\n\n|a|b|\n|-|-|\n|x|2|\n",
    "made/asked.jsonl": '{"question_id": "q", "question": "?", "poisoned_documents": ["Bad one.", "Bad 2."]}',
    "made/found.jsonl": '{"question_id": "q", "question": "?", "answer": "x", "reference_answer": "1", '
    '"retrieved": [{"id": "page", "text": "Bad one."}, "Good."], "relevant": [{"id": "page"}]}',
    "made/human.json": '[{"instance_id": 0, "overall_label": 1}, {"instance_id": 1, "overall_label": -1}]',
    "made/scores.json": json.dumps(
        [
            {
                "instance_id": at,
                "model1": {"model_name": "a", "response": "", "tool": {"overall_label": 0.5}},
                "model2": {"model_name": "b", "response": "", "tool": {"overall_label": at}},
            }
            for at in (0, 1)
        ]
    ),
    "made/system.sh": 'cat >/dev/null; echo \'{"answer": "I cannot help with that.", "latency_ms": 1}\'',
    "clock/sitecustomize.py": CLOCK,
}

# Commands in their order. A line stands for as many as there are values of its placeholder: {run}, {one} (the
# last run of each project), {base} {other} (each run with its baseline, else the run before it), {project},
# {experiment}. {first}, {second} are two labelled runs. OUT is a file to write, which belongs to the answer.
READING = """
runs
show {run}
metrics {run}
metrics {run} --per-sample
metrics {run} --k 1,3,7
metrics {one} --convention ragchecker --bands ragchecker
metrics {one} --convention refusals_0 --bands ragchecker-general
metrics {one} --convention alce --bands ragas
diagnose {run}
diagnose {one} --context 0.7 --faithfulness 0.9 --answer-relevancy 0.6 --symptom-edge low=0.5
compare {base} {other}
compare {base} {other} --family all
compare {base} {other} {first} --primary faithfulness
check {run}
gate {run}
gate {run} --strict
gate {other} --baseline {base}
gate {one} --junit OUT.xml
gate {one} --markdown OUT.md
checks {run}
checks {run} --failing
checks {one} --failing --limit 3 --page 2
checks {one} --route-cost refused=2 --route-cost added=0.5
citations {run}
f1 {run}
f1 {one} --bands ragas
f1 {one} --bands ragchecker
advise {project}
advise {project} --for regulated
advise handbook --for prototype
advise handbook --for production
advise handbook --for research
agreement {run}
agreement {first} --metric all --classes 3
agreement {first} --against {second}
agreement --pairs made/human.json --scores made/scores.json
baseline --project {project}
release
experiment list
experiment show {experiment}
experiment show {experiment} --quality answer_match
experiment flips {one} --metric reward
questions
generate {one} --dry-run
generate {one} --dry-run --context retrieved --limit 5
judge {one} --dry-run --sample 20 --repeats 2
judge {one} --dry-run --checks safety
judge {first} --dry-run --batch --reference along --effort high
judge --calibrate clapnq --dry-run --limit 10
attack bundled --system cat --dry-run
import --help-formats
init --list
doctor
doctor --report
export {run}
export {one} --format csv
export {one} --to mlflow
"""
ASKED = "--system builtin --questions files/bundled/lost_in_the_middle/nq_gold.jsonl --limit 8 --yes"
TREC = "files/fixtures/trec_eval/results.test --qrels files/fixtures/trec_eval/qrels.relevant"
HANDBOOK = "files/bundled/handbook/corpus --questions files/bundled/handbook/questions.jsonl"
XQUAD = "files/fixtures/xquad_crosslingual"
PROFILES = (
    "prototype production technical-manuals customer-service points-of-interest memory research regulated"
)
WRITING = f"""
import files/fixtures/native/questions.jsonl --project sets
import files/fixtures/native/run.jsonl --name own --config top_k=5 --dataset d --project own
import {TREC} --project own
import {TREC} --project own --all-topics
import files/fixtures/iris_vector_rag/scores.csv --metric latency=lower,0..9,Time --project own
import made/found.jsonl --project own
questions
questions show questions
generate --questions questions --dry-run
grid {HANDBOOK} --sizes 96 --overlaps 0,16 --strategies paragraph,recursive --project grid
experiment position {ASKED} --dry-run
experiment position {ASKED}
experiment noise {ASKED}
experiment injection {ASKED}
experiment stability {ASKED}
experiment arms --corpus {HANDBOOK} --system builtin --factor top_k=1,3 --factor chunk_size=64,128 --yes
experiment languages {XQUAD}/questions.jsonl --corpus {XQUAD}/corpus.jsonl
experiment parsing made/parsers made/gold
experiment tables found made/gold --metric recall@1
experiment poisoned found made/asked.jsonl --k 2
attack bundled --system "sh made/system.sh" --limit 9 --yes --project attacks
score {{one}} --embedding words
metrics {{one}}
{"".join(f"init --profile {name} --force{chr(10)}gate {{one}}{chr(10)}" for name in PROFILES.split())}
baseline {{first}} --who Ann
release {{first}} 9.0 --who Ann
release
release {{first}} --remove --who Ann
baseline --clear --project clapnq --who Ann
watch files/fixtures/native --once --every 0.05 --project watched
questions --delete questions --yes
delete {{first}} --yes
runs
experiment list
doctor
"""
REPORTS = """
report {one} -o OUT.html
report {one} -o OUT.html --audience lead
report {one} -o OUT.html --audience engineer
report {first} {second} -o OUT.html --title Both
report {first} -o OUT.html --story 1
"""
