"""The fault table: rows as documented, nulls where a fault cannot be."""

import pytest

from helpers.lab import fault_table
from helpers.lab.fault_table import COLUMNS, rows


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(fault_table, "PROMPTS", 3)
    monkeypatch.setattr(fault_table, "STEPS", 5)


def test_rows_hold_what_was_measured():
    ids = ["pos_zero", "frozen_cache", "gqa_tile", "beam_no_reorder"]
    found = {row["fault"]: row for row in rows(ids, ["random wide"], ["learned"])}
    assert list(found) == [id for id in fault_table.CATALOGUE if id in ids]
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
    assert all(set(row) == keys for row in found.values())
    assert {id: row["first_step"] for id, row in found.items()} == {
        "pos_zero": 1, "frozen_cache": 2, "gqa_tile": 0, "beam_no_reorder": 2,
    }  # fmt: skip
    assert all(row["flagged"] and row["rank"] == 1 and row["max_abs_diff"] > 1e-2 for row in found.values())
    assert all(row["family_first"] for row in found.values())
    assert all(0 <= row["text_differs"] <= 1 for row in found.values())


def test_a_fault_that_the_model_cannot_have_is_null():
    [row] = rows(["gqa_tile"], ["trained ledger"], ["learned"])
    assert {row[name] for name in COLUMNS} == {None}


def test_a_harmless_fault_is_not_flagged():
    [row] = rows(["leftpad_arange_pos"], ["random wide"], ["rope"])
    assert row["flagged"] is False and row["rank"] is None and row["max_abs_diff"] < 1e-10
