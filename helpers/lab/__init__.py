"""The course's widgets: plain functions that compute and draw, and one thin shell (`Panel`) that adds the controls.

Importing this needs no front end and no ipywidgets; building a panel does.
"""

from .bug_panel import bug_lab
from .bug_view import render
from .bugs import FIVE, TWO, WHOLE, LabReport, run
from .compare import StepTable, compare
from .fault_view import render_fault
from .faults import SAMPLES, FaultReport, fault_panel, run_fault, used
from .findings import Finding, audited
from .panel import Choice, Panel, Step, View
from .steps import StepCount, count_step, render_step, step_panel

__all__ = [
    "FIVE",
    "SAMPLES",
    "TWO",
    "WHOLE",
    "Choice",
    "FaultReport",
    "Finding",
    "LabReport",
    "Panel",
    "Step",
    "StepCount",
    "StepTable",
    "View",
    "audited",
    "bug_lab",
    "compare",
    "count_step",
    "fault_panel",
    "render",
    "render_fault",
    "render_step",
    "run",
    "run_fault",
    "step_panel",
    "used",
]
