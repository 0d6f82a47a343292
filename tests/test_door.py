"""The terminal's door: its commands under their readers, each leads somewhere, and what it says to others."""

from helpers import __main__ as door


def test_commands_are_listed_by_reader_with_their_words(capsys):
    assert door.main(["--help"]) == 0
    parts = capsys.readouterr().out.split("\n\n")[1:]
    listed = {lines[0]: [line.split()[0] for line in lines[1:]] for lines in map(str.splitlines, parts)}
    assert listed == {
        "learn": ["lab", "demo", "report", "check"],
        "teach": ["class", "html"],
        "prove": ["audit", "faults"],
        "measure": ["bench", "cells"],
        "change": ["test"],
    }
    assert set(door.COMMANDS) == {name for names in listed.values() for name in names}
    for part, commands in zip(parts, door.READERS.values()):
        assert all(words in part for _, _, words in commands.values())


def test_without_a_command_all_are_listed_and_an_unknown_one_is_refused(capsys):
    assert door.main([]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in door.COMMANDS)
    assert door.main(["lba"]) == 2
    assert "there is no command 'lba'" in capsys.readouterr().err


def test_every_command_leads_somewhere():
    for module, function, _ in door.COMMANDS.values():
        assert callable(getattr(__import__(f"helpers.{module}", fromlist=[function]), function))


def test_a_missing_package_is_said_with_what_to_do(monkeypatch, capsys):
    def missing(name):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(door.importlib, "import_module", missing)
    assert door.main(["demo"]) == 2
    assert "'torch' is not installed in this Python" in capsys.readouterr().err
