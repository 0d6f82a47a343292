"""Stage 6, the report: what was found as a dataclass, as text, JSON, JUnit XML, a picture and a page; beside a baseline."""

from .baseline import read_baseline
from .junit import junit
from .report import Report, report_on
from .verdicts import VERDICTS

__all__ = ["VERDICTS", "Report", "junit", "read_baseline", "report_on"]
