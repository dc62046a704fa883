"""The command `ls-crowd`: finds the subcommand, and turns every failure into one sentence and an exit code.

Exit codes: 0 done, 1 failed, 2 wrong use or unusable input, 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence

import click

from .. import __version__
from ..errors import CrowdError

# Modules of this package, each with a click command of the same name. They import numpy and the like only when run, so
# that help and usage errors are immediate.
COMMANDS = (
    *("aggregate", "connect", "demo", "disconnect", "doctor", "evaluate", "export", "gold", "password", "report"),
    *("serve", "sync", "worker"),
)

DEBUG_OPTION = click.Option(["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error.")


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"{__name__}.{cmd_name}"), cmd_name)
        if DEBUG_OPTION not in command.params:
            command.params.append(DEBUG_OPTION)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            result: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader of a pipe (`… | head`) has closed it: the work was done, and there is nothing to report.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None
        return result


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ls-crowd")
@click.pass_context
def ls_crowd(context: click.Context) -> None:
    """Turn many people's labels into labels you can trust."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # the arrays are small: threads would wait for each other
        os.environ.setdefault(name, "1")
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


ls_crowd.params.append(DEBUG_OPTION)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character must not abort the run
            stream.reconfigure(errors="backslashreplace")
    try:
        code = ls_crowd.main(arguments, prog_name="ls-crowd", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.Abort:
        return _fail("Stopped by Ctrl-C.", 130)
    except Exception as error:
        # The flag is looked up in the raw arguments, so that it also works if parsing them failed.
        if "--debug" in arguments:
            traceback.print_exc()
        return _fail(*_sentence_and_code(error))


def _sentence_and_code(error: Exception) -> tuple[str, int]:
    if isinstance(error, CrowdError):
        return str(error), error.exit_code
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "ls-crowd"
        return f"{error.format_message()} See '{command} --help'.", error.exit_code
    if isinstance(error, click.ClickException):
        return error.format_message(), error.exit_code
    if isinstance(error, MemoryError):
        return "There is not enough memory; give fewer answers or use a larger machine.", 1
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"Internal error ({what}); run the command again with --debug to see where.", 1


def _fail(sentence: str, code: int) -> int:
    click.echo("Error: " + " ".join(sentence.splitlines()), err=True)
    return code
