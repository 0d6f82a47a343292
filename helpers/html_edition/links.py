"""Follows every link of a folder of HTML pages: the files, the anchors and the pictures that they name must exist.

Links to other hosts are left alone, but nothing may be *loaded* from one: the edition is read without a network.
Standard library only.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

NAMES = {"href", "src", "poster", "data"}  # attributes that name something
VISITED = {"a", "area"}  # elements whose link is followed by the reader, not loaded with the page


class Page(HTMLParser):
    """One parsed page: its anchors (`ids`) and its `links`, as (line, element, address)."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            elif name in NAMES and not (tag == "link" and ("rel", "canonical") in attrs):
                self.links.append((self.getpos()[0], tag, value or ""))


def problems(folder):
    """Each broken link of the pages under `folder`, in words, as `page:line: ...`."""
    folder = Path(folder).resolve()
    paths = [
        path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts
    ]  # there: the theme's templates
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    if not pages:
        return [f"{folder} holds no pages"]
    found = []
    for path, page in pages.items():
        for line, tag, address in page.links:
            wrong = fault(path, tag, address, pages)
            if wrong:
                found.append(f"{path.relative_to(folder).as_posix()}:{line}: <{tag}> {address or '(empty)'}: {wrong}")
    return found


def fault(path, tag, address, pages):
    """What is wrong with one link of the page at `path`; None where it holds."""
    parts = urlsplit(address)
    if parts.scheme in ("http", "https") or parts.netloc:
        return None if tag in VISITED else "is loaded from another host"
    if parts.scheme:  # data:, mailto:, javascript:
        return None
    if not address:
        return "names nothing"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file() or not target.stat().st_size:
        return "there is no such file, or it is empty"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].ids:
        return f"{target.name} has no anchor {anchor!r}"
    return None


def report(folder):
    """Print what is broken, or how much holds; the exit code, 1 where a link is broken."""
    found = problems(folder)
    if found:
        print("\n".join(found), f"{len(found)} broken links", sep="\n", file=sys.stderr)
        return 1
    print(f"every link holds; open {Path(folder) / 'index.html'}")
    return 0
