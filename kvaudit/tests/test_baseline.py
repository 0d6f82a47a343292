"""Known deviations: what a baseline has passes; what is new, larger or otherwise fails; what is gone is told."""

import json
from xml.etree import ElementTree

import pytest
import torch

from kvaudit import Report, Tolerance, assert_cached_equals_uncached, audit
from kvaudit.explain import Suspect
from kvaudit.judge import Result
from kvaudit.report import junit, read_baseline
from toy import Toy, ToyDecoder

TOLERANCE = Tolerance(1e-15, 1e-1, 20, 6)


def equal(name="plain"):
    return Result(name, "about", "equal", [1e-15, 1e-15])


def wrong(name="plain", size=2.0, step=1):
    return Result(name, "about", "differs", [0.0] * step + [size], (step, 0))


def broken(name="plain", problem="decode raised KeyError: 7"):
    return Result(name, "about", "error", [0.0], problem=problem)


def skipped(name):
    return Result(name, "about", "not exercised", problem="the decoder has no extend")


def suspected(*faults):
    return [Suspect(fault, "position", "words", "look", 0.0, ("plain",)) for fault in faults]


def report(verdict, *results, suspects=(), summary="summary"):
    largest = max((gap for r in results for gap in r.diffs), default=0.0)
    return Report(verdict, summary, "float32", largest, TOLERANCE, list(results), suspected(*suspects))


RIGHT = report("equal", equal(), equal("beams"), skipped("chunks"))
NAMED = report("differs", wrong(), wrong("beams"), skipped("chunks"), suspects=("pos_minus1", "pos_zero"))
UNNAMED = report("unknown pattern", wrong(), wrong("beams", step=2), skipped("chunks"))
ERROR = report("error in the decoder", broken(), equal("beams"))
NATIVE_ERROR = report("error in the decoder", equal(), summary="plain: decode raised KeyError: 7.")
WAVERS = report("not deterministic", equal(), wrong("beams"))


@pytest.fixture
def beside(tmp_path):
    """The second report beside the first as its baseline."""

    def compare(before, now):
        file = tmp_path / "known.json"
        file.write_text(before.to_json(), encoding="utf-8")
        now.baseline = None
        now.beside(read_baseline(file))
        return now, [words.replace(str(file), "{}") for words in (now.baseline.lines() if now.baseline else ())]

    return compare


KNOWN = {
    "right": (RIGHT, RIGHT),
    "named": (NAMED, NAMED),
    "named, from another step on": (NAMED, report("differs", wrong(step=0), wrong("beams", 2), suspects=("pos_zero", "pos_minus1"))),
    "unnamed": (UNNAMED, UNNAMED),
    "error": (ERROR, ERROR),
    "another number in the error": (ERROR, report("error in the decoder", broken(problem="decode raised KeyError: 9"), equal("beams"))),
    "error that the scripts do not show": (NATIVE_ERROR, NATIVE_ERROR),
    "wavers": (WAVERS, report("not deterministic", wrong(size=1e9), equal("beams"))),
    "ten times as large": (UNNAMED, report("unknown pattern", wrong(size=20.0), wrong("beams", step=2))),
    "named in time, and now not": (NAMED, report("unknown pattern", wrong(), wrong("beams"))),
    "not named in time, and now": (report("unknown pattern", wrong(), wrong("beams")), NAMED),
    "quick": (UNNAMED, report("differs", wrong(), wrong("beams", step=2))),
    "rounding": (report("rounding", wrong()), report("rounding", wrong(size=1e3), wrong("beams"))),
}  # fmt: skip


@pytest.mark.parametrize("case", KNOWN)
def test_what_a_baseline_has_passes(case, beside):
    before, now = KNOWN[case]
    now, lines = beside(before, now)
    assert lines == ["as in the baseline {}"] and now.ok and now.exit_code == 0
    assert "\n  baseline     as in the baseline" in str(now) and str(now).startswith("Verdict: " + now.verdict.upper())


