"""A Sphinx extension: formulas become MathML while the page is built, so none is loaded or run to show them."""

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging

CONVERTER = LatexToMathML()
LOG = logging.getLogger(__name__)


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(writer, node):
    writer.body.append(mathml(node, displaystyle=False))
    raise nodes.SkipNode


def block(writer, node):
    writer.body.append(writer.starttag(node, "div", CLASS="formula"))
    writer.body.append(mathml(node, displaystyle=True) + "</div>\n")
    raise nodes.SkipNode


def mathml(node, displaystyle):
    """The formula's MathML; a formula that cannot be read is a warning with its place, and the build stops on those."""
    try:
        return CONVERTER.convert_with_local_state(node.astext(), displaystyle=displaystyle)
    except LatexError as error:
        LOG.warning("formula %r: %s", node.astext(), error, location=node)
        return ""
