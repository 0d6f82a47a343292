"""Each stage of the line by itself, on a hand-made one before it."""

import pytest
import torch

from kvaudit import Report, Tolerance, audit, measure
from kvaudit.bugs import BUGS
from kvaudit.explain import explained
from kvaudit.judge import Judged, judge
from kvaudit.judge.verdict import Settled
from kvaudit.plan import Call, Plan, Script, plan_for
from kvaudit.play import Played, Run, play
from kvaudit.play.history import expected
from kvaudit.play.run import Trace
from kvaudit.report import report_on
from kvaudit.subject import Side, Subject, Uncached, subject_of
from kvaudit.witness import catalogue
from kvaudit.witness.grammar import points
from toy import POSITIONS, Toy, ToyDecoder, V

TOY = Toy()
IDS = torch.arange(12).view(2, 6) % V


def subject(decoder=ToyDecoder, toy=TOY):
    side = Side(Uncached.of(toy), lambda: decoder(toy))
    return Subject(side, side)


def script(*calls):
    return Script("by hand", "two calls", calls or (Call("prefill", IDS[:, :3]), Call("decode", IDS[:, 3])))


class PositionLost(ToyDecoder):
    """Wrong: in decode the sequence loses its first token."""

    def decode(self, token):
        return self.prefill(torch.cat([self.tokens[:, 1:], token[:, None]], dim=1))


def test_subject_takes_a_decoder_and_its_reference_in_both_dtypes():
    made = subject_of(ToyDecoder(TOY), TOY)
    assert made.native is made.exact and made.room == POSITIONS and made.last_position is None
    assert made.native.build() is not made.native.build()
    single = Toy()
    single.dtype = torch.float32  # it says so, and has no double(): there is no float64 side
    assert subject_of(ToyDecoder(single), single).exact is None


def test_subject_measures_a_reference_once_and_not_a_copy_of_it():
    toy = Toy()
    assert Uncached.of(toy) is Uncached.of(toy)
    other = Toy()
    vars(other).update(vars(toy))  # a copy brings along what was kept on the original
    assert Uncached.of(other) is not Uncached.of(toy)


def test_plan_is_sized_for_the_subject_and_refuses_what_cannot_be_fed():
    plan = plan_for(subject())
    assert plan.plain.name == "plain" and len(plan.scripts) == 8
    longest = max(sum(c.value.shape[-1] for c in s.calls if c.kind == "prefill") for s in plan)
    assert longest <= POSITIONS
    with pytest.raises(ValueError, match="outside the vocabulary of 11"):
        plan_for(subject(), prompt=torch.tensor([[V]]))


def test_play_lays_each_answer_beside_the_uncached_one():
    plan = Plan(subject(PositionLost), (script(), script(Call("prefill", IDS), Call("crop", 2))))
    right, left_out = play(plan).native
    assert right.diffs[0] < 1e-12 and right.diffs[1] > 0.1 and [tuple(g.shape) for g in right.gaps] == [(2,), (2,)]
    assert left_out.left_out == "the decoder has no crop"


def run(*gaps, problem=None):
    """A script's run by hand: logits that are off by `gaps`, one a step."""
    right = expected(Uncached.of(TOY), script())[: len(gaps)]
    return Run(script(), Trace([x + gap for x, gap in zip(right, gaps)], [None] * len(gaps), problem), right)


def judged(*runs):
    return judge(Played(Plan(subject(), tuple(r.script for r in runs)), list(runs), list(runs)))


def test_judge_decides_by_logits_alone():
    assert judged(run(0, 0)).settled.verdict == "equal"
    found = judged(run(0, 0), run(0, 1.0))
    assert found.settled.verdict == "differs" and found.settled.first == ("by hand", 1, 0)
    assert judged(run(0, problem="decode raised KeyError: 0")).settled.verdict == "error in the decoder"


def test_explain_names_a_witness_that_gives_the_very_logits():
    class OneTooEarly(ToyDecoder):
        def decode(self, token):
            self.tokens = torch.cat([self.tokens, token[:, None]], dim=1)
            T = self.tokens.shape[1]
            steps = [i - (i >= self.prompt) for i in range(T)]  # the rows of decode stand one position early
            mask = torch.ones(T, T, dtype=torch.bool).tril()
            from kvaudit.witness import attend

            return TOY.forward(self.tokens, torch.tensor(steps), lambda _, *qkvs: attend(*qkvs, mask))[:, -1]

        def prefill(self, tokens):
            self.prompt = tokens.shape[1]
            return super().prefill(tokens)

    found = explained(judge(play(plan_for(subject(OneTooEarly)))))
    assert found.verdict == "differs" and found.suspects[0].fault == "pos_minus1"
    assert found.suspects[0].look == BUGS["pos_minus1"].look and "prefill(ids(" in found.test
    assert not explained(judge(play(plan_for(subject(OneTooEarly)))), deep=False).suspects


def test_report_tells_what_was_found_and_nothing_else():
    by_hand = Settled("equal", "All 1 scripts agree.", Tolerance(1e-15, 1e-1, 20, 6), [])
    plan = Plan(subject(), (script(),))
    found = explained(Judged(Played(plan, []), plan.subject.native, by_hand, independence="by hand"), deep=False)
    report = report_on(found, seconds=2.0)
    assert isinstance(report, Report) and report.ok and report.tolerance.value == pytest.approx(1e-8)
    assert str(report).startswith("Verdict: EQUAL. All 1 scripts agree.\n  decided by   float64; tolerance 1.0e-08")
    assert "oracle       by hand" in str(report) and str(report).endswith("2.0 s")


def test_every_bug_that_can_be_named_has_its_words_and_one_family():
    everything = Toy()
    everything.rotary, everything.window, everything.shared_heads = True, 5, True
    known = [*catalogue(Uncached.of(everything), [20]), *points(Uncached.of(everything), [20])]
    assert {h.fault for h in known} == set(BUGS)
    assert {h.fault: h.family for h in known} == {id: bug.family for id, bug in BUGS.items()}
    assert all(bug.look and bug.does.endswith(".") for bug in BUGS.values())


def test_a_plain_function_is_enough_for_a_verdict():
    report = audit(ToyDecoder(TOY), TOY.logits)
    assert report.verdict == "equal" and not report.injected
    report = audit(PositionLost(TOY), TOY.logits)
    assert report.verdict == "differs" and not report.suspects and report.first[1] == 1
    with pytest.raises(TypeError, match=r"must return logits \[B, T, V\]"):
        audit(ToyDecoder(TOY), lambda tokens: TOY.logits(tokens)[:, -1])
    with pytest.raises(TypeError, match="has no block_size, dtype, device"):
        audit(ToyDecoder(TOY), type("Half", (), {"logits": None, "vocab_size": 3})())


def test_what_was_measured_is_measured_once():
    toy = Toy()
    audit(ToyDecoder(toy), toy, explain=False)
    assert Uncached.of(toy).memory["tolerance"] == measure(toy)
