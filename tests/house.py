"""The import graph in figures: `python -m tests.house [PACKAGE …]` (helpers and kvaudit without).

A module's floor is the longest chain of imports below it; modules that import each other in a circle share one.
"""

import sys

import grimp


def graph_of(package, squashed=False):
    """`{module: modules of the same package that it imports}`; `squashed` takes each folder as one."""
    graph = grimp.build_graph(package, cache_dir=None)
    if squashed:
        for child in sorted(graph.find_children(package)):
            graph.squash_module(child)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circles(arrows):
    """`{module: the modules that it reaches and that reach it, itself included}`."""
    reached = {}
    for module in arrows:
        seen, open_ = set(), [module]
        while open_:
            new = arrows[open_.pop()] - seen
            seen |= new
            open_ += new
        reached[module] = seen
    return {
        module: {module} | {other for other in seen if module in reached[other]} for module, seen in reached.items()
    }


def floors(arrows):
    """`{module: its floor}`, from 1."""
    together, found = circles(arrows), {}

    def floor(module):
        if module not in found:
            below = set().union(*(arrows[one] for one in together[module])) - together[module]
            found[module] = 1 + max(map(floor, below), default=0)
        return found[module]

    return {module: floor(module) for module in arrows}


def figures(package, squashed=False):
    """Modules, floors and arrows of `package`, and how many modules stand in circles."""
    arrows = graph_of(package, squashed)
    circled = sum(len(group) > 1 for group in circles(arrows).values())
    return len(arrows), max(floors(arrows).values()), sum(map(len, arrows.values())), circled


def main(packages):
    for package in packages or ("helpers", "kvaudit"):
        for words, squashed in (("all modules", False), ("each folder as one", True)):
            modules, storeys, arrows, circled = figures(package, squashed)
            print(f"{package}, {words}: {modules} modules, {storeys} floors, {arrows} arrows, {circled} in circles")


if __name__ == "__main__":
    main(sys.argv[1:])
