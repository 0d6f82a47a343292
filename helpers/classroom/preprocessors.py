"""Three steps of nbgrader's in the course's own way: how answers are taken out, checks put back, and cells run."""

import os
import subprocess
import tempfile
import time

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell, new_output
from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from nbgrader.utils import is_grade
from traitlets import Bool, Dict, Integer

from ..checks import EXERCISES
from ..checks.stubs import learner_source
from ..progress import VARIABLE

SETUP = "--IPKernelApp.exec_lines=import helpers.classroom.kernel as _k; _k.prepare(); del _k"
MOST_STOPPERS = 5  # cells that end the kernel or never end, after which the rest of a notebook is not run
MOST_CHARACTERS = 200_000  # that one cell may write; what comes after is dropped


class StubSolutions(NbGraderPreprocessor):
    """The learner's version of each cell, as in notebooks/: with a stub that *Run All* survives."""

    def preprocess_cell(self, cell, resources, index):
        if cell.cell_type == "code":
            cell.source = learner_source(cell.source)
        return cell, resources


class PutBack(NbGraderPreprocessor):
    """Each graded cell once, with the metadata that it was released with.

    Of copies the last counts; a check that was deleted, or lost its metadata, is run at the end. The cells' sources are
    put back by nbgrader's own next step.
    """

    def preprocess(self, nb, resources):
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            released = gradebook.find_notebook(about["notebook"], about["assignment"])
            points = {cell.name: cell.max_score for cell in released.grade_cells}
            sources = {cell.name: cell for cell in released.source_cells}
        found = set()
        for cell in reversed(nb.cells):
            name = grade_id(cell)
            cell.metadata.pop("nbgrader", None)
            if name in sources and name not in found:
                found.add(name)
                self.restore(cell, sources[name], points.get(name))
        for name in (name for name in sources if name in points and name not in found):
            self.log.warning("the check %s is missing; it is run at the end", name)
            nb.cells.append(new_code_cell(sources[name].source))
            self.restore(nb.cells[-1], sources[name], points[name])
        return nb, resources

    def restore(self, cell, source, points):
        graded = points is not None
        if graded:
            cell.metadata.clear()  # a tag such as skip-execution too
        kind = {"schema_version": 3, "grade_id": source.name, "grade": graded, "solution": not graded, "task": False}
        kind |= {"locked": source.locked, "checksum": source.checksum, "cell_type": source.cell_type}
        cell.metadata["nbgrader"] = kind | ({"points": points} if graded else {})


def grade_id(cell):
    """The name under which a cell was released, from metadata in which a learner may have written anything."""
    about = cell.metadata.get("nbgrader")
    name = about.get("grade_id") if isinstance(about, dict) else None
    return name if isinstance(name, str) else None


class TimeOver(Exception):
    """A notebook has run as long as one may."""


class RunToTheEnd(Execute):
    """Runs every cell. One that ends the kernel, or never ends, gets an error, and all others are run without it.

    Each submission has a progress file of its own, and a time after which the rest of it is not run. A check that gives
    no number gets an error too: nbgrader would take it for full points, and one above the maximum would end the run.
    """

    interrupt_on_timeout = Bool(False)
    error_on_timeout = Dict({})
    timeout = Integer(60, help="seconds that one cell may run; a check has its own time besides").tag(config=True)
    notebook_timeout = Integer(600, help="seconds that one notebook may run, all tries together").tag(config=True)

    def preprocess(self, nb, resources, km=None):
        self.stoppers = {}  # index of a cell -> why it is not run
        self.outputs = {}  # index of a cell that came to its end, in any try -> its outputs
        self.end = time.monotonic() + self.notebook_timeout
        self.extra_arguments, self.timeout_func, self.shutdown_kernel = [SETUP], self.seconds, "immediate"
        while True:
            self.at = None
            try:
                with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as self.progress:
                    nb, resources = super().preprocess(nb, resources, km)
                break
            except (DeadKernelError, CellTimeoutError, TimeOver) as error:
                if self.at is None:
                    raise  # the kernel does not even start
                if time.monotonic() >= self.end:
                    self.cut(nb)
                    break
                self.leave_out(self.at, isinstance(error, DeadKernelError))
        for cell in filter(is_grade, nb.cells):
            if not has_points(cell):
                cell.outputs = failed("NoPoints", "the check gave no number of points")
        return nb, resources

    def seconds(self, cell):
        """How long a cell may run: no longer than its notebook."""
        self.limit = self.timeout + check_seconds(cell)
        return max(1, min(self.limit, self.end - time.monotonic()))

    def leave_out(self, index, died):
        words = "it ended the kernel" if died else f"it was still running after {self.limit:g} seconds"
        self.stoppers[index] = f"not run: {words}"
        self.outputs.pop(index, None)
        self.log.warning("cell %d is %s; starting again without it", index + 1, self.stoppers[index])

    def cut(self, nb):
        """What was run counts, in an earlier try too; all else gets an error."""
        words = f"not run: the notebook's {self.notebook_timeout} seconds were over"
        code = {index: cell for index, cell in enumerate(nb.cells) if cell.cell_type == "code"}
        if left := code.keys() - self.outputs.keys() - self.stoppers.keys():
            self.log.warning("cell %d is %s, as are all after it", min(left) + 1, words)
        for index, cell in code.items():
            why = self.stoppers.get(index, words)
            cell.outputs = self.outputs[index] if index in self.outputs else failed("NotRun", why)

    def setup_kernel(self, **options):
        threads = os.environ.get("OMP_NUM_THREADS", "1")  # the models are small, and many submissions may run at once
        env = os.environ | {VARIABLE: self.progress, "OMP_NUM_THREADS": threads}
        return super().setup_kernel(env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)

    def preprocess_cell(self, cell, resources, index):
        why = self.stoppers.get(index)
        if len(self.stoppers) >= MOST_STOPPERS and index > max(self.stoppers):
            why = f"not run: {len(self.stoppers)} cells before it had to be stopped"
        if why and cell.cell_type == "code":
            cell.outputs = failed("NotRun", why)
            return cell, resources
        self.at, self.written = index, 0
        if time.monotonic() >= self.end:
            raise TimeOver
        cell, resources = super().preprocess_cell(cell, resources, index)
        self.outputs[index] = cell.get("outputs")
        return cell, resources

    def output(self, outs, msg, display_id, cell_index):
        self.written += len(str(msg["content"]))
        if self.written > MOST_CHARACTERS and msg["msg_type"] == "stream":
            return None
        return super().output(outs, msg, display_id, cell_index)


def check_seconds(cell):
    """Seconds that a check takes at the most, when the answer never ends; 0 for a cell that checks nothing."""
    exercise = EXERCISES.get((grade_id(cell) or "").removesuffix("-check")) if is_grade(cell) else None
    return exercise.seconds * (1 if exercise.in_order else len(exercise.checks)) if exercise else 0


def has_points(cell):
    """Whether a check cell's output is one that nbgrader reads right: an error, or a number from 0 to its points."""
    output = next((out for out in cell.outputs if out.output_type in ("execute_result", "error")), None)
    try:
        return output.output_type == "error" or 0 <= float(output.data["text/plain"]) <= cell.metadata.nbgrader.points
    except (AttributeError, KeyError, ValueError):
        return False


def failed(name, words):
    return [new_output("error", ename=name, evalue=words, traceback=[f"{name}: {words}"])]