NEW = {
    "a deviation where none was": (RIGHT, NAMED, ["the verdict differs (there: equal)", "plain differs by 2.0e+00", "beams differs by 2.0e+00"]),
    "a script more": (UNNAMED, report("unknown pattern", wrong(), wrong("beams", step=2), wrong("chunks", 0.5)), ["chunks differs by 5.0e-01"]),
    "a script that agreed": (report("unknown pattern", wrong(), equal("beams")), UNNAMED, ["beams differs by 2.0e+00"]),
    "a script more, by a known bug": (NAMED, report("differs", *NAMED.results[:2], wrong("chunks"), suspects=("pos_minus1", "pos_zero")), ["chunks differs by 2.0e+00"]),
    "larger": (NAMED, report("differs", wrong(size=20.1), wrong("beams"), suspects=("pos_minus1", "pos_zero")), ["plain differs by 2.0e+01, more than 10 times as much (there: 2.0e+00)"]),
    "another bug": (NAMED, report("differs", wrong(), wrong("beams"), suspects=("gqa_tile",)), ["the suspect gqa_tile"]),
    "a bug more": (NAMED, report("differs", wrong(), wrong("beams"), suspects=("pos_minus1", "pos_zero", "gqa_tile")), ["the suspect gqa_tile"]),
    "another step, no names": (UNNAMED, report("unknown pattern", wrong(step=0), wrong("beams", step=2)), ["plain differs from step 0 on (there: 1)"]),
    "another step, named once": (NAMED, report("unknown pattern", wrong(step=3), wrong("beams")), ["plain differs from step 3 on (there: 1)"]),
    "breaks off": (UNNAMED, report("error in the decoder", broken(), wrong("beams", step=2)), ["the verdict error in the decoder (there: differs)", "plain error (decode raised KeyError) (there: differs)"]),
    "breaks off first": (RIGHT, ERROR, ["the verdict error in the decoder (there: equal)", "plain breaks off: decode raised KeyError"]),
    "breaks off otherwise": (ERROR, report("error in the decoder", broken(problem="decode raised TypeError: x"), equal("beams")), ["plain error (decode raised TypeError) (there: error (decode raised KeyError))"]),
    "breaks off elsewhere": (NATIVE_ERROR, report("error in the decoder", equal(), summary="beams: decode raised KeyError: 7."), ["beams: decode raised KeyError (there: plain: decode raised KeyError)"]),
    "differs and no longer breaks off": (ERROR, report("differs", wrong(), equal("beams")), ["the verdict differs (there: error in the decoder)", "plain differs (there: error (decode raised KeyError))"]),
    "wavers": (UNNAMED, report("not deterministic", *UNNAMED.results), ["the verdict not deterministic (there: differs)"]),
}  # fmt: skip


@pytest.mark.parametrize("case", NEW)
def test_what_is_new_fails_and_is_told(case, beside):
    before, now, words = NEW[case]
    now, lines = beside(before, now)
    assert [line for line in lines if "gone" not in line] == [f"new, not in {{}}: {line}" for line in words]
    assert now.exit_code == 1 and not now.ok


GONE = {
    "all of it": (NAMED, RIGHT, "plain (agrees now), beams (agrees now)"),
    "one script": (UNNAMED, report("unknown pattern", wrong(), equal("beams")), "beams (agrees now)"),
    "the first script": (UNNAMED, report("unknown pattern", equal(), wrong("beams", step=2)), "plain (agrees now)"),
    "what is not run": (UNNAMED, report("unknown pattern", wrong(), skipped("beams")), "beams (not run now)"),
    "one bug of two": (NAMED, report("differs", wrong(), wrong("beams"), suspects=("pos_zero",)), "the suspect pos_minus1"),
    "a verdict without a script": (report("not deterministic", equal()), RIGHT, "the verdict not deterministic"),
    "now it is rounding": (NAMED, report("rounding", wrong(), wrong("beams")), "plain (agrees now), beams (agrees now)"),
}  # fmt: skip


