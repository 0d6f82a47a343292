"""What nbgrader is told about the course: `nbgrader_config.py` in a course folder calls `configure`."""

from .preprocessors import PutBack, RunToTheEnd, StubSolutions

CONFIG = '''\
"""Settings of this nbgrader course. Your own go below the call; the lessons' own come from it."""

from helpers.classroom.settings import configure

c = get_config()  # noqa: F821 (nbgrader defines it)
configure(c)

# The seconds that one cell may run (a check has its own time besides), and one notebook: raise them on a slow machine.
# c.RunToTheEnd.timeout = 60
# c.RunToTheEnd.notebook_timeout = 600
'''


def configure(c):
    """Fill nbgrader's configuration `c`: our stubs, checks put back, execution that no submission can stop."""
    from nbgrader.converters import Autograde, GenerateAssignment

    c.CourseDirectory.course_id = "kv-cache-by-hand"
    c.GenerateAssignment.preprocessors = replaced(GenerateAssignment.preprocessors, ClearSolutions=StubSolutions)
    c.Autograde.sanitize_preprocessors = replaced(Autograde.sanitize_preprocessors, DeduplicateIds=PutBack)
    c.Autograde.autograde_preprocessors = replaced(Autograde.autograde_preprocessors, Execute=RunToTheEnd)


def replaced(trait, **others):
    """A converter's default preprocessors with some exchanged by name; KeyError if nbgrader no longer has one."""
    ours = dict(others)
    steps = [ours.pop(step.__name__, step) for step in trait.default()]
    if ours:
        raise KeyError(f"this nbgrader has no step {', '.join(ours)}; the course was written for nbgrader 0.9")
    return steps
