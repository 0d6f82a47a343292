"""The website's command line: what it sets up and starts, and `--check` on a folder. The edition has tests of its own."""

from helpers import __main__ as door
from helpers.commands import html
from helpers.commands.setup_env import SetupError


def test_the_command_sets_up_the_extra_and_builds_where_it_is_told(monkeypatch, tmp_path, capsys):
    calls = []
    monkeypatch.setattr(html, "ready_python", lambda extras: calls.append(extras) or "python")
    monkeypatch.setattr(html, "run", lambda command: calls.append(command) or 1)
    monkeypatch.chdir(tmp_path)
    assert html.main(["site"]) == 1
    assert calls == [["html"], ["python", "-m", "helpers.html_edition.build", tmp_path / "site"]]

    def no_room(extras):
        raise SetupError("no room")

    monkeypatch.setattr(html, "ready_python", no_room)
    assert door.main(["html"]) == 2 and "no room" in capsys.readouterr().err


def test_check_builds_nothing_and_says_whether_the_links_hold(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(html, "ready_python", lambda extras: 1 / 0)
    (tmp_path / "a.html").write_text("<h1 id=top>A</h1><a href='#top'>up</a>")
    assert html.main([str(tmp_path), "--check"]) == 0 and "every link holds" in capsys.readouterr().out
    (tmp_path / "a.html").write_text("<a href='#top'>up</a>")
    assert html.main([str(tmp_path), "--check"]) == 1 and "no anchor 'top'" in capsys.readouterr().err
