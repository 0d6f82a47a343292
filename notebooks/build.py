"""Builds the lessons: notebooks/solutions/NN_name.ipynb (the source) -> notebooks/NN_name.ipynb (what learners open).

    python notebooks/build.py [NAME ...]     rebuild all lessons, or those whose file name begins with NAME
    python notebooks/build.py --check        run nothing; fail if a lesson is not what its source would give

Only the files in solutions/ are edited by hand. There, a solution stands between `### BEGIN SOLUTION` and
`### END SOLUTION`: inside a function the learner's version raises NotImplementedError instead, at cell level it sets the
names to None, so that *Run All* goes on. A cell whose last line is `check("name")` gets its points from helpers/checks.
Both versions are executed and stored with real outputs; rebuilding without a change writes the same bytes.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from helpers.checks.stubs import BuildError, annotate, learner_source
from helpers.progress import VARIABLE

HERE = Path(__file__).resolve().parent
KERNEL = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
WIDGET = "application/vnd.jupyter.widget-view+json"


def prepare(notebook, change):
    """Apply `change(cell)` to each code cell; an error names the cell."""
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            try:
                change(cell)
            except (BuildError, ValueError, SyntaxError) as error:
                raise BuildError(f"cell {number} ({cell.id}): {error}") from error
    ids = [cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata]
    twice = {name for name in ids if ids.count(name) > 1}
    if twice:
        raise BuildError(f"{', '.join(sorted(twice))}: more than one cell; a name is written once and checked once")
    return notebook


def learner_version(source):
    """The learner's notebook, not executed, from an annotated source."""
    notebook = nbformat.from_dict(source)

    def change(cell):
        cell.source, cell.outputs, cell.execution_count = learner_source(cell.source), [], None

    return prepare(notebook, change)


def execute(notebook, cwd):
    """Run all cells with an empty progress folder and keep nothing in the file that changes from run to run."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    options = {"record_timing": False, "coalesce_streams": True, "timeout": 300, "kernel_name": "python3"}
    with tempfile.TemporaryDirectory() as folder:
        os.environ[VARIABLE] = folder  # the kernel inherits it
        try:
            NotebookClient(notebook, resources={"metadata": {"path": str(cwd)}}, **options).execute()
        except CellExecutionError as error:
            raise BuildError(raised(notebook, error)) from None
        finally:
            del os.environ[VARIABLE]
    notebook.metadata = nbformat.from_dict(KERNEL)  # also drops the widgets' state
    steady_widget_ids(notebook)
    return notebook


def raised(notebook, error):
    for number, cell in enumerate(notebook.cells):
        if any(
            out.output_type == "error" for out in cell.get("outputs", [])
        ) and "raises-exception" not in cell.metadata.get("tags", []):
            return f"cell {number} ({cell.id}) raised {error.ename}: {error.evalue}\n\n{cell.source}"
    return str(error)


def steady_widget_ids(notebook):
    ids = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            view = output.get("data", {}).get(WIDGET)
            if view:
                view["model_id"] = ids.setdefault(view["model_id"], f"widget-{len(ids)}")


def build(source):
    """Execute one source and its learner's version; writes both, or nothing if a cell raised."""
    solved = prepare(nbformat.read(source, as_version=4), annotate)
    learner = execute(learner_version(solved), source.parents[1])
    solved = execute(solved, source.parent)
    for path, notebook in ((source, solved), (source.parents[1] / source.name, learner)):
        nbformat.validate(notebook)
        nbformat.write(notebook, path)


def stale(source):
    """In words, each way in which a stored lesson is not what its source would give. Runs nothing."""
    target = source.parents[1] / source.name
    if not target.exists():
        return ["has no learner's version"]
    stored = nbformat.read(source, as_version=4)
    solved = prepare(nbformat.read(source, as_version=4), annotate)
    pairs = [
        ("source", stored, solved),
        ("learner's version", nbformat.read(target, as_version=4), learner_version(solved)),
    ]
    problems = []
    for which, is_there, expected in pairs:
        if is_there.metadata != KERNEL or list(map(fixed, is_there.cells)) != list(map(fixed, expected.cells)):
            problems.append(f"{which}: sources, ids or metadata differ from what a build would write")
        unrun = [cell.id for cell in is_there.cells if cell.cell_type == "code" and not cell.execution_count]
        if unrun:
            problems.append(f"{which}: never executed: {', '.join(unrun)}")
    return problems


def fixed(cell):
    return cell.id, cell.cell_type, cell.source, cell.metadata


def sources(names, here=HERE):
    """The source notebooks whose file names begin with one of `names` (all without); BuildError if one fits none."""
    found = sorted((here / "solutions").glob("*.ipynb"))
    for name in names:
        if not any(path.name.startswith(Path(name).name) for path in found):
            raise BuildError(f"no notebook in {(here / 'solutions').name}/ begins with {name!r}")
    return [path for path in found if not names or any(path.name.startswith(Path(n).name) for n in names)]


def orphans(here=HERE):
    return [path.name for path in sorted(here.glob("*.ipynb")) if not (here / "solutions" / path.name).exists()]


def check(names, here=HERE):
    problems = [f"{name}: has no source in solutions/" for name in orphans(here)]
    for source in sources(names, here):
        try:
            problems += [f"{source.name}: {problem}" for problem in stale(source)]
        except BuildError as error:
            problems.append(f"{source.name}: {error}")
    return problems


def main(arguments=None, here=HERE):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of file names, as in 05")
    parser.add_argument("--check", action="store_true", help="run nothing, report what is stale")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            problems = check(options.names, here)
            print(
                "\n".join(problems) or "all lessons are as their sources say",
                file=sys.stderr if problems else sys.stdout,
            )
            return 1 if problems else 0
        for source in sources(options.names, here):
            print(f"building {source.name}", flush=True)
            try:
                build(source)
            except BuildError as error:
                raise BuildError(f"{source.name}: {error}") from error
    except BuildError as error:
        print(f"not built: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
