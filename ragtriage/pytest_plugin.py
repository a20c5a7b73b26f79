"""The pytest plugin: a run as a fixture, its gates as an assertion, the failing cases in the report.

def test_the_version_holds(ragtriage_run, assert_gate):
    assert_gate(ragtriage_run, baseline="released")

    pytest --ragtriage-file results.jsonl

It is loaded in every test session of an environment that has ragtriage, so that it imports nothing heavy and
does nothing until a test asks for one of its fixtures.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from ragtriage import RagtriageError
from ragtriage.functions import gate_answer, isolated, run_of_entry, with_store
from ragtriage.results import Run

if TYPE_CHECKING:
    from pathlib import Path

    from ragtriage.data.scoring.run_store import RunStore

MOST_CASES = 10
LONGEST_QUESTION = 100
OPTIONS: Mapping[str, str] = {
    "run": "Id or name of the run that the fixture ragtriage_run returns.",
    "file": "File of an evaluation to import; its run is the one that ragtriage_run returns.",
    "baseline": "Id or name of the run that assert_gate compares with, unless a test names one.",
    "workspace": "Folder of the workspace; by default RAGTRIAGE_WORKSPACE or ./ragtriage-workspace, and with "
    "a file a temporary one.",
    "fail-on": "Conclusions that fail assert_gate, unless a test names them, joined by commas: do_not_ship, "
    "cannot_tell, not_checked.",
}
METAVARS: Mapping[str, str] = {"file": "FILE", "workspace": "FOLDER", "fail-on": "STATES"}
# properties of a test, which workers of pytest-xdist send: what was judged, and why nothing could be
JUDGED, NOT_JUDGED = "ragtriage gate", "ragtriage fault"
NO_RUN = (
    "no run is named; accepted: --ragtriage-run NAME or --ragtriage-file FILE, or ragtriage_run or "
    "ragtriage_file in the ini file"
)
WORDS = {"PASS": "holds", "FAIL": "fails", "INCONCLUSIVE": "cannot tell", "UNMEASURED": "not measured"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each also as a setting of the ini file."""
    group = parser.getgroup("ragtriage", "gates on evaluation runs")
    for name, text in OPTIONS.items():
        group.addoption(f"--ragtriage-{name}", metavar=METAVARS.get(name, "NAME"), help=text)
        parser.addini(f"ragtriage_{name.replace('-', '_')}", text, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Watch for gates that could not be judged, which end the session differently from one that fails."""
    config.pluginmanager.register(_Faults(), "ragtriage-faults")


def _not_judged(sentence: str) -> NoReturn:
    """Fail the test because its gate could not be judged: a file, run or setting is missing or unreadable."""
    try:
        pytest.fail(sentence, pytrace=False)
    except BaseException as failure:
        failure.add_note(NOT_JUDGED)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Mark the report of a test whose gate could not be judged."""
    report = yield
    if call.excinfo is not None and NOT_JUDGED in getattr(call.excinfo.value, "__notes__", ()):
        report.user_properties.append((NOT_JUDGED, "could not be judged"))
    return report


class _Faults:
    """Ends a session in which a gate could not be judged as bad usage (4), and not as a failed test (1)."""

    def __init__(self) -> None:
        self._any = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._any = self._any or any(name == NOT_JUDGED for name, _ in report.user_properties)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._any and session.exitstatus == pytest.ExitCode.TESTS_FAILED:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR


def _setting(config: pytest.Config, name: str) -> str:
    """Return an option, else the setting of the ini file; paths in that file are relative to it."""
    option = config.getoption(f"--ragtriage-{name}")
    if option is not None:
        return str(option)
    value = str(config.getini(f"ragtriage_{name.replace('-', '_')}"))
    is_path = name in ("file", "workspace") and value
    return str((config.inipath.parent if config.inipath else config.rootpath) / value) if is_path else value


@pytest.fixture(scope="session")
def ragtriage_workspace(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> str | Path | None:
    """The workspace: the one of the settings; a temporary one for a file; else the usual one, as None."""
    folder = _setting(pytestconfig, "workspace")
    if folder:
        return folder
    if _setting(pytestconfig, "file"):
        return tmp_path_factory.mktemp("ragtriage") / "workspace"
    return None


@pytest.fixture(scope="session")
def ragtriage_run(pytestconfig: pytest.Config, ragtriage_workspace: str | Path | None) -> Run:
    """The run under test: the one that --ragtriage-run names, or that of --ragtriage-file."""
    name, file = _setting(pytestconfig, "run"), _setting(pytestconfig, "file")
    fault = NO_RUN
    try:
        if file:
            entries = isolated(lambda: _added(file, ragtriage_workspace))
            chosen = [entry for entry in entries if name in ("", entry["name"], entry["run_id"])]
            if len(chosen) == 1:
                return run_of_entry(chosen[0])
            names = ", ".join(repr(entry["name"]) for entry in entries[:MOST_CASES])
            wanted = f"has no run {name!r}" if name else f"has {len(entries):,} runs"
            raise RagtriageError(f"{file}: {wanted}; accepted: --ragtriage-run with one of {names}")
        if name:
            return run_of_entry(with_store(ragtriage_workspace, lambda store: _entry(store, name)))
    except RagtriageError as error:
        fault = str(error)
    # Outside of the except, as pytest prints the error that another one was raised from, with our source.
    _not_judged(f"ragtriage_run: {_plain(fault)}")


def _added(file: str, workspace: str | Path | None) -> list[dict[str, Any]]:
    from ragtriage.data import api

    runs = api.add_file(path=file, workspace=None if workspace is None else str(workspace))
    return [api.run_entry(run, run.name) for run in runs]


def _entry(store: RunStore, name: str) -> dict[str, Any]:
    from ragtriage.data import api

    run = store.find(name)
    return api.run_entry(run, store.names()[run.run_id])


def _failing_cases(store: RunStore, run: str, base: str) -> dict[str, Any]:
    from ragtriage.data import api

    return api.failing_cases_answer(store, store.find(run), store.find(base) if base else None, MOST_CASES)


class AssertGate:
    """The assertion that a run passes the gates of its project; what the fixture assert_gate returns."""

    def __init__(self, test: pytest.Item, workspace: str | Path | None) -> None:
        self._test = test
        self._workspace = workspace

    def __call__(
        self,
        run: Run | str,
        baseline: Run | str | None = None,
        config: str | Path | None = None,
        strict: bool = False,
        fail_on: Collection[str] | None = None,
    ) -> None:
        """Fail the test where `ragtriage gate` would not end with 0, with its sentences and failing cases.

        Args:
            run: a run, its id or its name.
            baseline: run to compare with; that of the settings, else the project's, when left out.
            config: a gates.toml; the workspace's, else the bundled one, when left out.
            strict: whether every conclusion but "ship" fails the test.
            fail_on: conclusions that fail it: "do_not_ship", "cannot_tell", "not_checked"; when left out
                those of the settings, else the first, and the last where no gate measured quality.
        """
        __tracebackhide__ = True
        base = baseline or _setting(self._test.config, "baseline")
        fault = ""
        try:
            failing = _setting(self._test.config, "fail-on").split(",") if fail_on is None else fail_on
            states = isolated(lambda: _states(failing))
            report = gate_answer(run, base, config, strict, self._workspace, states)
            summary = f"{_state(report)}: {_title(report)}"
            self._test.user_properties.append((JUDGED, _plain(summary)))
            if report["exit_code"] == 0:
                return
            against = report["baseline"]["run"] if report["baseline"] else ""
            cases = with_store(self._workspace, lambda store: _failing_cases(store, report["run"], against))
        except RagtriageError as error:
            fault = f"assert_gate: {error}"
        if fault:
            _not_judged(_plain(fault))
        settings = self._test.config
        temporary = bool(_setting(settings, "file")) and not _setting(settings, "workspace")
        pytest.fail("\n".join(map(_plain, _failure(report, cases, temporary))), pytrace=False)


@pytest.fixture
def assert_gate(request: pytest.FixtureRequest, ragtriage_workspace: str | Path | None) -> AssertGate:
    """The assertion that a run passes its gates; called with the run and its options."""
    return AssertGate(request.node, ragtriage_workspace)


def _states(states: Collection[str]) -> Collection[str] | None:
    """Return the conclusions that fail a test; None for the usual ones."""
    from ragtriage.data.gates.conclusion import failing_states

    return failing_states(",".join(states)) if any(state.strip() for state in states) else None


def _title(report: Mapping[str, Any]) -> str:
    base = f"against {report['baseline']['name']}" if report["baseline"] else "without a baseline"
    gates = report["gates"]
    passed = sum(gate["verdict"] == "PASS" for gate in gates)
    return f"{report['name']} ({report['project']}) {base}, {passed} of {len(gates)} gates pass"


def _state(report: Mapping[str, Any]) -> str:
    """Return the conclusion: ship, do not ship, cannot tell or not checked."""
    return str(report["conclusion"]["state"]).replace("_", " ")


def _failure(report: Mapping[str, Any], cases: Mapping[str, Any], temporary: bool) -> list[str]:
    """Return the lines of a failed assertion: verdict, each gate that does not pass, the failing cases."""
    lines = [f"{_state(report)}: {_title(report)}"]
    lines += [f"  read first: {sentence}" for sentence in report["read_first"]]
    shown = [gate for gate in report["gates"] if gate["verdict"] not in ("PASS", "UNMEASURED")]
    shown += [  # a gate without a value that keeps the version from shipping
        gate
        for gate in report["gates"]
        if gate["verdict"] == "UNMEASURED"
        and gate["severity"] == "block"
        and (report["strict"] or gate["required"])
    ]
    lines += [f"  {WORDS[gate['verdict']]} ({gate['severity']}): {gate['sentence']}" for gate in shown]
    passed = sum(gate["verdict"] == "PASS" for gate in report["gates"])
    if rest := len(report["gates"]) - passed - len(shown):
        lines.append(f"  {rest} {'gate was' if rest == 1 else 'gates were'} not measured")
    listed, total = cases["cases"], cases["total"]
    if listed:
        lines.append(f"{total:,} {cases['kind']} {'case' if total == 1 else 'cases'}, to fix in this order:")
    for case in listed:
        question = " ".join(case["question"].split())
        short = f"{question[:LONGEST_QUESTION]}..." if len(question) > LONGEST_QUESTION else question
        repeat = f" (repeat {case['repeat']})" if case["repeat"] else ""
        lines.append(f"  {case['question_id']}{repeat}: {case['stage'] or 'not attributed'}: {short}")
    if total > len(listed):
        kept = "--ragtriage-workspace FOLDER keeps the run, and " if temporary else ""
        lines.append(f"  and {total - len(listed):,} more; {kept}`ragtriage serve` shows all of them")
    return lines


def _plain(text: str) -> str:
    """Replace what would steer a terminal, in texts of a run, by spaces; keep the ends of lines."""
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write a section with the conclusion on each run; nothing where no test asked for one."""
    lines = [
        f"{value}  [{report.nodeid}]"
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
        for name, value in report.user_properties
        if (name == JUDGED and report.when == "call") or name == NOT_JUDGED
    ]
    if lines:
        terminalreporter.section("ragtriage gates")
    for line in lines:
        terminalreporter.write_line(line)
