"""A lesson's source cells: what the learner sees instead of a solution, and the metadata that follows from a cell.

In a source, a solution stands between `### BEGIN SOLUTION` and `### END SOLUTION`. Inside a function the learner's
version raises NotImplementedError there; at cell level it sets the names to None, so that *Run All* goes on.
"""

import ast
import io
import re
import tokenize

from nbformat import NotebookNode

from .core import STUB
from .registry import EXERCISES, find

SOLUTION = re.compile(r"(?ms)^(?P<indent>[ \t]*)### BEGIN SOLUTION\n(?P<body>.*?)^[ \t]*### END SOLUTION[ \t]*$")
CHECK = re.compile(r"(?m)^check\(([\"'])(?P<name>\w+)\1\)\s*\Z")
MARKERS = ("BEGIN SOLUTION", "END SOLUTION")


class BuildError(Exception):
    """A lesson cannot be built; the message names the notebook and the cell."""


def learner_source(source):
    """A cell's source with its solutions replaced by stubs."""
    text = SOLUTION.sub(lambda region: stub(source, region), source)
    left = [marker for marker in MARKERS if marker in text]
    if left:
        raise BuildError(f"{left[0]!r} without its counterpart")
    return text


def stub(source, region):
    if region["indent"]:
        if isinstance(enclosing(source, region), ast.ClassDef):
            raise BuildError(
                "a solution stands directly in a class: its stub would raise at once; put it into the methods"
            )
        return f'{region["indent"]}raise NotImplementedError("{STUB}")'
    names = top_level_names(region["body"])
    if not names:
        raise BuildError("a solution at cell level assigns no name: there is nothing for the learner to fill in")
    return "\n".join(f"{name} = None{comment}" for name, comment in names.items())


def enclosing(source, region):
    """The innermost function or class around the region."""
    line = source.count("\n", 0, region.start()) + 1
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    around = [n for n in ast.walk(ast.parse(source)) if isinstance(n, kinds) and n.lineno < line <= n.end_lineno + 1]
    return max(around, key=lambda node: node.lineno, default=None)


def top_level_names(body):
    """The names that cell-level code binds, each with the comment behind its assignment."""
    comments, names = line_comments(body), {}
    for node in ast.parse(body).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[node.name] = ""
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                found = (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
                names |= dict.fromkeys(found, comments.get(node.end_lineno, ""))
    return names


def line_comments(source):
    """{line number: its comment, with the blanks before it}."""
    lines, found = source.splitlines(), {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            found[line] = lines[line - 1][len(lines[line - 1][:column].rstrip()) :]
    return found


def annotate(cell):
    """Write the metadata that follows from a cell's source: nbgrader's roles, points, the tag `exercise`."""
    asked = CHECK.search(cell.source)
    if asked:
        exercise = find(asked["name"])
        role = {"grade_id": f"{exercise.name}-check", "grade": True, "locked": True, "points": exercise.points}
    elif SOLUTION.search(cell.source):
        role = {"grade_id": written_name(cell.source), "grade": False, "locked": False}
    else:
        cell.metadata.pop("nbgrader", None)
        return
    kind = {"schema_version": 3, "solution": not role["grade"], "task": False}
    cell.metadata["nbgrader"] = NotebookNode(kind | role)
    if kind["solution"]:
        cell.metadata["tags"] = sorted({*cell.metadata.get("tags", []), "exercise"})
    else:
        cell.metadata["editable"] = cell.metadata["deletable"] = False


def written_name(source):
    """What an exercise cell is about: its first name that has a check, or else its first name."""
    learner_source(source)  # raises in words where there is nothing to fill in
    names = top_level_names(SOLUTION.sub(lambda r: f"{r['indent']}..." if r["indent"] else r["body"], source))
    return next((name for name in names if name in EXERCISES), next(iter(names)))
