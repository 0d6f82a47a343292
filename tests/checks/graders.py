"""What the graders' tests share: a learner's code becomes a namespace, and its result is compared with what it must be.

A lesson's test file holds its tables and names them; the tests come with the base class:

    class TestLesson01(LessonGraders):
        lesson, right, wrong, alternatives = "01", RIGHT, WRONG, ALTERNATIVES

`right` maps each exercise to a right answer (code), `alternatives` to a list of other right answers (code), and `wrong`
to rows (old, new, message): what stands once in the right answer, what stands there instead, what the learner must be
told. A case is named after its exercise and its row's number, as in `[causal_mask-22]`. A check that no row can fail
alone gets a test of its own: name its exercise in `failed_elsewhere`.
"""

import linecache
from functools import cache

import pytest

from helpers import progress
from helpers.checks import EXERCISES, check
from helpers.checks.registry import Question

NONSENSE = ("None", "3", "lambda *args, **options: None", "torch.zeros", "print", "type")


def names(code, **given):
    """The names that a learner's cell leaves behind; its lines can be quoted in messages, as in a notebook."""
    linecache.cache["<learner>"] = (len(code), None, code.splitlines(keepends=True), "<learner>")
    space = {"__name__": "__main__", **given}
    exec(compile(code, "<learner>", "exec"), space)
    return space


def graded(exercise, code):
    return check(exercise, names(code))


@cache
def graded_once(exercise, code):
    """For a table's rows, which several tests look at."""
    return graded(exercise, code)


def numbered(table):
    """A test case for each row of `{exercise: [row, …]}`: (exercise, what the row holds)."""
    return [pytest.param((name, *row), id=f"{name}-{i}") for name, rows in table.items() for i, row in enumerate(rows)]


class LessonGraders:
    """The graders of one lesson are code under test. Subclasses name `lesson` ("01") and its three tables."""

    lesson: str
    right: dict[str, str]
    wrong: dict[str, list[tuple[str, str, str]]]
    alternatives: dict[str, list[str]]
    failed_elsewhere: tuple[str, ...] = ()  # exercises whose checks a test of their own shows to fail

    def pytest_generate_tests(self, metafunc):
        """Gives each test the rows, exercises or questions that its argument names."""
        written, questions = self.exercises()
        answers = {name: [(code,) for code in (right, *self.alternatives[name])] for name, right in self.right.items()}
        cases = {
            "mutation": numbered(self.wrong),
            "answer": numbered(answers),
            "exercise": written,
            "mutated": [name for name in written if name not in self.failed_elsewhere],
            "nonsense": NONSENSE,
            "question": questions,
        }
        for (
            argument,
            values,
        ) in cases.items():  # in this order in every process: the workers compare their lists of tests
            if argument in metafunc.fixturenames:
                metafunc.parametrize(argument, values)

    def exercises(self):
        """(names of what is written, names of what is answered) in this lesson."""
        lesson = {name: e for name, e in EXERCISES.items() if e.lesson == self.lesson}
        questions = [name for name, e in lesson.items() if isinstance(e, Question)]
        return [name for name in lesson if name not in questions], questions

    @pytest.fixture(autouse=True)
    def progress_apart(self, monkeypatch, tmp_path):
        monkeypatch.setenv(progress.VARIABLE, str(tmp_path))

    def test_wrong_answers_fail_with_their_message(self, mutation):
        name, old, new, message = mutation
        assert self.right[name].count(old) == 1, "the mutation must change one place"
        result = graded_once(name, self.right[name].replace(old, new))
        assert float(result) < EXERCISES[name].points and message in str(result), str(result)

    def test_right_answers_pass_however_they_are_written(self, answer):
        name, code = answer
        result = graded(name, code)
        assert float(result) == EXERCISES[name].points, str(result)
        assert {row.mark for row in result.rows} == {"pass"} and result.notes == (), str(result)

    def test_the_tables_cover_every_exercise(self):
        assert set(self.wrong) == set(self.right) == set(self.alternatives) == set(self.exercises()[0])
        assert min(map(len, self.wrong.values())) >= 6 and min(map(len, self.alternatives.values())) >= 3

    def test_each_check_is_failed_by_some_wrong_answer(self, mutated):
        """A check that no wrong answer fails might be one that cannot fail."""
        results = [graded_once(mutated, self.right[mutated].replace(old, new)) for old, new, _ in self.wrong[mutated]]
        failed = {row.text for result in results for row in result.rows if row.mark == "FAIL"}
        assert not {check.title for check in EXERCISES[mutated].checks} - failed

    def test_nonsense_gets_no_full_points_and_stops_nothing(self, exercise, nonsense):
        result = graded(exercise, f"import torch\n{exercise} = {nonsense}")
        assert float(result) < EXERCISES[exercise].points and str(result), str(result)
        assert "check itself failed" not in str(result), str(result)

    def test_every_exercise_has_three_hints_a_size_and_says_how_it_is_called(self, exercise):
        exercise = EXERCISES[exercise]
        assert len(exercise.hints) == 3 and exercise.minutes > 0
        assert exercise.call.startswith((exercise.name, "{"))  # an answer of several values is shown as a dict
        assert exercise.difficulty in ("easy", "medium", "hard")

    def test_questions_have_one_right_answer_and_a_reason_for_each(self, question):
        asked = EXERCISES[question]
        answers = list(asked.options) or list(asked.reasons)
        assert set(answers) == set(asked.reasons) and len(answers) >= 3 and asked.hints
        points = {answer: float(graded(question, f"{question} = {answer!r}")) for answer in answers}
        assert points == {answer: float(answer == asked.right) for answer in answers}
