"""The course's widgets: plain functions that compute and draw, and one thin shell (`Panel`) that adds the controls.

Importing this needs no front end and no ipywidgets; building a panel does. From outside: the names below, and the modules
of one lesson's panel (`masks`, `head_roles`, `blocks`, `depth`, `costs`, `repeats`, `traces`, `fault_table`).
"""

from .. import plots
from .attention import attention_panel, dependences
from .bug_panel import bug_lab
from .bug_view import render
from .bugs import FIVE, TWO, WHOLE, LabReport, run, tolerance_of
from .compare import StepTable, compare
from .depth_panel import depth_panel
from .fault_view import render_fault
from .faults import SAMPLES, FaultReport, fault_panel, run_fault, used
from .findings import Finding, audited
from .heads import head_panel
from .leaks import leaks
from .memory import peak_bytes
from .panel import Choice, Panel, Step, View
from .splits import split_panel
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
    "attention_panel",
    "audited",
    "bug_lab",
    "compare",
    "count_step",
    "dependences",
    "depth_panel",
    "fault_panel",
    "head_panel",
    "leaks",
    "peak_bytes",
    "plots",
    "render",
    "render_fault",
    "render_step",
    "run",
    "run_fault",
    "split_panel",
    "step_panel",
    "tolerance_of",
    "used",
]
