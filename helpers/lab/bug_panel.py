"""The bug lab's widget: toggles over `run`, `render` and `audited`."""

import asyncio

from ..faults import CATALOGUE
from .bug_still import still
from .bug_view import view
from .bugs import FIVE, TWO, WHOLE, applicable, run
from .findings import audited, render_finding
from .panel import CARD, Choice, Panel, View
from .toggles import Prompts, Toggles, flow

FIRST = (
    *("pos_restart", "pos_zero", "pos_plus1", "sdpa_top_left", "chunk_top_left", "attend_then_append"),
    *("frozen_cache", "decode_row_twice", "refeed_last_prompt_token", "not_reset", "value_is_key"),
)
PROMPTS = {"two records": TWO, "five records": FIVE}
STEPS = {"24": 24, "48": 48, "whole note": WHOLE}
POSITIONS = {"learned": "learned", "RoPE": "rope"}
SEVERAL = "<p>Naming several bugs at once takes some twenty seconds; <code>.finding()</code> of this panel does it.</p>"
PAUSE = 0.5  # seconds without a click before an audit begins


def bug_lab(prompts=None, first=FIRST):
    """The bug lab as a `Panel`; `prompts` maps words to ledger `Example`s, `first` are the faults that are not under "more".

    `lab.set(faults=("pos_restart",), prompt=…, steps=48, positions="rope")` turns its controls, `lab.report()` is the
    `LabReport` of the current setting and `lab.finding()` its audit.
    """
    known = applicable()
    controls = {
        "faults": Toggles(grouped(f for f in known if f in first), grouped(f for f in known if f not in first)),
        "prompt": Prompts(prompts or PROMPTS),
        "steps": Choice("New tokens:", STEPS, start=48),
        "positions": Choice("Positions:", POSITIONS),
    }
    return BugLab("Bug lab", controls, show)


def grouped(ids):
    """`{family: {title: id}}`."""
    groups = {}
    for id in ids:
        groups.setdefault(CATALOGUE[id].family, {})[CATALOGUE[id].title] = id
    return groups


def show(faults, prompt, steps, positions):
    try:
        return view(run(prompt, faults, steps, positions))
    except ValueError as error:
        return View(str(error), "")


class BugLab(Panel):
    """A panel with a second part below: the audit, which follows when nobody has clicked for a moment."""

    waiting = None

    def __init__(self, *given):
        import ipywidgets as widgets

        self.verdict = widgets.HTML()
        super().__init__(*given, still=self.picture)
        toggles, prompt, steps, positions, area = self.box.children
        buttons, own = prompt.children
        self.box.children = (toggles, flow(widgets, [buttons, steps, positions]), own, area, self.verdict)
        self.audit_soon()

    def changed(self, change):
        super().changed(change)
        self.audit_soon()

    def picture(self):
        """PNG of the current setting; of the correct decoder where the setting is refused."""
        try:
            return still(self.report())
        except ValueError:
            return still(run(self.settings()["prompt"]))

    def report(self):
        settings = self.settings()
        return run(settings.pop("prompt"), **settings)

    def finding(self):
        settings = self.settings()
        return audited(settings["faults"], settings["positions"])

    def audit_soon(self):
        """In a kernel the audit waits for a pause; where nothing else is going on it is made at once."""
        if self.waiting is not None:
            self.waiting.cancel()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return self.audit()
        self.verdict.value = page("The audit follows …")
        self.waiting = loop.call_later(PAUSE, self.audit)

    def audit(self):
        try:
            settings = self.settings()
            several = len(settings["faults"]) > 1
            finding = audited(settings["faults"], settings["positions"], explain=not several)
            self.verdict.value = page(render_finding(finding) + (SEVERAL if several else ""))
        except ValueError:
            self.verdict.value = ""  # the sentence above says why there is no such decoder


def page(html):
    return f'<div style="{CARD}" aria-live="polite">{html}</div>'
