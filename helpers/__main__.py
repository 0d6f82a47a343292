"""The terminal's door: python -m helpers COMMAND. Nothing is imported before the command is known."""

import importlib
import os
import sys

if not __package__:  # started as `python CLONE/helpers COMMAND`, which works in any folder
    __package__, sys.path[0] = "helpers", os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from .commands.setup_env import LIBRARY, STOPPED, SetupError, library

READERS = {  # who reads: {command: (module, function, what it does)}
    "learn": {
        "lab": ("commands.setup_env", "lab", "set up what is missing, then open the lessons in JupyterLab"),
        "demo": ("commands.demo", "main", "write a note with and without cache and compare each step"),
        "report": ("commands.report", "main", "what is solved, what your code measured (Markdown, HTML)"),
        "check": ("commands.environment", "main", "look at this environment: versions, threads, memory, front end"),
    },
    "teach": {
        "class": ("classroom.command", "main", "the lessons in a class: release, collect, grade with nbgrader"),
        "html": ("commands.html", "main", "set up what is missing, then build the solved lessons as a website"),
    },
    "prove": {
        "audit": ("commands.audit", "main", "audit a saved transformers model's cached decoding"),
        "faults": ("commands.faults", "main", "what each cache fault does to text and logits, and whether it is named"),
    },
    "measure": {
        "bench": (
            "commands.bench",
            "main",
            "speed and memory of decoding, beside transformers and the machine's limits",
        ),
        "cells": ("commands.cells", "main", "run the lessons and list their slowest cells"),
    },
    "change": {
        "test": ("commands.setup_env", "test", "set up what is missing, then run all tests and every lesson"),
    },
}
COMMANDS = {name: place for commands in READERS.values() for name, place in commands.items()}


def usage():
    """The commands with their words, under the reader that they are for."""
    lines = ["usage: python -m helpers COMMAND [OPTIONS]", "in another folder: python CLONE/helpers COMMAND [OPTIONS]"]
    for reader, commands in READERS.items():
        lines += ["", reader] + ["  {:<8}{}".format(name, words) for name, (_, _, words) in commands.items()]
    return "\n".join(lines)


def missing_package(error):
    """What is not installed, after an ImportError; None where the error is another one."""
    if (error.name or "").split(".")[0] == LIBRARY and library() is None:
        return LIBRARY
    return error.name if isinstance(error, ModuleNotFoundError) else None


def main(arguments):
    """Run one command; its exit code, 2 where there is no such command."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        print("there is no command {!r}\n\n{}".format(name, usage()), file=sys.stderr)
        return 2
    module, function, _ = COMMANDS[name]
    try:
        command = getattr(importlib.import_module("helpers." + module), function)
    except ImportError as error:
        missing = missing_package(error)
        if missing is None:
            raise
        print(
            "{!r} is not installed in this Python ({}). Run 'python -m helpers lab' or 'test' once: they make .venv; "
            "then use its Python: {}".format(missing, sys.executable, ".venv/bin/python -m helpers " + name),
            file=sys.stderr,
        )
        return 2
    try:
        return command(arguments[1:])
    except SetupError as error:  # any command may install what it needs
        print("Set-up stopped: {}".format(error), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return STOPPED


def print_anywhere():
    """Let a locale without a sign, as ≈ in the C locale, print ? in its place; as it is, print would end the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    print_anywhere()
    sys.exit(main(sys.argv[1:]))
