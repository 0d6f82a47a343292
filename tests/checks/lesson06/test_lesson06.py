"""The graders of lesson 06 are code under test: wrong answers with the message each must get, right ones that must pass."""

import pytest
import torch

from helpers.audit import audit
from helpers.checks.lesson06.killers import FROM_CATALOGUE, exposed, outcome, right_decoders
from helpers.checks.lesson06.mutants import MUTANTS
from helpers.checks.lesson06.values import FORETOLD, SYMPTOMS, measured
from helpers.checks.small import small_model
from helpers.decoding import CachedDecoder, Oracle, generate
from helpers.faults import CATALOGUE, faulty, mysteries
from helpers.ledger import TOKENIZER, check_note, example, load

from ..graders import LessonGraders, graded
from .alternatives import ALTERNATIVES
from .answers import RIGHT

MASK_LINE = "torch.ones(T, S, dtype=torch.bool).tril(S - T)"
RETURN = "return keys, values"
NINE_ROWS = "    def layers(self):\n        return [(k[:, :, -9:], v) for k, v in super().layers()]\n"
# exercise -> [(what stands in the right answer, what stands there instead, what the learner must be told)]
WRONG = {
    "first_divergence": [
        ("return step, row", "return row, step", "It looks like: row and step exchanged"),
        ("(x - y).abs() <= tolerance", "x - y <= tolerance", "a sign left in"),
        ("(x - y).abs() <= tolerance", "(x - y).abs() < tolerance", "got (2, 1), expected None.\n        It looks like: `>=` where"),
        ("<= tolerance) | (x == y)", "<= tolerance)", "inf - inf is NaN"),
        ("((x - y).abs() <= tolerance) | (x == y)", "~((x - y).abs() > tolerance)", "a comparison that a NaN passes"),
        ("| (x == y)", "| (x == y)\n        near = near & (x.argmax(-1) == y.argmax(-1))[:, None]",
         "rounding decides which is best: got (2, 1), expected None.\n        It looks like: a comparison of argmax"),
        ("((x - y).abs() <= tolerance) | (x == y)", "(x.argmax(-1) == y.argmax(-1))[:, None]", "FAIL  one place differs"),
        ("(x - y).abs() <= tolerance", "(x - y).abs() <= tolerance * (1 + y.abs())", "a tolerance that is relative"),
        ("    for step in range(steps):\n        x, y = a[:, step].double(), b[:, step].double()\n        near = ((x - y).abs() <= tolerance) | (x == y)\n"
         "        for row in range(len(near)):\n            if not near[row].all():\n                return step, row\n",
         "    far = ((a[:, :steps] - b[:, :steps]).abs() > tolerance).nonzero()\n    if len(far): return int(far[0][1]), int(far[0][0])\n",
         "row 0 parts at step 3, rows 1 and 2 at step 1: got (3, 0)"),
        ("return None if a.shape[1] == b.shape[1] else (steps, 0)", "return None", "the steps that only one of them has were left out"),
        ("    steps = min", "    if a.shape[1] != b.shape[1]: return min(a.shape[1], b.shape[1]), 0\n    steps = min", "the length looked at first"),
        ("    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[2]:\n        raise ValueError", "    if False:\n        raise ValueError",
         "tensors that broadcast: one row was compared with all"),
        ("        raise ValueError", "        raise AssertionError", "AssertionError; expected a ValueError"),
        ("return None if a.shape[1] == b.shape[1] else (steps, 0)", "return (0, 0)", "no answer of its own for traces that are equal"),
        ("return step, row", "return step", "got an int, expected (step, row) = (3, 1)"),
        ("    steps = min", "    a, b = a.nan_to_num(neginf=-1e9), b.nan_to_num(neginf=-1e9)\n    steps = min",
         "both have a NaN at the same place: got None, expected (step, row) = (2, 1)"),
        ("    steps = min", "    b.mul_(1)\n    a.add_(0.5)\n    b.add_(0.5)\n    steps = min", "the call changed its argument a in place"),
        ("a[:, step].double(), b[:, step].double()", "a[:, step], b[:, step].to(a.dtype)\n        if b.dtype == torch.float32: return step, 0",
         "FAIL  float32 against float64"),
    ],
    "explain": [
        (".abs().max()", ".abs().mean()", "the residual is"),
        (".abs().max()", ".abs().sum()", "an average, or a sum"),
        ("(replay - trace)", "(replay - trace)[:, :1]", "only a part of the steps was compared"),
        ("(replay - trace).abs()", "(replay - trace)[:, :-1].abs()", "named 'late', expected 'everywhere'.\n        It looks like: prefill, an average"),
        (" and not replay.isnan().any():\n            residual = float((replay - trace).abs().max())\n        if residual <= tolerance",
         ":\n            residual = float((replay - trace).abs().max())\n        if not residual > tolerance",
         "named 'broken', expected 'near'.\n        It looks like: comparisons with NaN are all False"),
        ("replay.shape == trace.shape and not replay.isnan().any()", "not replay.isnan().any()", "RuntimeError, in explain"),
        ("replay.shape == trace.shape and", "replay.shape[2] == trace.shape[2] and (trace := trace[:, : replay.shape[1]]) is not None and",
         "named 'short', expected 'near'.\n        It looks like: only the steps that both have"),
        ('return "unknown", smallest', "return name, smallest", "the closest replay; it does not reproduce the trace"),
        ('return "unknown", smallest', "return None, smallest", "named None, expected 'unknown'"),
        ('return "unknown", smallest', 'return "unknown", None', "the residual is None"),
        ('return "unknown", smallest', 'return "unknown"', "the result is a str; expected two things"),
        ("residual <= tolerance", "residual < tolerance", "a replay that is off by exactly the tolerance"),
        ("residual <= tolerance", "residual == 0", "named 'unknown', expected 'near'"),
        ("replays.items()", "sorted(replays.items(), key=lambda r: float((r[1].nan_to_num() - trace).abs().max()) if r[1].shape == trace.shape else 9)",
         "several fit: the first of them"),
        ("    smallest = math.inf", "    trace += 0.5\n    replays = {n: r + 0.5 for n, r in replays.items()}\n    smallest = math.inf",
         "the call changed its argument trace in place"),
    ],
    "RepairedSteps": [
        ("torch.tensor([self.length])", "torch.tensor([self.step - 1])", "still pos_restart"),
        ("torch.tensor([self.length])", "torch.tensor([self.step])", "still pos_restart: decode counts from 1 again"),
        ("torch.tensor([self.length])", "torch.tensor([0])", "still pos_zero: every decode step runs at position 0"),
        ("torch.tensor([self.length])", "torch.tensor([self.length + 1])", "still pos_plus1"),
        ("torch.tensor([self.length])", "torch.tensor([self.length - 1])", "still pos_minus1"),
        ("torch.arange(self.length, self.length + T)", "torch.arange(T)", "its second piece, a chunk on a filled cache differs"),
        ("        super().advance(T)\n", "", "still pos_zero"),
        ("class RepairedSteps(ConcatCache):", "class RepairedSteps:", "TypeError, in __init__"),
        ("class RepairedSteps(ConcatCache):", "class RepairedSteps(ConcatCache):\n    def crop(self, length): pass", "rollback: from step"),
        ("    def positions", NINE_ROWS + "    def positions", "the layers hold [9, 9, 9] rows; expected 12 in each"),
    ],
    "RepairedAppend": [
        (RETURN, "return (torch.cat([keys, k], 2), torch.cat([values, v], 2)) if self.length else (keys, values)", "differs from the oracle"),
        (RETURN, "self.keys[layer] = torch.cat([keys, k], 2) if self.length else keys\n"
                 "        self.values[layer] = torch.cat([values, v], 2) if self.length else values\n"
                 "        return self.keys[layer], self.values[layer]", "still decode_row_twice: every layer appends its new row twice"),
        ("        " + RETURN, "        if self.length and k.shape[2] == 1: self.keys[layer], self.values[layer] = keys[:, :, :-1], values[:, :, :-1]\n        "
         + RETURN, "still frozen_cache"),
        ("keys, values = super().update(k, v, layer)", "keys, values = k, v", "decode step 1 differs from the oracle"),
        (RETURN, "return keys, keys", "still value_is_key"),
        (RETURN, "return (keys[:, :, :-1], values[:, :, :-1]) if self.length and k.shape[2] == 1 else (keys, values)", "still attend_then_append"),
        (RETURN, "self.keys[layer], self.values[layer] = [torch.cat([x[:, :, :1], x], 2) if self.length == 0 else x for x in (keys, values)]\n"
                 "        return keys, values", "decode step 1 differs"),
        ("    def update", "    def reorder(self, parents): pass\n    def update", "beams: from step"),
        (RETURN, "return (keys.flip(2), values) if self.length and k.shape[2] > 1 else (keys, values)",
         "its second piece, a chunk on a filled cache differs"),
        ("class RepairedAppend(ConcatCache):", "def RepairedAppend(n): return []\nclass Other(ConcatCache):",
         "it makes a list without positions, update, mask, advance, layers"),
        (RETURN, "return keys, values\n    def layers(self): return super().layers() if self.length < 9 else [(k[:, :, 1:], v) for k, v in super().layers()]",
         "the layers hold [11, 11, 11] rows; expected 12 in each"),
    ],
    "RepairedMask": [
        (MASK_LINE, "torch.ones(T, S, dtype=torch.bool).tril()", "still chunk_top_left: a chunk's mask is not shifted by the cached rows"),
        (MASK_LINE, "torch.ones(T, S, dtype=torch.bool)", "still no_mask_with_cache"),
        (MASK_LINE, "torch.ones(T, S, dtype=torch.bool).tril() if T == S else None", "still mask_only_if_square"),
        (MASK_LINE, "torch.ones(T, S, dtype=torch.bool).tril(S - T - 1)", "the prefill differs from the oracle"),
        (MASK_LINE, "torch.ones(T, S, dtype=torch.bool).tril(S - T + 1)", "the prefill differs from the oracle"),
        (MASK_LINE, "torch.ones(T, S, dtype=torch.bool).triu(S - T)", "the prefill differs from the oracle"),
        ("            return None\n", "            return torch.ones(1, S, dtype=torch.bool).tril()\n", "still sdpa_top_left"),
        (MASK_LINE, "torch.ones(T, T, dtype=torch.bool).tril()", "RuntimeError"),
        ("    def mask", NINE_ROWS + "    def mask", "the layers hold [9, 9, 9] rows; expected 12 in each"),
        ("    def mask", "    def crop(self, length): pass\n    def mask", "rollback: from step"),
    ],
    "killer_prompts": [
        ("        (long, [2, 4, 6], 3),\n        (long[:9], [9], 2),\n", "", "FAIL  at least 75% of 19 mutants exposed"),
        ("        ([3], [1], 3),\n", "", "A single token always counts as a decode step"),
        ("[2, 4, 6]", "[4, 4, 4]", "A chunk starts at its number times the size of the first one"),
        ("[2, 4, 6]", "[12]", "A later prefill chunk uses a triangle"),
        ("def killer_prompts():", "def killer_prompts():\n    return [(p, c, 1) for p, c, _ in cases()]\ndef cases():",
         "In decode the values of row 0 are used for the whole batch"),
        ("(long, [2, 4, 6], 3)", "(long[:9], [2, 3, 4], 3)", "Only the newest 12 rows are kept"),
        ("[7, 2, 0, 5, 9, 14, 3, 1, 10, 4, 6, 8]", "[7, 2, 0, 5, 9, 14, 3, 1, 10, 4, 6, 8] + [1] * 5", "pieces of at least one token that add up to it"),
        ("(long, [2, 4, 6], 3)", "(long + [5] * 5, [2, 4, 11], 3)", "the course's decoder was accused: case 2 raised OutOfPositions"),
        ("([3], [1], 3)", "([23], [1], 3)", "each from 0 to 22"),
        ("([3], [1], 3)", "([3], [1], 5)", "a batch of 5; expected 1 to 4"),
        ("([3], [1], 3)", "([3], [1])", "case 1 is a tuple; expected (prompt, chunks, batch)"),
        ("([3], [1], 3)", "(3, 1, 3)", "prompt and chunks are lists of whole numbers"),
        ("    return [", "    return 2 * [", "it returned 6 cases; expected a list of 1 to 4 cases"),
        ("    return [", "    [", "it returned None"),
        ("    return [\n        ([3], [1], 3),\n        (long, [2, 4, 6], 3),\n        (long[:9], [9], 2),\n    ]", "    return [([1], [1], 1)]",
         "FAIL  at least 50% of 19"),
    ],
    "symptoms": [
        ('"sdpa_top_left": "a"', '"sdpa_top_left": "c"', "'c' says: a plain run is wrong already at step 0"),
        ('"value_is_key": "c"', '"value_is_key": "a"', "Measured: first wrong step 0"),
        ('"chunk_top_left": "d"', '"chunk_top_left": "c"', "Measured: first wrong step None"),
        ('"frozen_cache": "e"', '"frozen_cache": "a"', "7 rows for 11 tokens fed"),
        ('"refeed_last_prompt_token": "c"', '"refeed_last_prompt_token": "b"', "12 rows for 11 tokens fed"),
        ('"sdpa_top_left": "a", ', "", "there is no entry for 'sdpa_top_left' yet"),
        ('"sdpa_top_left": "a"', '"sdpa_top_left": "f"', "it should be one of 'a', 'b', 'c', 'd', 'e'"),
        ('"sdpa_top_left": "a"', '"sdpa_top_left": 1', "1; it should be one of"),
        ("symptoms = {", "symptoms = 3 or {", "symptoms is an int; expected a dict"),
        ("symptoms = {", "symptoms = {} and {", "symptoms has the entries []; expected 'sdpa_top_left'"),
    ],
    "mystery_names": [
        ('1: "frozen_cache"', '1: "attend_then_append"', "the family is right; replay each of its faults"),
        ('1: "frozen_cache"', '1: "pos_plus1"', "pos_plus1 is of the family 'position'; mystery 1 is of another one"),
        ('2: "refeed_last_prompt_token"', '2: "decode_row_twice"', "gives other logits than mystery 2"),
        ('3: "pos_plus1"', '3: "plus one"', "'plus one' is no fault's id; candidates are pos_zero"),
        ('3: "pos_plus1"', "3: None", "there is no entry for 3 yet"),
        ("4: 6", "4: 7", "a line that could stay if another one were right"),
        ("5: 5", "5: 1", "a line that the change does not add"),
        ("5: 5", "5: 4", "line 4 is `+         step"),
        ("6: 7", "6: 70", "70; expected the number of one of the 7 lines"),
        ("6: 7", '6: "seven"', "'seven'; expected the number of one of"),
        ('"seed": 18, ', "", "the entry \"seed\" is None; expected the whole number"),
        ('"seed": 18', '"seed": "soon"', "the entry \"seed\" is 'soon'; expected the whole number"),
        ('"seed": 18', '"seed": 5', "FAIL  mystery 1: the family"),
    ],
    "boundary_06": [
        ("12", "13", "It looks like: the correct decoder's number"),
        ("12", "11", "It looks like: the last token counted as fed"),
        ("12", "512", "the block: it has to hold the prompt as well"),
        ("12", "0", "0 new tokens: measured, more can be written"),
        ("12", "'twelve'", "boundary_06 is 'twelve'; it should be a whole number"),
        ("12", "12.5", "it should be a whole number"),
        ("12", "True", "it should be a whole number"),
    ],
}  # fmt: skip


