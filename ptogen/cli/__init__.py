"""The command line. A command lives in a module of its own, which is imported when it runs and not before.

This module stands in the way of every run, ``ptogen --help`` included, so it imports click and nothing heavier.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

try:
    import click

    from ptogen import __version__
except KeyboardInterrupt:
    sys.stderr.write("ptogen: interrupted\n")
    sys.exit(130)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ptogen.errors import Diagnostic, PtogenError

SUMMARIES = {
    "kernel": "Render specs into C++ suites.",
    "matrix": "Render a matrix of cases into many suites.",
    "plan": "Show the plan of each case: tiles, addresses, program.",
    "check": "Build, run and compare suites on a backend.",
    "clean": "Remove the suites that ptogen wrote.",
    "sanitize": "Record what any PTO kernel does, and judge it.",
    "ops": "List the operations, or describe one.",
    "platforms": "List the platforms.",
    "schema": "Print the JSON Schema of the spec file, for editors.",
    "backend": "Show or fetch what builds and runs need.",
}
"""Every command, in the order of ``ptogen --help``; the module is ``ptogen.cli.<name>`` and so is its attribute."""

_BROKEN_PIPE = 141  # what a shell reports of a program that SIGPIPE ended


class LazyGroup(click.Group):
    """Commands that are imported on use, and one place where errors become messages and exit statuses."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUMMARIES:
            return None
        from importlib import import_module

        return getattr(import_module(f"ptogen.cli.{cmd_name}"), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        items = [CompletionItem(name, help=text) for name, text in SUMMARIES.items() if name.startswith(incomplete)]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in SUMMARIES and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], SUMMARIES, 1)
            ctx.fail(f"There is no command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        try:
            return super().make_context(*args, **options)
        except KeyboardInterrupt:
            click.echo("ptogen: interrupted", err=True)
            raise click.exceptions.Exit(130) from None
        except OSError as error:
            if not _is_of_a_stream(error):
                raise
            raise click.exceptions.Exit(_unwritten(error)) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except KeyboardInterrupt:
            click.echo("ptogen: interrupted", err=True)
            ctx.exit(130)
        except OSError as error:
            if not _is_of_a_stream(error):
                raise
            ctx.exit(_unwritten(error))
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as error:
            from ptogen.errors import PtogenError

            if not isinstance(error, PtogenError):
                raise
            report(error, as_json=ctx.meta.get(_FORMAT) == "json")
            ctx.exit(int(error.exit_code))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 fine; 1 a finding, a failed case or a difference; 2 a spec or usage that cannot be served, "
    "or a missing backend; 3 ptogen's own fault; 130 interrupted.",
)
@click.version_option(__version__, prog_name="ptogen", message="%(prog)s %(version)s")
def cli() -> None:
    """Plans, checks and runs PTO kernels from a short YAML spec."""


def main(args: Sequence[str] | None = None) -> int:
    """Runs the command line and gives its exit status."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Closed by the caller: nobody wants to read it.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
        elif hasattr(getattr(sys, name), "reconfigure"):
            # A file name need not be text, and a terminal need not speak UTF-8.
            getattr(sys, name).reconfigure(errors="backslashreplace")
    try:
        return _run(args)
    except KeyboardInterrupt:
        sys.stderr.write("ptogen: interrupted\n")
        return 130
    except OSError as error:  # while a message was printed
        return _unwritten(error)


def _unwritten(error: OSError) -> int:
    """The status where a standard stream takes no more.

    What is left for it is dropped, because Python would complain once more when it flushes at its end.
    """
    if isinstance(error, BrokenPipeError):
        status = _BROKEN_PIPE  # the reader has gone
    else:
        status = 2
        try:
            click.echo(f"ptogen: the output cannot be written: {(error.strerror or str(error)).lower()}", err=True)
        except OSError:
            pass
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if _is_stuck(stream):
            os.dup2(nothing, stream.fileno())
    return status


def _is_of_a_stream(error: OSError) -> bool:
    """Whether a standard stream is to blame for an error, and not some file: by who was writing."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    writer = trace.tb_frame.f_globals.get("__name__", "") if trace is not None else ""
    writers = ("click", "rich", "ptogen.cli", "ptogen.report")
    return error.filename is None and any(writer == name or writer.startswith(f"{name}.") for name in writers)


