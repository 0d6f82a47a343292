"""Submissions of lesson 00 as learners and their mishaps make them, each with the points that it must get."""

import copy
import json

import nbformat
from nbformat.v4 import new_code_cell

LESSON = "00_start_here"
FULL = {"newest_row": 3, "answer_00_1": 1, "answer_00_2": 1, "answer_00_3": 1}
NONE = dict.fromkeys(FULL, 0)
ROW = "def newest_row(x):\n    "
LOUD = f"import sys, warnings\n{ROW}warnings.warn('careful')\n    print('well', file=sys.stderr)\n    return x[:, -1]"
DEAF = "while True:\n    try:\n        print('x' * 1000)\n    except BaseException:\n        pass"


class Draft:
    """A learner's copy of the released notebook, with the right answers filled in."""

    def __init__(self, released, solved):
        self.nb = copy.deepcopy(released)
        answers = {cell.id: cell.source for cell in solved.cells}
        for cell in self.nb.cells:
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = answers[cell.id]

    def at(self, name):
        cells = enumerate(self.nb.cells)
        return next(i for i, cell in cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)

    def cell(self, name):
        return self.nb.cells[self.at(name)]

    def write(self, name, source):
        self.cell(name).source = source

    def delete(self, name):
        del self.nb.cells[self.at(name)]

    def add(self, source, before="newest_row"):
        self.nb.cells.insert(self.at(before), new_code_cell(source))

    def copy(self, name, source, before):
        """A copy as JupyterLab pastes it: with the metadata of the original, another id."""
        cell = copy.deepcopy(self.cell(name))
        cell.id, cell.source = f"copy-of-{cell.id}"[:64], source
        self.nb.cells.insert(self.at(before), cell)


CASES = {}  # name -> (change, points)


def case(**points):
    """Decorator: file a change of a right submission, and the points that it then has (FULL, where not said otherwise)."""

    def add(change):
        CASES[change.__name__] = change, FULL | points
        return change

    return add


@case()
def right(draft):
    pass


@case()
def right_otherwise(draft):
    draft.write("newest_row", f"{ROW}return x.select(1, -1)")
    draft.write("answer_00_2", "answer_00_2 = ' B '")


@case()
def right_but_writes_to_stderr(draft):
    draft.write("newest_row", LOUD)


@case(newest_row=1, answer_00_1=0)
def partly_right(draft):
    draft.write("newest_row", f"{ROW}return x[:, 4]")
    draft.write("answer_00_1", "answer_00_1 = 5")


@case(**NONE)
def wrong(draft):
    draft.write("newest_row", f"{ROW}return x[-1]")
    for number, answer in enumerate(("5", "'a'", "'c'"), 1):
        draft.write(f"answer_00_{number}", f"answer_00_{number} = {answer}")


@case(newest_row=0)
def raises(draft):
    draft.write("newest_row", f"{ROW}return x[:, -1] / 0 + nothing")
    draft.add("raise RuntimeError('in a cell of its own')")


@case(newest_row=0)
def syntax_error(draft):
    draft.write("newest_row", "def newest_row(x:\n    return")


@case(newest_row=0)
def loops_in_a_function(draft):
    draft.write("newest_row", f"{ROW}while True:\n        pass")


@case()
def loops_in_a_cell(draft):
    draft.add("while True:\n    pass")


@case()
def loops_deaf_and_printing(draft):
    draft.add(DEAF)


@case()
def exits(draft):
    draft.add("exit()")
    draft.add("quit()")
    draft.add("import sys\nsys.exit(3)")


@case(newest_row=0)
def exits_in_a_function(draft):
    draft.write("newest_row", f"{ROW}exit()")


@case()
def kernel_dies(draft):
    draft.add("import os\nos._exit(1)")


@case(newest_row=0)
def kernel_dies_in_a_function(draft):
    draft.write("newest_row", f"import os\n{ROW}os._exit(1)")


@case(answer_00_3=0)
def kernel_dies_again_and_again(draft):
    for _ in range(6):
        draft.add("import os\nos._exit(1)", before="answer_00_3")


@case()
def asks_for_eight_gigabytes(draft):
    draft.add("import torch\nhuge = torch.ones(2**31)")
    draft.add("if 'huge' in globals():\n    del newest_row", before="newest_row-check")  # it must have been refused


@case()
def check_deleted(draft):
    draft.delete("newest_row-check")
    draft.delete("answer_00_3-check")


@case(newest_row=0, answer_00_2=0)
def answers_deleted(draft):
    draft.delete("newest_row")
    draft.delete("answer_00_2")
    draft.delete("answer_00_2-check")


@case(**NONE)
def everything_deleted(draft):
    draft.nb.cells = []


@case()
def answer_copied(draft):
    draft.copy("newest_row", f"{ROW}return x[0]", before="newest_row")
    draft.copy("newest_row-check", 'check("newest_row")', before="newest_row")


@case(answer_00_1=0)
def copied_below_with_another_answer(draft):
    draft.copy("answer_00_1", "answer_00_1 = 5", before="answer_00_1-check")


@case()
def cells_added(draft):
    draft.add("x = 3\nx", before="answer_00_1")
    draft.add("%%time\nprint('a cell of my own')", before="answer_00_2-check")
    draft.nb.cells.append(new_code_cell("del newest_row, check"))


@case(newest_row=0)
def check_replaced_by_a_number(draft):
    draft.write("newest_row", f"{ROW}return x")
    draft.write("newest_row-check", "3.0")


@case(newest_row=0)
def check_of_their_own(draft):
    draft.write("newest_row", f"{ROW}return x")
    draft.add("check = lambda name: 3.0", before="newest_row-check")


@case(**NONE)
def check_replaced_in_the_package(draft):
    draft.add("import helpers.checks\nhelpers.checks.check = lambda name: 99.0")


@case()
def check_marked_not_to_be_run(draft):
    draft.cell("newest_row-check").metadata["tags"] = ["skip-execution"]


@case(newest_row=1)
def more_points_written_in(draft):
    draft.write("newest_row", f"{ROW}return x[:, 4]")
    draft.cell("newest_row-check").metadata.nbgrader.update(points=300, solution=True)


@case()
def metadata_lost(draft):
    for cell in draft.nb.cells:
        cell.metadata = {}


@case()
def metadata_of_nonsense(draft):
    cells = [draft.cell(name) for name in ("newest_row", "newest_row-check", "answer_00_1")]
    cells[0].metadata["nbgrader"] = {"grade": True, "grade_id": ["a"], "points": "many"}
    cells[1].metadata["nbgrader"] = "yes"
    cells[2].metadata["nbgrader"] = {"grade_id": "not-released", "solution": True}


@case()
def check_turned_into_text(draft):
    cell = draft.cell("newest_row-check")
    cell.cell_type = "markdown"
    del cell["outputs"], cell["execution_count"]


@case(**NONE)
def no_output_wanted(draft):
    draft.nb.cells.insert(0, new_code_cell("%config InteractiveShell.ast_node_interactivity = 'none'"))


@case()
def another_kernel(draft):
    draft.nb.metadata["kernelspec"] = {"name": "my-env", "display_name": "mine", "language": "python"}


def text(name, released, solved):
    """The file that is handed in: a case's notebook as JSON."""
    draft = Draft(released, solved)
    CASES[name][0](draft)
    return nbformat.writes(draft.nb) if draft.nb.cells else json.dumps(draft.nb)