class TestLesson06(LessonGraders):
    lesson, right, wrong, alternatives = "06", RIGHT, WRONG, ALTERNATIVES


# Partial credit.


def test_a_wrong_entry_costs_its_own_points_only():
    code = RIGHT["symptoms"].replace('"sdpa_top_left": "a"', '"sdpa_top_left": "b"')
    result = graded("symptoms", code)
    assert float(result) == 4 and [row.mark for row in result.rows] == ["FAIL", "pass", "pass", "pass", "pass"]


def test_the_right_family_is_worth_a_point():
    code = RIGHT["mystery_names"]
    assert float(graded("mystery_names", code.replace("pos_plus1", "pos_zero"))) == 8
    assert float(graded("mystery_names", code.replace("pos_plus1", "frozen_cache"))) == 7


# What the exercises are made of.


def test_every_symptom_offered_is_measured_on_some_fault_and_those_asked_have_one():
    found = {id: measured(id)[0] for id in mysteries.CANDIDATES if id != "not_reset"}
    assert set(found.values()) == set(SYMPTOMS)
    assert all(found[id] in SYMPTOMS for id in FORETOLD)


@pytest.mark.parametrize("review", mysteries.REVIEWS, ids=lambda review: review.title)
def test_a_review_is_wrong_in_its_wrong_line_and_in_no_other(review):
    assert review.lines[review.wrong - 1].startswith("+") and review.right.startswith("+")
    assert audit(review.decoder(small_model()), explain=False).verdict == "differs"
    assert audit(review.decoder(small_model(), mended=True), explain=False).verdict == "equal"