@pytest.mark.parametrize("case", GONE)
def test_what_is_gone_passes_and_is_told(case, beside):
    before, now, words = GONE[case]
    now, lines = beside(before, now)
    assert lines == [f"gone since {{}}: {words}; the baseline can be made anew"] and now.exit_code == 0


def test_new_and_gone_are_both_told(beside):
    now, lines = beside(UNNAMED, report("unknown pattern", equal(), wrong("beams", step=2), wrong("chunks")))
    assert [line.partition(" ")[0] for line in lines] == ["new,", "gone"] and now.exit_code == 1
    assert now.to_dict()["baseline"] == {
        "file": now.baseline.file, "new": ["chunks differs by 2.0e+00"], "gone": ["plain (agrees now)"],
    }  # fmt: skip


@pytest.mark.parametrize("verdict", ["inconclusive", "no answer in time", "the oracles disagree"])
def test_what_could_not_be_judged_is_not_compared(verdict, beside):
    now, lines = beside(NAMED, report(verdict, wrong(), wrong("beams")))
    assert now.baseline is None and lines == [] and now.exit_code == 2


def test_a_report_beside_a_baseline_is_one_itself(beside):
    now, _ = beside(UNNAMED, NAMED)
    again, lines = beside(now, NAMED)
    assert lines == ["as in the baseline {}"]


def test_in_junit_fails_what_is_new(beside):
    now, _ = beside(UNNAMED, report("unknown pattern", wrong(), wrong("beams", step=2), wrong("chunks")))
    cases = {c.attrib["name"]: c.find("failure") for c in junit(now, "m").getroot()}
    assert [name for name, failure in cases.items() if failure is not None] == ["chunks", "verdict"]
    assert "new, not in" in cases["verdict"].attrib["message"]
    known, _ = beside(UNNAMED, UNNAMED)
    assert not list(junit(known, "m").iter("failure")) and ElementTree.tostring(junit(known, "m").getroot())


BAD = {
    "no file": (None, "could not be read: No such file or directory"),
    "no text": (b"\xff\xfe\x00", "is no JSON"),
    "no JSON": (b"{", "is no JSON"),
    "a list": (b"[]", "it has no schema; make it anew"),
    "another JSON": (b'{"verdict": "equal"}', "it has no schema; make it anew"),
    "a later schema": (b'{"schema": 99}', "its schema is 99, this version reads 1; make it anew"),
    "half a report": (b'{"schema": 1, "verdict": "differs"}', "is no whole report (KeyError: 'scripts')"),
    "an unknown verdict": (b'{"schema": 1, "verdict": "fine", "scripts": []}', "is no whole report (KeyError: 'fine')"),
    "strange scripts": (b'{"schema": 1, "verdict": "differs", "scripts": [3]}', "is no whole report (TypeError"),
    "not judged": (report("inconclusive").to_json().encode(), "nothing was judged, the verdict is 'inconclusive'"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_baseline_is_explained_before_anything_is_run(case, tmp_path):
    content, words = BAD[case]
    file = tmp_path / "known.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=f"the baseline {file} ") as raised:
        audit(None, baseline=file)  # no decoder: that would be told by a TypeError
    assert words in str(raised.value)


class FirstLost(ToyDecoder):
    """Wrong: in decode the sequence loses its first token."""

    def decode(self, token):
        return self.prefill(torch.cat([self.tokens[:, 1:], token[:, None]], dim=1))


def test_an_audit_beside_its_own_report_passes(tmp_path):
    toy, file = Toy(), tmp_path / "known.json"
    file.write_text(audit(FirstLost(toy), toy, explain=False).to_json(), encoding="utf-8")
    assert "as in the baseline" in str(assert_cached_equals_uncached(FirstLost(toy), toy, explain=False, baseline=file))
    told = json.loads(file.read_text(encoding="utf-8"))
    told["scripts"][0] |= {"status": "equal", "first": None}
    file.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(AssertionError, match=r"new, not in .*known.json: plain differs by"):
        assert_cached_equals_uncached(FirstLost(toy), toy, explain=False, baseline=str(file))
