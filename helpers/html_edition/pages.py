"""From a solved notebook to its page: each exercise as the learner meets it, then its solution, folded.

Outputs stay as they were stored. A widget becomes its still picture, and what it says in words stands below.
"""

import copy
import re
from html import escape

import nbformat

from ..checks.stubs import SOLUTION, learner_source

WIDGET = "application/vnd.jupyter.widget-view+json"
LESSON = re.compile(r'href="(\d\d_\w+)\.ipynb')
STILL = "A still picture of a widget: open the lesson in Jupyter to use its controls."
INDEX = """# KV Cache by Hand

Decoding with a KV cache, from scratch: build the cache, prove at every step that it changes nothing, break it on
purpose, and learn to say from the numbers which way it was broken.

This is the reading edition: every lesson with its results and with its solutions, which stay folded until you open
them. It is no substitute for writing the cache yourself. To do that, clone the repository and run `python -m helpers lab`.

{lessons}

```{{toctree}}
:hidden:

{names}
```
"""


def write_pages(sources, folder):
    """Write a page for each notebook path in `sources`, and the index, into the new `folder`."""
    folder.mkdir(parents=True)
    notebooks = {path.stem: page(nbformat.read(path, as_version=4)) for path in sources}
    for name, notebook in notebooks.items():
        nbformat.write(notebook, folder / f"{name}.ipynb")
    lessons = "\n".join(entry(name, notebook.cells[0].source) for name, notebook in notebooks.items())
    text = INDEX.format(lessons=lessons, names="\n".join(notebooks))
    (folder / "index.md").write_text(text, encoding="utf-8")


def entry(name, opening):
    """A lesson's line of the index, from its first cell: the title as a link, then time and difficulty."""
    title = re.match(r"# (.+)", opening)[1]
    effort = re.search(r"(?m)^\*(.+?)\*", opening)
    return f"- [{title}]({name}.ipynb)" + (f": {effort[1].rstrip('.').lower()}" if effort else "")


def page(notebook):
    """The notebook as it is printed; the one given is left as it is."""
    notebook = copy.deepcopy(notebook)
    notebook.cells = [shown for cell in notebook.cells for shown in printed(cell)]
    return notebook


def printed(cell):
    """The cells that stand for one cell of the notebook."""
    if cell.cell_type != "code":
        return [cell]
    cell.outputs = [shown for output in cell.outputs for shown in pictured(output)]
    described = [output.data["text/plain"] for output in cell.outputs if "image/png" in output.get("data", {})]
    if described:
        cell.metadata["mystnb"] = {"image": {"alt": described[0]}}
    return exercise(cell) if SOLUTION.search(cell.source) else [cell]


def exercise(cell):
    """What the learner is given, and the whole cell with the solution in it, folded."""
    given = nbformat.v4.new_code_cell(learner_source(cell.source), id=f"{cell.id}-given"[:64])
    cell.source = SOLUTION.sub(lambda region: region["body"].rstrip(), cell.source)
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-input"]
    cell.metadata.setdefault("mystnb", {})["code_prompt_show"] = "Show the solution"
    cell.metadata["mystnb"]["code_prompt_hide"] = "Hide the solution"
    return [given, cell]


def pictured(output):
    """An output for a page without a kernel: no live widget, and links to lessons lead to their pages."""
    data = output.get("data", {})
    if "text/html" in data:
        data["text/html"] = LESSON.sub(r'href="\1.html', data["text/html"])
    if data.pop(WIDGET, None) is None:
        return [output]
    words = f'<p class="still">{escape(data["text/plain"])} <em>{STILL}</em></p>'
    still = nbformat.v4.new_output("display_data", {"text/html": words, "text/plain": STILL})
    return [output, still] if "image/png" in data else [still]
