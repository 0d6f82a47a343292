"""Stage 6, the report: what was found as a dataclass, as text, JSON, JUnit XML and a picture."""

from .junit import junit
from .report import VERDICTS, Report, report_on

__all__ = ["VERDICTS", "Report", "junit", "report_on"]
