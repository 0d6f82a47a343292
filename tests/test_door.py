"""The terminal's door: every command is listed under its reader, and leads somewhere."""

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
