"""A report as JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree

from .report import Report


def junit(report: Report, name: str) -> ElementTree.ElementTree:
    """The report as JUnit XML: one test case a script, and one for the verdict (which also fails by itself).

    Beside a baseline, a script fails where it has something new.
    """
    known = report.baseline
    suite = ElementTree.Element("testsuite", name=f"cached equals uncached: {name}", time=f"{report.seconds:.3f}")
    for r in report.results:
        case = ElementTree.SubElement(suite, "testcase", classname=f"audit.{name}", name=r.name)
        if r.status == "not exercised":
            ElementTree.SubElement(case, "skipped", message=clean(r.problem))
        elif not report.ok and r.status in ("differs", "error") and (known is None or r.name in known.new):
            step, row = r.first or (0, 0)
            words = r.problem or f"differs by {max(r.diffs):.3g} from step {step}, row {row} on: {r.about}"
            ElementTree.SubElement(case, "failure", message=clean(words)).text = clean(report)
    case = ElementTree.SubElement(suite, "testcase", classname=f"audit.{name}", name="verdict")
    if not report.ok:
        suspects = "".join(f" Suspect: {s.words} (look at: {s.look})." for s in report.suspects)
        news = "".join(f" {words}." for words in known.lines()) if known is not None else ""
        ElementTree.SubElement(case, "failure", message=clean(f"{report.verdict}: {report.summary}{suspects}{news}"))
    ElementTree.SubElement(case, "system-out").text = clean(report)
    for kind, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
        suite.set(kind, str(len(list(suite.iter(tag)))))
    suite.set("errors", "0")
    return ElementTree.ElementTree(suite)


def clean(text: object) -> str:
    """Without the control characters that XML does not allow."""
    return "".join(c for c in str(text) if c >= " " or c in "\n\t")
