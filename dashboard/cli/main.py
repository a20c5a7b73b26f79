"""The entry point of the command line.

Exit code 0: done, 1: a gate failed, doctor, `dataset check` or `dataset leakage` found a problem, or `forget`
left something, 2: bad usage or input, or an error of ragtriage itself, 3: the gates cannot tell, or nothing
was checked.
As a shell has it, Ctrl+C gives 130, SIGTERM 143, and 141 says that the reader of a pipe has gone.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import click
from click.shell_completion import CompletionItem

from ragtriage import __version__

WHOLE_LINE = 200  # characters of what a list of commands says of one, as `experiment` lists its own
# the stored help of each command, renewed by `python docs/doc_reference.py`: showing it loads no command
HELP_FILE = Path(__file__).with_name("command_help.json")
WHOLE, LIGHT = "ragtriage", "ragtriage-ci"  # distributions of this package; the second has no dashboard
LEFT_OUT = {  # module that ragtriage-ci leaves out -> its library
    "bm25s": "bm25s",
    "jinja2": "Jinja2",
    "opentelemetry": "opentelemetry-proto",
    "pandas": "pandas",
    "plotly": "Plotly",
    "pptx": "python-pptx",
    "semchunk": "semchunk",
    "starlette": "Starlette",
    "streamlit": "Streamlit",
    "tokenizers": "tokenizers",
}
CALLED = "ragtriage.called"  # name of the command, among what click keeps
INTERRUPTED, PIPE_CLOSED, TERMINATED = 130, 141, 143  # 128 and the number of the signal

_MODULES = {  # of ragtriage.dashboard.cli -> the commands in it, each a function of its name
    "asking.attack": "attack",
    "asking.experiment": "experiment",
    "asking.generate": "generate",
    "asking.grid": "grid",
    "asking.judging": "judge",
    "asking.score": "score",
    "datasets.dataset": "dataset",
    "doctor": "doctor",
    "live.ab": "ab",
    "live.collect": "collect",
    "live.feedback": "feedback",
    "live.forget": "forget",
    "live.traffic": "production",
    "results.agreement": "agreement",
    "results.checks": "check checks citations",
    "results.diagnose": "diagnose",
    "results.gate": "advise gate init",
    "results.report": "report",
    "results.scores": "compare f1 metrics",
    "runs.export": "export",
    "runs.import_": "import",
    "runs.kept_runs": "baseline delete questions release runs show",
    "runs.watch": "watch",
    "serve": "demo mcp serve",
}
COMMANDS = dict(sorted((name, module) for module, names in _MODULES.items() for name in names.split()))
MEANT = {  # names of pages, and words of other tools
    "triage": ("diagnose", "gate"),
    "cases": ("export", "diagnose"),
    "trend": ("runs", "compare"),
    "present": ("report",),
    "load": ("import",),
    "list": ("runs",),
    "diff": ("compare",),
    "eval": ("judge", "metrics"),
    "evaluate": ("judge", "metrics"),
}


def help_record(command: click.Command, context: click.Context) -> dict[str, Any]:
    """Return what the help of a command is made of, and of the commands below it, as JSON values."""
    options = [
        option.get_help_record(context)
        for option in command.get_params(context)
        if isinstance(option, click.Option)
    ]
    record: dict[str, Any] = {
        "usage": command.collect_usage_pieces(context),
        "help": command.help,
        "options": [option for option in options if option],  # none of a hidden one
    }
    if isinstance(command, click.Group):
        record["commands"] = {
            name: help_record(inner, click.Context(inner, info_name=name, parent=context))
            for name, inner in command.commands.items()
        }
    return record


def stored_help(name: str, words: Sequence[str], help_names: Sequence[str]) -> click.Command | None:
    """Return a command that knows its help alone; None where the words after its name ask for anything else.

    None too where its help is not stored.
    """
    words = list(words)
    record = _records().get(name) if set(help_names) & set(words[:2]) else None
    if record is None:
        return None
    asked = words[1:2] if words[0] in record.get("commands", ()) else words[:1]
    return _command(name, record) if asked and asked[0] in help_names else None


def stored_summary(name: str) -> str:
    """Return the first sentence of the stored help of a command; "" where none is stored."""
    paragraph: str = _records().get(name, {"help": ""})["help"].partition("\n\n")[0]
    return " ".join(paragraph.split())


@cache
def _records() -> Mapping[str, Mapping[str, Any]]:
    """Return the stored help by command; {} where it is not installed, or damaged."""
    try:
        return json.loads(HELP_FILE.read_text(encoding="utf-8"))  # type: ignore[no-any-return] # as help_record
    except (OSError, ValueError):
        return {}


def _command(name: str, record: Mapping[str, Any]) -> click.Command:
    command = _StoredGroup(name) if "commands" in record else _StoredCommand(name)
    command.help, command.usage, command.options = record["help"], record["usage"], record["options"]
    if isinstance(command, click.Group):
        command.commands = {below: _command(below, entry) for below, entry in record["commands"].items()}
    return command


class _StoredCommand(click.Command):
    usage: Sequence[str]
    options: Sequence[Sequence[str]]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- signature of click
        return list(self.usage)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- signature of click
        with formatter.section("Options"):
            formatter.write_dl([(option, text) for option, text in self.options])
        if isinstance(self, click.Group):
            with formatter.section("Commands"):
                rows = [
                    (name, self.commands[name].get_short_help_str(WHOLE_LINE))
                    for name in sorted(self.commands)
                ]
                formatter.write_dl(rows)


class _StoredGroup(_StoredCommand, click.Group):
    pass


def distribution() -> str:
    """Return the name of the distribution that this package was installed from; the whole one if in doubt."""
    from importlib import metadata  # here: --help does without

    for name in (WHOLE, LIGHT):
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        return name
    return WHOLE


def needs_more(error: ModuleNotFoundError, command: str) -> str:
    """Return the sentence for a library that ragtriage-ci leaves out and a command needs; else ""."""
    library = LEFT_OUT.get((error.name or "").partition(".")[0])
    if library is None or distribution() != LIGHT:
        return ""
    return (
        f"`ragtriage {command}` needs {library}, which {LIGHT} leaves out; accepted: pip uninstall {LIGHT}, "
        f"then pip install {WHOLE}"
    )


def _use_workspace(ctx: click.Context, _: click.Parameter, folder: str | None) -> None:
    if folder is not None:  # else a command keeps the one given before its name
        ctx.obj = folder


def _with_shared_options(command: click.Command) -> click.Command:
    """Add to a command the options that stand before its name or after it, and return it."""
    if "workspace" not in {parameter.name for parameter in command.params}:
        click.option(
            "-w",
            "--workspace",
            metavar="FOLDER",
            expose_value=False,
            callback=_use_workspace,
            help="Workspace folder; RAGTRIAGE_WORKSPACE does the same.",
        )(command)
        click.version_option(__version__, prog_name="ragtriage")(command)
    return command


class LazyGroup(click.Group):
    """The group of all commands; a command's module is loaded when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- signature of click
        """List the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- signature of click
        """Load a command; `import` is not a name of a function."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in ("demo", "serve"):  # before pyarrow is loaded: its usual pool keeps memory for itself
            os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
        module = import_module(f"ragtriage.dashboard.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, "import_" if cmd_name == "import" else cmd_name)
        for inner in command.commands.values() if isinstance(command, click.Group) else ():
            _with_shared_options(inner)
        return _with_shared_options(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called; for its help alone, nothing of it is loaded."""
        ctx.meta[CALLED] = args[0]
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            # there is no such command, and those that may be meant
            name = args[0]
            meant = MEANT.get(name.lower()) or get_close_matches(name, COMMANDS)
            hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
            no_command = f"No such command: {name}.{hint} `ragtriage --help` lists all."
            raise click.UsageError(no_command, ctx)
        command = stored_help(args[0], args[1:], ctx.help_option_names)
        return (args[0], command, args[1:]) if command else super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options before the command; the error for one of a command's own says where it belongs."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.possibilities:  # mistyped
                raise
            name = error.option_name
            raise click.UsageError(
                f"No such option before the command: {name}. Accepted: ragtriage COMMAND {name}", ctx
            ) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a pipe whose reader has gone, as in `| head`, is not a failed gate."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            from ragtriage.data.errors import DataError

            if sentence := needs_more(error, ctx.meta[CALLED]):
                raise DataError(sentence) from error
            raise
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be flushed
            ctx.exit(PIPE_CLOSED)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in the help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summary(ctx, name)) for name in COMMANDS])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """List the names and options that begin with what was typed."""
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self.summary(ctx, name)) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def summary(self, ctx: click.Context, name: str) -> str:
        """Return the first sentence of a command's help; only where none is stored, the command is loaded."""
        if text := stored_summary(name):
            return text
        command = self.get_command(ctx, name)
        return command.get_short_help_str(WHOLE_LINE) if command else ""


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
def app() -> None:
    """Show where a RAG pipeline fails, which stage to fix first, and whether the last change helped."""


_with_shared_options(app)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every error ends it with one sentence and exit code 2."""
    # A stream that the caller closed, as with `>&-`, takes what is written to it and keeps nothing: its
    # descriptor would else be that of the next file that is opened.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            sink = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 -- open to the end
            setattr(sys, name, sink)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files and text may be of any alphabet
    # Values near the limits of floats overflow to infinity, which counts as not measured; no news to a user.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(numpy|metrics)\b")
    try:
        with _ended_by_sigterm():
            code = app.main(arguments, prog_name="ragtriage", standalone_mode=False)
    except click.Abort:
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except Exception as error:  # noqa: BLE001 -- the one place that catches everything
        from ragtriage.dashboard.cli.terminal import error_text  # loads NumPy, which --help does without

        click.echo(f"error: {error_text(error)}", err=True)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the command as an exception does: what it began is removed, and its processes end.

    An exception that is raised while a module loads can be lost: compiled modules clear what goes wrong in
    parts of their setup, and so does the callback of the import lock. The end then waits for the module.
    """

    def end(_: int, frame: FrameType | None) -> None:
        if any("importlib._bootstrap" in at.f_code.co_filename for at, _ in traceback.walk_stack(frame)):
            main_thread = threading.main_thread().ident
            threading.Timer(0.02, signal.pthread_kill, [main_thread, signal.SIGTERM]).start()
            return
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the removing is not interrupted
        sys.exit(TERMINATED)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    main()
