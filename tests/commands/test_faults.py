"""The fault table's command line: what it prints and writes, with its rows measured on small runs, and its errors."""

import json

import pytest

from helpers.commands import faults
from helpers.lab import fault_table


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(fault_table, "PROMPTS", 3)
    monkeypatch.setattr(fault_table, "STEPS", 5)


def test_rows_are_printed_and_written_with_a_summary(tmp_path, capsys):
    file = tmp_path / "rows.json"
    options = ["--weights", "random wide", "--positions", "learned", "--json", str(file)]
    assert faults.main(["pos_zero", "gqa_tile", *options]) == 0
    out, rows = capsys.readouterr().out, json.loads(file.read_text(encoding="utf-8"))
    assert [row["fault"] for row in rows] == ["pos_zero", "gqa_tile"]
    assert out.splitlines()[:3] == [faults.HEAD, *map(faults.line, rows)]
    assert "random wide, learned: the text differs in " in out
    assert "of 2 rows whose logits move: 2 flagged, 2 with the right family first" in out


def test_a_fault_that_the_model_cannot_have_is_said():
    row = {"fault": "gqa_tile", "weights": "trained ledger", "positions": "rope"}
    assert "does not apply" in faults.line(row | dict.fromkeys(fault_table.COLUMNS))


def test_an_unknown_fault_is_an_error_that_lists_the_known_ones(capsys):
    with pytest.raises(SystemExit) as stop:
        faults.main(["pos_zer"])
    assert stop.value.code == 2 and "no such fault: pos_zer; the catalogue has pos_" in capsys.readouterr().err