def test_a_draw_depends_on_its_seed_alone_and_mixes_families():
    draws = [mysteries.draw(seed) for seed in range(12)]
    mysteries.draw.cache_clear()
    assert [mysteries.draw(seed) for seed in range(12)] == draws
    assert len({tuple(d.faults.values()) for d in draws}) > 6
    for d in draws:
        assert len({CATALOGUE[id].family for id in d.faults.values()}) == 3
        assert list(d.faults) == [1, 2, 3] and list(d.reviews) == [4, 5, 6] and len(set(d.reviews.values())) == 3


def test_no_two_candidates_and_no_right_decoder_look_alike_when_interrogated():
    model, tokens = small_model(), torch.arange(48).reshape(4, 12) % 23
    traces = {
        id: mysteries.interrogate(faulty(model, id), tokens[:, :7], tokens[:, 7:], 4) for id in mysteries.CANDIDATES
    }
    traces["correct"] = mysteries.interrogate(CachedDecoder(model), tokens[:, :7], tokens[:, 7:], 4)
    assert torch.allclose(
        traces["correct"], mysteries.interrogate(Oracle(model), tokens[:, :7], tokens[:, 7:], 4), atol=1e-9
    )
    for a in traces:
        for b in traces:
            if a < b and traces[a].shape == traces[b].shape:
                assert float((traces[a] - traces[b]).abs().max()) > 1e-3, (a, b)


