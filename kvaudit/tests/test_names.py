"""Names: what is only rounding, what ties, what breaks off where a bug would, and the grammar's points one by one."""

import pytest
import torch

from kvaudit import audit
from kvaudit.bugs import BUGS
from kvaudit.explain.replay import Case, until
from kvaudit.judge import judge
from kvaudit.plan import Call, Script, plan_for
from kvaudit.play import play
from kvaudit.subject import Uncached, subject_of
from kvaudit.witness import Witness, catalogue
from kvaudit.witness.grammar import points
from kvaudit.witness.hypotheses.storage import FORMATS, PARTS, rounding
from test_reference import Cached, Shared
from toy import Toy

TOY = Toy()


def of(rules, reference=TOY):
    """A decoder that has these changed rules."""
    return Witness(Uncached.of(reference), rules)


STORED = {h.words: h for h in rounding()}


SOME = list(STORED)[: 2 * len(FORMATS) : 2] + list(STORED)[1:6:2] + list(STORED)[2 * len(FORMATS) :: 17]


@pytest.mark.parametrize("words", SOME)
def test_a_right_decoder_that_stores_in_fewer_bits_is_rounding(words):
    report = audit(of(STORED[words].rules), TOY)
    if "float32" in words or "groups of" in words:  # below what is told apart; or no group of that size in a row of 8
        assert report.exit_code == 0, report
    else:
        assert report.verdict == "rounding" and not report.suspects, report
        told, truth = (text.split(" stored as ")[1].split(",")[0] for text in (report.summary.split(":")[0], words))
        assert told == truth.replace("per call", "per head and call")  # the toy has one head


def test_every_format_has_its_words_and_parts():
    assert len(list(rounding())) == 2 * len(FORMATS) * len(PARTS)
    assert all(f"stored_{name}" in BUGS for name in FORMATS)


class KeysToQuarters(Cached):
    """A storage format that nobody uses: no known one gives these numbers."""

    def attention(self, layer, q, k, v, scale):
        return super().attention(layer, q, (k * 4).round() / 4, v, scale)


def test_an_unknown_format_is_called_unknown_and_not_rounding():
    report = audit(KeysToQuarters(TOY), TOY)
    assert report.verdict == "unknown pattern" and "stored" not in report.summary


def test_in_float64_a_gap_far_above_rounding_is_never_inconclusive():
    class Slightly(Cached):
        def decode(self, token):
            return super().decode(token) * (1 + 1e-5)  # smaller than any injected fault, ten digits above rounding

    report = audit(Slightly(TOY), TOY)
    assert report.verdict == "unknown pattern" and report.max_abs_diff < report.tolerance.fault / 3


POINTS = points(Uncached.of(Shared(None)), [20])


def shown(h, reference):
    return audit(of(h.rules, reference), reference, name_seconds=60)


@pytest.mark.parametrize("n", range(0, len(POINTS), 23))
def test_a_point_of_the_grammar_is_named_in_its_family_or_does_nothing(n):
    """Every 23rd point as a decoder of its own: the first suspect is that family, or another way to say the same."""
    h, reference = POINTS[n], Shared(None)
    report = shown(h, reference)
    if report.exit_code == 0 or report.verdict == "error in the decoder":
        return
    assert report.suspects, f"{h.words}: {report.verdict}"
    assert report.suspects[0].residual < 1e-9


def test_points_are_said_shortest_first_and_each_once():
    costs = [h.cost for h in POINTS]
    assert costs == sorted(costs) and len({(h.fault, h.words, tuple(h.rules)) for h in POINTS}) > 0.95 * len(POINTS)
    assert len(POINTS) > 500


