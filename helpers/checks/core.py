"""`check`, `hint` and `ask`: look a name up in the notebook, run its checks in order, say what was seen."""

import linecache
import traceback
from functools import partial

from .. import progress
from . import guard
from .handed import given, held
from .registry import Question, Wrong, find
from .result import Result, Row, Words
from .values import told

GRADED = "can be graded"  # the row of an answer that no check can be asked about
STUB = "your code here"  # what an unwritten function raises NotImplementedError with
shown: dict[str, int] = {}  # how many hints of each exercise were asked for in this kernel


def check(name, namespace=None):
    """Grade what `name` is in the notebook: a `Result`, always; it raises nothing and stops no *Run All*.

    `namespace` (a dict) stands in for the notebook's names in tests and scripts.
    """
    try:
        exercise = find(name)
    except ValueError as error:
        return Result(0, f"{told(name)}: {error}", attempted=False)
    try:
        result = grade(exercise, user_names() if namespace is None else namespace)
    except Exception as error:  # noqa: BLE001 (*Run All* must go on; this is a fault of the check, and it says so)
        words = guard.words(error)
        return Result(0, f"{name}: the check itself failed with {type(error).__name__}: {words}", attempted=False)
    try:
        message = progress.record(name, float(result), exercise.points) if result.attempted else None
    except progress.NotKept as error:
        message = error.once()
    result.notes += (message,) if message else ()
    return result


def hint(name):
    """The next hint of an exercise; after the last one, the last one again."""
    try:
        exercise = find(name)
    except ValueError as error:
        return Words(error)
    if not exercise.hints:
        return Words(f"{name} has no hints")
    shown[name] = min(shown.get(name, 0) + 1, len(exercise.hints))
    return Words(f"hint {shown[name]} of {len(exercise.hints)}: {exercise.hints[shown[name] - 1]}")


def ask(name):
    """The text of a graded question and its options."""
    try:
        question = find(name)
    except ValueError as error:
        return Words(error)
    if not isinstance(question, Question):
        return Words(f"{name} is something to write, not a question: {question.call}")
    return Words("\n".join([question.text, *(f"  {letter}) {words}" for letter, words in question.options.items())]))


def user_names():
    """The notebook's names; outside IPython, those of the running script."""
    try:
        return get_ipython().user_ns
    except NameError:
        return vars(__import__("__main__"))


def grade(exercise, names):
    if names.get(exercise.name) is None:
        missing = exercise.name not in names
        return not_attempted(
            exercise, f"there is no {exercise.name} yet: run the cell that defines it" if missing else None
        )
    notes = [f"{name} had been replaced; the check put torch's own back" for name in guard.put_torch_back()]
    outcome = guard.run(partial(taken_in, exercise), names[exercise.name], names, exercise.seconds)
    if outcome.error is not None:
        return finish(exercise, [failure(exercise, GRADED, outcome, names)], notes, 0)
    answer, unfit = outcome.value
    if unfit:
        return finish(exercise, [Row("FAIL", GRADED, (f"What was seen: {unfit}.",))], notes, 0)
    return run_checks(exercise, answer, names, notes)


def taken_in(exercise, answer):
    """(the answer as the checks are handed it, in words why it cannot be graded)."""
    answer = exercise.read(answer)
    return given(answer), exercise.unfit(answer)


def run_checks(exercise, answer, names, notes):
    rows, points, stopped = [], 0, False
    for test in exercise.checks:
        if stopped:
            rows.append(Row("--", f"{test.title}: not compared"))
            continue
        outcome = guard.run(partial(held, test.run), answer, names, exercise.seconds)
        if is_stub(outcome):
            return not_attempted(exercise, unwritten(exercise, outcome.error))
        if outcome.written:
            notes = [*notes, f"the code printed {outcome.written:,} characters, beginning: {outcome.printed.strip()!r}"]
        failed = outcome.error is not None
        points += 0 if failed else test.points
        stopped = failed and exercise.in_order
        rows.append(failure(exercise, test.title, outcome, names) if failed else success(test, outcome.value))
    return finish(exercise, rows, notes[:2], points)


def success(test, detail):
    return Row("pass", f"{test.title}: {detail}" if detail else test.title)


def failure(exercise, title, outcome, names):
    seen, looks_like = explain(exercise, outcome, names)
    said = {"What was seen": seen, "It looks like": looks_like}
    return Row("FAIL", title, tuple(f"{label}: {words.rstrip('.')}." for label, words in said.items() if words))


def explain(exercise, outcome, names):
    """(what was seen, what it looks like) for anything that a check or the learner's code raised."""
    error, kind = outcome.error, type(outcome.error)
    if kind is Wrong:
        return outcome.words, error.looks_like if type(error.looks_like) is str else None
    place = where(error, names)
    inside = place or ", outside the notebook's code, with what it returned"
    if kind is guard.TooLong:
        return f"still running after {exercise.seconds:g} seconds{place}", exercise.slow
    if kind is guard.Asked:
        return f"the code waits for the keyboard{place}; in a check nobody can type", "a call of input()"
    if kind in (guard.Exit, SystemExit):
        return f"the code asked the kernel to end{place}", "a call of exit(), quit() or sys.exit()"
    if issubclass(kind, MemoryError) or "can't allocate memory" in outcome.words:
        return f"the code asked for more memory than a check allows{place}", "a size with a factor too many in it"
    called = f"; the check calls {exercise.call}" if issubclass(kind, TypeError) else ""
    words = outcome.words.strip().split("\n")[0][:300] or "no message"
    return f"{kind.__name__}{inside}: {words}{called}", None


def where(error, names):
    """The innermost line of the learner's own code on the way to the error; empty if there is none."""
    frames = [(f, line) for f, line in traceback.walk_tb(error.__traceback__) if f.f_globals is names]
    if not frames:
        return ""
    frame, line = frames[-1]
    text = linecache.getline(frame.f_code.co_filename, line).strip()
    return f", in {frame.f_code.co_name}, line {line}" + (f" `{text}`" if text else "")


def is_stub(outcome):
    """Whether it comes from an unwritten function; torch raises NotImplementedError too, with words of its own."""
    return issubclass(type(outcome.error), NotImplementedError) and outcome.words in ("", STUB)


def unwritten(exercise, error):
    frame = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-1]
    owner = frame.f_locals.get("self")  # an unwritten method: its class is what the learner knows by name
    stub = frame.f_code.co_name if owner is None else type(owner).__name__
    return None if stub == exercise.name else f"{stub}, which it uses, is not written yet"


def not_attempted(exercise, reason=None):
    notes = [reason] if reason else []
    return Result(0, f"{exercise.name}: not attempted, 0 of {exercise.points} points", (), notes, attempted=False)


def finish(exercise, rows, notes, points):
    if points < exercise.points and exercise.hints:
        stage = min(shown.get(exercise.name, 0) + 1, len(exercise.hints))
        notes = [*notes, f'hint {stage} of {len(exercise.hints)}: hint("{exercise.name}")']
    return Result(points, f"{exercise.name}: {points} of {exercise.points} points", rows, notes)