def test_a_decoder_that_runs_out_of_positions_gives_a_shorter_trace():
    model, tokens = small_model(), torch.arange(60).reshape(4, 15) % 23
    refed = faulty(model, "refeed_everything")
    traces = [mysteries.interrogate(refed, tokens[:, :n], tokens[:, n:], 4).shape[1] for n in (6, 12)]
    assert traces == [3, 0] and len(mysteries.interrogate(CachedDecoder(model), tokens[:, :6], tokens[:, 6:], 4)) == 4


def test_a_sealed_decoder_does_not_say_what_it_is():
    sealed = mysteries.draw(18).decoders(small_model())[3]
    assert set(vars(sealed)) == {"prefill", "decode", "extend", "layers"}


@pytest.mark.parametrize("cases", [(((3, 5, 7), (3,), 1),), (((0,), (1,), 4), (tuple(range(14)), (1, 13), 1))])
def test_right_decoders_are_never_accused(cases):
    model = small_model()
    for decoder in right_decoders(model).values():
        assert exposed(decoder, Oracle(model), cases) is None


def test_naive_prompts_expose_some_mutants_only():
    found, right = outcome((((3, 5, 7), (3,), 1),))
    assert len(found) == len(FROM_CATALOGUE) + len(MUTANTS) == 19 and not any(right.values())
    assert 0 < sum(map(bool, found.values())) < 19


