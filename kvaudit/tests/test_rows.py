"""What a decoder's rows say: every kind of wrong row in every layout is told right, and no correct decoder's rows are wrong."""

from dataclasses import replace

import pytest
import torch

import kept
from kept import Form, Kept, examined, layout, signs, turn
from kvaudit import audit
from second_implementation.adapter import Reference
from second_implementation.network import Spec, weights

SPEC = Spec(vocab=41, context=40, depth=3, heads=4, shared=2, dim=8, hidden=40, positions="halves")
REFERENCE = Reference(weights(SPEC, 0, 0.2, torch.float64), SPEC)
WINDOW = 6
SLIDING = Reference(REFERENCE.w, replace(SPEC, span=WINDOW))
LEARNED = Reference(
    weights(replace(SPEC, positions="learned"), 0, 0.2, torch.float64), replace(SPEC, positions="learned")
)
T0 = 13  # tokens of the plain prompt; step 1 feeds row 13


def at(step, change, layer=None):
    """Spoil the rows after one step for good: `change(decoder, k, v)`, in all layers or in one."""

    def spoil(decoder, here, k, v):
        return change(decoder, k, v) if decoder.calls == step + 1 and layer in (None, here) else (k, v)

    return spoil


def put(x, rows, value):
    x = x.clone()
    x[:, :, rows] = value
    return x


def both(layer, *rest):
    return {(layer, part, *rest) for part in "KV"}


def from_layer(other):
    """A layer's rows are those of another one."""
    return lambda d, k, v: d.rows[other]


def shifted(x):
    return torch.cat([x[:, :, :2], x[:, :, 3:], x[:, :, -1:]], dim=2)


def again(d, k, v):
    return turn(d, k, d.positions(0, k.shape[2])), v


OLD = tuple(range(T0))
ALL1 = (*OLD, 13)