def _is_stuck(stream: Any) -> bool:
    """Whether a stream still holds what it could not write."""
    try:
        stream.flush()
    except OSError:
        return True
    return False


def _run(args: Sequence[str] | None) -> int:
    try:
        result = cli.main(args, "ptogen", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption) and "--force" in (error.possibilities or ()):
            # Nobody shall overwrite files because of a typing error.
            error = click.NoSuchOption(error.option_name, ctx=error.ctx)
        error.show()
        return 2
    except click.Abort:
        click.echo("ptogen: interrupted", err=True)
        return 130
    except Exception as error:
        if isinstance(error, OSError) and _is_of_a_stream(error):
            raise
        import traceback

        traceback.print_exc()
        click.echo(
            "ptogen: this is ptogen's own fault, not one of your files; please report it with the lines above",
            err=True,
        )
        return 3


_FORMAT = "ptogen.format"


def _remember_format(ctx: click.Context, _param: click.Parameter, value: str) -> str:
    ctx.meta[_FORMAT] = value
    return value


format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    callback=_remember_format,
    is_eager=True,
    help="How to print results.",
)
"""``--format``: a command that takes it prints errors in this format, too."""


class Bytes(click.ParamType):
    """A number of bytes, decimal or as 0x…"""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = value if isinstance(value, int) else int(value, 0)
        except ValueError:
            self.fail(f"{value!r} is not a number of bytes.", param, ctx)
        if not 0 < number < 2**31:
            self.fail(f"{value} is not between 1 and 2,147,483,647.", param, ctx)
        return number


class Directory(click.Path):
    """A directory to write into; the empty text is none, though Python takes it for the current one."""

    def __init__(self) -> None:
        from pathlib import Path

        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("The name of the directory is empty; the current one is '.'.", param, ctx)
        return super().convert(value, param, ctx)


ub_bytes_option = click.option(
    "--ub-bytes", type=Bytes(), metavar="N", help="Plan for a UB of N bytes instead of the platform's size."
)


def _executor(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    import re

    if not re.fullmatch(r"local|dask|dask=(tcp|tls|ws|wss)://[^/\s]+:\d+", value):
        raise click.BadParameter(f"{value!r} is neither local nor dask nor like dask=tcp://host:8786.")
    return value


executor_option = click.option(
    "--executor",
    metavar="local|dask[=ADDRESS]",
    default="local",
    show_default=True,
    callback=_executor,
    help="Who does the work: processes of this machine, a Dask cluster of them, or the one at ADDRESS, such as "
    "tcp://host:8786. There, --jobs is for the tasks at work; default: a thread each.",
)


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM and SIGHUP are an interrupt here, so that no program that was started goes on alone."""
    import signal
    import threading

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    taken = []
    if threading.current_thread() is threading.main_thread():
        taken = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]
    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def report(error: PtogenError, *, as_json: bool = False) -> None:
    """Prints every diagnostic on stderr and, where a machine reads, as JSON on stdout."""
    for diagnostic in error.diagnostics:
        show(diagnostic)
    if as_json:
        print_json({"diagnostics": [diagnostic.as_dict() for diagnostic in error.diagnostics]})


_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def show(diagnostic: Diagnostic) -> None:
    """Prints one diagnostic on stderr, in colour on a terminal unless ``NO_COLOR`` is set."""
    text = printable(str(diagnostic))
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        label = f"{diagnostic.severity} {diagnostic.code}:"
        before, found, after = text.partition(label)
        if found:
            text = before + click.style(label, fg=_COLOURS.get(diagnostic.severity), bold=True) + after
    click.echo(text, err=True)


def printable(text: str) -> str:
    """The text without the control characters that would steer a terminal; specs can hold any."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)


def print_json(data: object) -> None:
    """Prints JSON on stdout, in the order given."""
    import json

    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def table(rows: Sequence[Sequence[object]], numbers: Sequence[int] = (), indent: str = "") -> str:
    """Rows as aligned columns, the first row the head; the columns in ``numbers`` are flush right."""
    texts = [[printable(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = []
    for row in texts:
        cells = [
            cell.rjust(width) if place in numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)
