"""The course's widgets: plain functions that compute and draw, and one thin shell (`Panel`) that adds the controls.

Importing this needs no front end and no ipywidgets; building a panel does.
"""

from .compare import StepTable, compare, rounding
from .faults import SAMPLES, FaultReport, fault_panel, render_fault, run_fault, used
from .panel import Choice, Panel, Step, View
from .steps import StepCount, count_step, render_step, step_panel

__all__ = [
    "SAMPLES",
    "Choice",
    "FaultReport",
    "Panel",
    "Step",
    "StepCount",
    "StepTable",
    "View",
    "compare",
    "count_step",
    "fault_panel",
    "render_fault",
    "render_step",
    "rounding",
    "run_fault",
    "step_panel",
    "used",
]