# What the lesson's text says of the trained model.


def test_the_opening_is_as_the_lesson_tells_it():
    model, task = load("learned"), example(records=4, asked=2, seed=14)

    def fields(decoder):
        tokens = generate(decoder, task.prompt_ids, 60, stop=TOKENIZER.stop).tokens[0]
        return check_note(task, TOKENIZER.decode(tokens))

    right, wrong = fields(CachedDecoder(model)), fields(mysteries.shipped(model))
    assert right.fits_template and not right.wrong
    assert wrong.fits_template and {"amount", "date"} <= {f.name for f in wrong.wrong if f.record_of is not None}
    assert all(f.right for f in wrong if f.name == "id")
    late = fields(faulty(model, "pos_plus1"))
    assert late.fits_template and not late.wrong


def test_the_stored_fault_table_says_what_the_lesson_says():
    from helpers.lab import fault_table

    rows = [row for row in fault_table.stored() if row["flagged"] is not None]
    shares = {}
    for kind in fault_table.WEIGHTS:
        of_kind = [row for row in rows if row["weights"] == kind]
        assert {row["fault"] for row in of_kind} <= set(CATALOGUE) and len(of_kind) > 20
        assert all(row["max_abs_diff"] > fault_table.WRONG for row in of_kind)
        shares[kind] = sum(row["text_differs"] for row in of_kind) / len(of_kind)
    assert shares["random wide"] > 0.95 > shares["trained ledger"] > shares["random GPT-2 init"]
    assert any(row["text_differs"] == 0 for row in rows if row["weights"] == "trained ledger")
