"""The fault table: rows as documented, nulls where a fault cannot be, the command's output and errors."""

import json

import pytest

from helpers.lab import fault_table


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(fault_table, "PROMPTS", 3)
    monkeypatch.setattr(fault_table, "STEPS", 5)


def test_rows_hold_what_was_measured(tmp_path, capsys):
    file = tmp_path / "rows.json"
    ids = ["pos_zero", "frozen_cache", "gqa_tile", "beam_no_reorder"]
    assert fault_table.main([*ids, "--weights", "random wide", "--positions", "learned", "--json", str(file)]) == 0
    rows = {row["fault"]: row for row in json.loads(file.read_text(encoding="utf-8"))}
    assert list(rows) == [id for id in fault_table.CATALOGUE if id in ids]
    keys = {
        "fault",
        "weights",
        "positions",
        "text_differs",
        "first_step",
        "max_abs_diff",
        "flagged",
        "rank",
        "family_first",
    }
    assert all(set(row) == keys for row in rows.values())
    assert {id: row["first_step"] for id, row in rows.items()} == {
        "pos_zero": 1, "frozen_cache": 2, "gqa_tile": 0, "beam_no_reorder": 2,
    }  # fmt: skip
    assert all(row["flagged"] and row["rank"] == 1 and row["max_abs_diff"] > 1e-2 for row in rows.values())
    assert all(0 <= row["text_differs"] <= 1 for row in rows.values())
    assert "of 4 rows whose logits move: 4 flagged, 4 with the right family first" in capsys.readouterr().out


def test_a_fault_that_the_model_cannot_have_is_null():
    [row] = fault_table.rows(["gqa_tile"], ["trained ledger"], ["learned"])
    assert {row[name] for name in fault_table.COLUMNS} == {None}
    assert "does not apply" in fault_table.line(row)


def test_a_harmless_fault_is_not_flagged():
    [row] = fault_table.rows(["leftpad_arange_pos"], ["random wide"], ["rope"])
    assert row["flagged"] is False and row["rank"] is None and row["max_abs_diff"] < 1e-10


def test_an_unknown_fault_is_an_error_that_lists_the_known_ones(capsys):
    with pytest.raises(SystemExit) as stop:
        fault_table.main(["pos_zer"])
    assert stop.value.code == 2 and "no such fault: pos_zer; the catalogue has pos_" in capsys.readouterr().err