# name -> (spoil, step, what is wrong). Rows are spoilt for good after a step; the logits show it at the next.
WRONG = {
    "zeros": (at(2, lambda d, k, v: (put(k, 5, 0), v), 1), 2, {(1, "K", "zeros", (5,))}),
    "turned on": (at(1, lambda d, k, v: (put(k, [4], turn(d, k[:, :, [4]], torch.ones(3, 1).long())), v), 2), 1, {(2, "K", "rotated", (4,), "+1")}),
    "turned again": (at(1, again), 1, {(layer, "K", "rotated", ALL1[1:], "again") for layer in range(3)}),
    "not turned": (at(1, lambda d, k, v: (put(k, -1, turn(d, k[:, :, -1:], torch.full((3, 1), -13))[:, :, 0]), v), 2), 1, {(2, "K", "rotated", (13,), "not")}),
    "the next row's": (at(2, lambda d, k, v: (k, put(v, 3, v[:, :, 4])), 0), 2, {(0, "V", "other", (3,), "+1")}),
    "shifted by one": (at(1, lambda d, k, v: (shifted(k), shifted(v)), 1), 1, both(1, "other", ALL1[2:-1], "+1")),
    "one missing": (at(1, lambda d, k, v: (k[:, :, [*range(4), *range(5, 14)]], v[:, :, [*range(4), *range(5, 14)]]), 1), 1, both(1, "missing", (4,))),
    "the first missing": (at(1, lambda d, k, v: (k[:, :, 1:], v[:, :, 1:]), 0), 1, both(0, "missing", (0,))),
    "not stored": (at(2, lambda d, k, v: (k[:, :, :-1], v[:, :, :-1])), 2, set().union(*(both(n, "missing", (14,)) for n in range(3)))),
    "one twice": (at(1, lambda d, k, v: (k[:, :, [*range(8), *range(7, 14)]], v[:, :, [*range(8), *range(7, 14)]]), 1), 1, both(1, "extra", (8,), "-1", "other")),
    "another layer's": (at(1, lambda d, k, v: (put(k, 9, d.rows[0][0][:, :, 9]), v), 2), 1, {(2, "K", "other", (9,), 0)}),
    "another layer's, all": (at(1, from_layer(1), 2), 1, both(2, "other", ALL1, 1)),
    "batch rows rolled": (at(1, lambda d, k, v: (put(k, -1, k[:, :, -1].roll(1, 0)), put(v, -1, v[:, :, -1].roll(1, 0))), 1), 1, both(1, "other", (13,), "-1")),
    "of another batch row": (at(1, lambda d, k, v: (k, torch.cat([v[:2], v[:1]])), 1), 1, {(1, "V", "other", ALL1, "+1", "batch (2,)")}),
    "key as value": (at(1, lambda d, k, v: (k, put(v, 13, k[:, :, 13])), 2), 1, {(2, "V", "other", (13,), "K")}),
    "value as key": (at(1, lambda d, k, v: (v, v), 0), 1, {(0, "K", "other", ALL1, "V")}),
    "exchanged": (at(1, lambda d, k, v: (v, k), 2), 1, {(2, "K", "other", ALL1, "V"), (2, "V", "other", ALL1, "K")}),
    "unturned key as value": (at(1, lambda d, k, v: (k, put(v, 13, turn(d, k[:, :, -1:], torch.full((3, 1), -13))[:, :, 0])), 2), 1, {(2, "V", "other", (13,), "K", "before its rotation")}),
    "another's key, turned": (at(1, lambda d, k, v: (put(k, 6, turn(d, k[:, :, [2]], torch.full((3, 1), 4))[:, :, 0]), v), 1), 1, {(1, "K", "other", (6,), "-4", "at this place")}),
    "scaled": (at(1, lambda d, k, v: (k, put(v, 6, 0.5 * v[:, :, 6])), 1), 1, {(1, "V", "scaled", (6,), "0.5")}),
    "heads exchanged": (at(1, lambda d, k, v: (k.flip(1), v), 1), 1, {(1, "K", "heads", ALL1, "1 0")}),
    "one head lost": (at(1, lambda d, k, v: (k, torch.stack([v[:, 0] * 0, v[:, 1]], dim=1)), 1), 1, {(1, "V", "zeros", ALL1, "heads (0,)")}),
    "another order": (at(1, lambda d, k, v: (put(k, 7, k[:, :, 7, [0, 4, 1, 5, 2, 6, 3, 7]]), v), 1), 1, {(1, "K", "order", (7,))}),
    "rounded later": (at(2, lambda d, k, v: (k, put(v, 8, v[:, :, 8].bfloat16().double())), 1), 2, {(1, "V", "rounded", (8,), "bfloat16")}),
    "noise": (at(2, lambda d, k, v: (put(k, 8, k[:, :, 8] + torch.linspace(0.3, 1, 8).double().roll(2)), v), 1), 2, {(1, "K", "unknown", (8,))}),
    "noise in a new row": (at(1, lambda d, k, v: (put(k, 13, 0.1 * k[:, :, 3] + 1), put(v, 13, 0.3 * v[:, :, 2] - 1)), 1), 1, both(1, "unknown", (13,))),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_row_is_told_by_place_and_kind(name):
    spoil, step, expected = WRONG[name]
    seen, result = examined(Kept(REFERENCE, spoil=spoil))
    assert result.differs and seen.step == step and signs(seen) == expected, seen.words
    first = min(expected, key=lambda sign: (sign[0], sign[3], sign[1]))
    assert seen.first[:2] == (step, first[0]) and seen.first[3:] == (first[3][0], first[1])


LAYOUTS = {
    "[B, H, S, D]": Form(),
    "[B, S, H, D]": layout("BSHD"),
    "[S, B, H, D]": layout("SBHD"),
    "[B, H, D, S]": layout("BHDS"),
    "[B, S, H·D]": layout("BSHD", "last"),
    "[B·H, S, D]": layout("BHSD", "first"),
    "pools [blocks, slots, H, D] and a block table": kept.Paged(),
    "a whole buffer": kept.Buffer(),
    "a buffer that was never cleared": kept.Dirty(),
    "a buffer that grows by steps": kept.Steps(),
    "heads for every query": kept.Expanded(),
}


@pytest.mark.parametrize("name", ["zeros", "shifted by one", "batch rows rolled", "exchanged", "heads exchanged"])
@pytest.mark.parametrize("form", LAYOUTS)
def test_a_wrong_row_is_told_in_every_layout(form, name):
    spoil, step, expected = WRONG[name]
    seen, _ = examined(Kept(REFERENCE, LAYOUTS[form], spoil))
    assert seen.step == step and signs(seen) == expected, seen.words
    if form.startswith(("[", "pools")):
        assert seen.layout == form


FORMS = LAYOUTS | {
    "keys before their rotation": kept.Unturned(),
    "scaled keys and values": kept.Scaled(),
    "bfloat16": kept.Rounded(lambda x: x.bfloat16().double()),
    "float16": kept.Rounded(lambda x: x.half().double()),
    "float8_e4m3": kept.Rounded(lambda x: x.to(torch.float8_e4m3fn).double()),
    "int8": kept.Rounded(lambda x: (x / (s := x.abs().amax(-1, keepdim=True) / 127)).round() * s),
    "int8 over all heads": kept.Rounded(lambda x: (x / (s := x.abs().amax((1, 3), keepdim=True) / 127)).round() * s),
    "int4 in groups": kept.Rounded(
        lambda x: (
            ((y := x.unflatten(-1, (2, 4))) / (s := y.abs().amax(-1, keepdim=True) / 7)).round().mul(s).flatten(-2)
        )
    ),
}
BITS = {
    "bfloat16": "bfloat16",
    "float16": "float16",
    "float8_e4m3": "float8_e4m3",
    "int8": "int8, a scale for a row",
    "int8 over all heads": "int8, a scale for a row of all heads",
    "int4 in groups": "int4 in groups of 4",
}
SCRIPTS = ["plain", "one token", "second request", "chunks", "left padding", "beams", "rollback", "shared prefix"]


def no_row_is_wrong(decoder, scripts):
    """The rows of a correct decoder say nothing against it, whichever script is asked; whether any could be read."""
    seen = [examined(decoder, name, calibration=())[0] for name in scripts]
    assert all(x is None or not x.wrong or x.rounded for x in seen), [x.words for x in seen if x]
    return [x for x in seen if x is not None]


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_a_correct_decoder_are_right_in_every_form(form):
    assert no_row_is_wrong(Kept(REFERENCE, FORMS[form]), SCRIPTS)


@pytest.mark.parametrize("form", [kept.Windowed(WINDOW), kept.Ring(WINDOW), Form()], ids=["window", "ring", "all rows"])
def test_rows_that_have_left_the_window_are_not_missed(form):
    form.window = WINDOW
    scripts = ["plain", "one token", "second request", "chunks", "left padding", "beams"]
    assert no_row_is_wrong(Kept(SLIDING, form), scripts)


@pytest.mark.parametrize("reference", [REFERENCE, LEARNED], ids=["rotary", "learned"])
def test_rows_of_a_correct_decoder_are_right_without_a_state_that_is_known_to_be(reference, monkeypatch):
    monkeypatch.setattr("kvaudit.explain.rows.examine.proven", lambda *_: [])
    for form in (*LAYOUTS.values(), *([kept.Unturned()] if reference is REFERENCE else [])):
        assert no_row_is_wrong(Kept(reference, form), ["plain", "left padding"])


def test_keys_that_all_stand_further_harm_nobody():
    for name in ("plain", "left padding", "beams"):
        assert not examined(Kept(REFERENCE, shift=3), name)[0].wrong


@pytest.mark.parametrize("form", BITS)
def test_a_storage_format_is_told_as_rounding(form):
    seen, result = examined(Kept(REFERENCE, FORMS[form]))
    assert result.differs and seen.rounded and {w.detail for w in seen.wrong} == {BITS[form]}, seen.words


def masked(decoder, layer, q, k, v, seen):
    """Wrong: in decode, the oldest row is hidden, in one layer."""
    hidden = seen & (torch.arange(k.shape[2]) > 0) if q.shape[2] == 1 and layer == 1 else seen
    return q, k, v, hidden


def ahead(decoder, layer, q, k, v, seen):
    return q, k, v, seen | True if layer == 0 else seen


def last_only(decoder, layer, q, k, v, seen):
    return q * (1.5 if layer == 2 and q.shape[2] == 1 else 1), k, v, seen


@pytest.mark.parametrize(("attention", "step", "layer"), [(masked, 1, 1), (ahead, 0, 0), (last_only, 1, 2)])
@pytest.mark.parametrize("form", [Form(), kept.Unturned(), kept.Paged()], ids=["usual", "unturned", "paged"])
def test_right_rows_are_said_to_be_right_and_attention_is_pointed_at(attention, step, layer, form):
    seen, _ = examined(Kept(REFERENCE, form, attention=attention))
    assert (seen.wrong, seen.step, seen.attention, seen.ahead) == ((), step, layer, attention is ahead)
    assert "all rows" in seen.words and ("which rows" in seen.words or "mask" in seen.words)


class Elsewhere(Kept):
    """Wrong: a decode step stands `off` positions elsewhere, or feeds the token before."""

    off, late = 0, False

    def positions(self, start, T):
        return super().positions(start, T) + (self.off if T == 1 and start else 0)

    def decode(self, token):
        fed, self.before = (self.before if self.late else token), token
        return super().decode(fed)

    def prefill(self, tokens, lengths=None):
        self.before = tokens[:, -1]
        return super().prefill(tokens, lengths)


@pytest.mark.parametrize("off", [1, -2])
@pytest.mark.parametrize("reference", [REFERENCE, LEARNED], ids=["rotary", "learned"])
def test_a_wrong_position_is_told_over_all_its_rows(reference, off):
    decoder = Elsewhere(reference)
    decoder.off = off
    seen, _ = examined(decoder)
    rows = tuple(range(13, 20))
    rotated, made = {(0, "K", "rotated", rows, f"{off:+d}")}, both(0, "fed", rows, f"position {off:+d}")
    assert seen.step == 1 and signs(seen) == (rotated if reference is REFERENCE else made), seen.words


def test_rows_that_are_not_finite_are_told_though_there_is_an_error():
    spoil = at(1, lambda d, k, v: (k, put(v, 4, torch.nan)), 1)
    report = audit(Kept(REFERENCE, spoil=spoil), REFERENCE)
    assert report.verdict == "error in the decoder" and signs(report.forensics) == {(1, "V", "not finite", (4,))}
    assert "Rows: layer 1, row 4: values are not finite; first after step 1 of plain." in str(report)


def test_a_wrong_token_is_told_by_its_place():
    decoder = Elsewhere(REFERENCE)
    decoder.late = True
    seen, _ = examined(decoder)
    assert signs(seen) == both(0, "fed", tuple(range(13, 20)), "token of row -1"), seen.words


def test_rows_of_an_earlier_request_and_of_a_rejected_draft_are_known():
    class Stale(Kept):
        def prefill(self, tokens, lengths=None):
            old, first = self.rows, self.rows is None
            logits = super().prefill(tokens, lengths)
            if not first:
                self.rows[1] = tuple(torch.cat([x[:, :, :2], y[:, :, 2:]], dim=2) for x, y in zip(old[1], self.rows[1]))
            return logits

    seen, _ = examined(Stale(REFERENCE), "second request")
    assert signs(seen) == both(1, "other", (0, 1), "request"), seen.words

    class Uncropped(Kept):
        def crop(self, n):
            self.n = n

    seen, _ = examined(Uncropped(REFERENCE), "rollback")
    kinds = {(w.layer, w.kind, w.rows, w.of.when) for w in seen.wrong}
    assert {(layer, "extra", (6, 7), "rejected") for layer in range(3)} <= kinds, seen.words


def test_rows_that_did_not_follow_the_beams_are_known():
    class Left(Kept):
        def reorder(self, parents):
            held = self.rows[1]
            super().reorder(parents)
            self.rows[1] = held

    seen, _ = examined(Left(REFERENCE), "beams")
    assert {(w.layer, w.kind, w.of.when) for w in seen.wrong} == {(1, "other", "reorder")}, seen.words


def test_nothing_is_said_of_rows_in_an_unknown_form():
    class Mixed(Form):
        """Each row times a matrix that nobody knows."""

        def shown(self, x, part):
            return x @ torch.linspace(-1, 1, 64, dtype=x.dtype).view(8, 8).sin()

    for form in (Mixed(), layout("BHSD")):
        decoder = Kept(REFERENCE, form, WRONG["zeros"][0])
        if not isinstance(form, Mixed):
            decoder.layers = lambda: [(torch.zeros(3), torch.zeros(3))] * 3
        assert examined(decoder)[0] is None


def test_rows_explain_the_logits_only_where_they_do():
    seen, _ = examined(Kept(REFERENCE, spoil=WRONG["zeros"][0]))
    assert seen.residual < 1e-12 and "gives the decoder's logits" in seen.words
    spoil, step, expected = WRONG["zeros"]
    seen, _ = examined(
        Kept(REFERENCE, spoil=spoil, attention=lambda d, layer, q, k, v, seen: (q * (1 + (d.n > 14)), k, v, seen))
    )
    assert signs(seen) == expected and seen.residual is None
