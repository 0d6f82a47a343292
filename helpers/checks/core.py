"""`check`, `hint` and `ask`: look a name up in the notebook, run its checks in order, say what was seen."""

import linecache
import traceback

from .. import progress
from . import guard
from .compare import copied
from .registry import Question, Wrong, find
from .result import Result, Row, Words

STUB = "your code here"  # what an unwritten function raises NotImplementedError with
shown: dict[str, int] = {}  # how many hints of each exercise were asked for in this kernel


def check(name, namespace=None):
    """Grade what `name` is in the notebook: a `Result`, always; it raises nothing and stops no *Run All*.

    `namespace` (a dict) stands in for the notebook's names in tests and scripts.
    """
    try:
        exercise = find(name)
    except ValueError as error:
        return Result(0, f"{name}: {error}", attempted=False)
    try:
        result = grade(exercise, user_names() if namespace is None else namespace)
    except Exception as error:  # noqa: BLE001 (*Run All* must go on; this is a fault of the check, and it says so)
        return Result(0, f"{name}: the check itself failed with {type(error).__name__}: {error}", attempted=False)
    try:
        message = progress.record(name, float(result), exercise.points) if result.attempted else None
    except (OSError, TimeoutError) as error:
        message = f"progress was not kept: {type(error).__name__} ({getattr(error, 'strerror', None) or 'the file is locked'})"
    result.notes += (message,) if message else ()
    return result


def hint(name):
    """The next hint of an exercise; after the last one, the last one again."""
    try:
        exercise = find(name)
    except ValueError as error:
        return Words(error)
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
    answer = names.get(exercise.name)
    if answer is None:
        missing = exercise.name not in names
        return not_attempted(
            exercise, f"there is no {exercise.name} yet: run the cell that defines it" if missing else None
        )
    notes = [f"{name} had been replaced; the check put torch's own back" for name in guard.put_back()]
    unfit = exercise.unfit(answer)
    if unfit:
        return finish(exercise, [Row("FAIL", "can be graded", (f"What was seen: {unfit}.",))], notes, 0)
    return run_checks(exercise, given(answer), names, notes)


def given(answer):
    """A plain function gets copies of its tensors, and torch's state is put back: no call can spoil the next one."""
    if isinstance(answer, type) or not callable(answer):
        return answer

    def call(*args, **options):
        with guard.state_kept():
            return answer(*copied(list(args)), **copied(options))

    call.own = answer  # for the checks that ask whether it writes into its input
    return call


def run_checks(exercise, answer, names, notes):
    rows, points, stopped = [], 0, False
    for test in exercise.checks:
        if stopped:
            rows.append(Row("--", f"{test.title}: not compared"))
            continue
        outcome = guard.run(test.run, answer, names, exercise.seconds)
        if is_stub(outcome.error):
            return not_attempted(exercise, unwritten(exercise, outcome.error))
        if outcome.written:
            notes = [*notes, f"the code printed {outcome.written:,} characters, beginning: {outcome.printed.strip()!r}"]
        failed = outcome.error is not None
        points += 0 if failed else test.points
        stopped = failed and exercise.in_order
        rows.append(failure(exercise, test, outcome.error, names) if failed else success(test, outcome.value))
    return finish(exercise, rows, notes[:2], points)


def success(test, detail):
    return Row("pass", f"{test.title}: {detail}" if detail else test.title)


def failure(exercise, test, error, names):
    seen, looks_like = explain(exercise, error, names)
    said = {"What was seen": seen, "It looks like": looks_like}
    return Row("FAIL", test.title, tuple(f"{label}: {words.rstrip('.')}." for label, words in said.items() if words))


def explain(exercise, error, names):
    """(what was seen, what it looks like) for anything that a check or the learner's code raised."""
    if isinstance(error, Wrong):
        return error.seen, error.looks_like
    place = where(error, names)
    inside = place or ", outside the notebook's code, with what it returned"
    if isinstance(error, guard.TooLong):
        return f"still running after {exercise.seconds:g} seconds{place}", exercise.slow
    if isinstance(error, (guard.Exit, SystemExit)):
        return f"the code asked the kernel to end{place}", "a call of exit(), quit() or sys.exit()"
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return f"the code asked for more memory than a check allows{place}", "a size with a factor too many in it"
    called = f"; the check calls {exercise.call}" if isinstance(error, TypeError) else ""
    words = str(error).strip().split("\n")[0][:300] or "no message"
    return f"{type(error).__name__}{inside}: {words}{called}", None


def where(error, names):
    """The innermost line of the learner's own code on the way to the error; empty if there is none."""
    frames = [(f, line) for f, line in traceback.walk_tb(error.__traceback__) if f.f_globals is names]
    if not frames:
        return ""
    frame, line = frames[-1]
    text = linecache.getline(frame.f_code.co_filename, line).strip()
    return f", in {frame.f_code.co_name}, line {line}" + (f" `{text}`" if text else "")


def is_stub(error):
    """Whether it comes from an unwritten function; torch raises NotImplementedError too, with words of its own."""
    return isinstance(error, NotImplementedError) and str(error) in ("", STUB)


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