def test_a_point_that_cannot_have_acted_is_not_tried():
    script = Script("by hand", "", (Call("prefill"), Call("decode"), Call("crop"), Call("decode")))
    assert list(until(script, 1)) == [["prefill"], ["prefill", "decode"]]
    second = next(h for h in POINTS if h.words.startswith("from the second request on"))
    cropped = next(h for h in POINTS if h.words.startswith("after a rollback"))
    assert not any(second.holds(events) for events in until(script, 2))
    assert any(cropped.holds(events) for events in until(script, 2))
    assert not any(cropped.holds(events) for events in until(script, 1))


class PositionsOfBeams(Cached):
    """After a change of beams the positions are one too large: no other script has one."""

    late = 0

    def prefill(self, tokens):
        self.late = 0
        return super().prefill(tokens)

    def reorder(self, parents):
        self.rows = {layer: tuple(x[parents] for x in rows) for layer, rows in self.rows.items()}
        self.late = 1

    def feed(self, tokens):
        start = (self.rows[0][0].shape[2] if self.rows else 0) + self.late
        return self.reference.forward(tokens, torch.arange(tokens.shape[1]) + start, self.attention)[:, -1]


def test_a_bug_of_one_kind_of_call_is_named_by_the_grammar():
    report = audit(PositionsOfBeams(TOY), TOY)
    assert [r.name for r in report.results if r.differs] == ["beams"]
    assert report.suspects[0].fault == "pos_plus1" and "after a change of beams" in report.suspects[0].words


class OnlySteps(Cached):
    """Right but in its first step, and without calls that would tell two bugs apart."""

    extend = None

    def decode(self, token):
        start = 0
        return self.reference.forward(token[:, None], torch.arange(1) + start, self.attention)[:, -1]


def test_a_tie_is_told_with_the_call_that_would_separate_it():
    report = audit(OnlySteps(TOY), TOY)
    assert report.suspects[0].fault == "pos_zero"
    rivals = {s.fault for s in report.suspects if s.where == report.suspects[0].where}
    told = [note for note in report.notes if "give the same logits in every script" in note]
    assert bool(told) == (len(rivals) > 1)


class MaskOfThePrompt(Cached):
    """The mask is made for the prompt and never grows: the first step breaks off."""

    def prefill(self, tokens):
        self.T = tokens.shape[1]
        return super().prefill(tokens)

    def attention(self, layer, q, k, v, scale):
        mixed = super().attention(layer, q, k, v, scale)
        if self.rows[layer][0].shape[2] != self.T:
            raise RuntimeError(f"The size of tensor a ({self.T}) must match the size of tensor b")
        return mixed


class RowsTwice(Cached):
    """The step's row is stored twice, and a mask of the right length then breaks off."""

    def attention(self, layer, q, k, v, scale):
        if layer in self.rows and self.rows[layer][0].shape[2] > self.seen:
            raise RuntimeError("The size of tensor a (5) must match the size of tensor b (4)")
        return super().attention(layer, q, k, v, scale)


def test_a_decoder_that_breaks_off_is_told_which_bugs_would_go_wrong_there():
    report = audit(MaskOfThePrompt(TOY), TOY)
    assert report.verdict == "error in the decoder" and not report.suspects
    hints = [note for note in report.notes if "would go wrong at this very call" in note]
    assert 0 < len(hints) <= 3
    family = {BUGS[note.rpartition("[")[2].rstrip("]")].family for note in hints}
    assert family <= {"append", "duplicate", "stale", "layers", "mask", "preallocated", "capacity", "position"}


def test_nothing_is_accepted_that_leaves_a_third_of_what_it_explains():
    class Off(Cached):
        def decode(self, token):
            return super().decode(token) + 1e-6

    who = subject_of(Off(TOY), TOY)
    judged = judge(play(plan_for(who)))
    ran = {r.name: r for r in judged.settled.results if r.logits}
    scripts = [s for s in judged.played.plan if s.name in ran]
    generous = Case(judged.side.reference, scripts, ran, tolerance=1e-3)  # a thousand times what is to be explained
    assert not any(generous.explain(h)[0] for h in catalogue(judged.side.reference))
