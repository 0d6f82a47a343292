"""Lesson 05: how many rows the cache holds, and a chat that goes on after its last token was emitted."""

from ..compare import inputs_kept, own
from ..registry import Exercise, Wrong, kind
from ..small import BLOCK, Case, follow

rows_expected = Exercise(
    name="rows_expected",
    lesson="05",
    call="rows_expected(prompt_length, emitted, window=None) -> int",
    minutes=5,
    difficulty="easy",
    hints=(
        "Count what was fed, not what was chosen. Which token of an answer has not been fed yet?",
        "After the prefill the prompt's rows are there. The first new token is chosen from its logits, and costs no row.",
        "Each further token needs the one before it fed. A window keeps the newest rows, at most that many.",
    ),
)


def rows_are_counted(answer, cases):
    for prompt, emitted, window, right in cases:
        got = answer(prompt, emitted) if window is None else answer(prompt, emitted, window)
        if isinstance(got, bool) or not isinstance(got, (int, float)) or got != right:
            shown = got if isinstance(got, (int, float)) else kind(got)
            where = f"a prompt of {prompt}, {emitted} emitted" + (f", window {window}" if window else "")
            raise Wrong(f"{where}: got {shown}, expected {right}", miscounted(got, prompt, emitted, window))


def miscounted(got, prompt, emitted, window):
    """The mistake in a wrong count, or None. With a window, the first that fits the number."""
    if emitted == 0 and got == prompt - 1:
        return "one subtracted although no token is emitted yet"
    if emitted and got == min(prompt + emitted, window or prompt + emitted):
        return "counting the tokens emitted; the last of them has not been fed"
    if window and got == prompt + max(emitted - 1, 0) > window:
        return "a window that is left out"
    return "the window's size, though fewer tokens were fed" if window and got == window else None


@rows_expected.check("after the prefill, before and after the first token is emitted")
def _(answer):
    rows_are_counted(answer, [(6, 0, None, 6), (6, 1, None, 6), (1, 0, None, 1), (1, 1, None, 1)])


@rows_expected.check("after more tokens")
def _(answer):
    rows_are_counted(answer, [(6, 2, None, 7), (1, 5, None, 5), (7, 24, None, 30)])


@rows_expected.check("with a window")
def _(answer):
    rows_are_counted(answer, [(6, 1, 8, 6), (6, 3, 8, 8), (6, 4, 8, 8), (20, 0, 8, 8), (20, 9, 8, 8)])


continue_chat = Exercise(
    name="continue_chat",
    lesson="05",
    call="continue_chat(model, past, last_token, new_ids) -> (logits [B, V], past)",
    minutes=10,
    difficulty="medium",
    hints=(
        "Which token of the last answer has no row in the past yet?",
        "What the model must be fed is one token longer than new_ids.",
        "One chunk: the last token [B, 1] in front of the new ids [B, T], on top of the past.",
    ),
)


def call_chat(answer, case):
    last, new = case.pieces[-1][:, 0], case.pieces[-1][:, 1:]
    out = answer(case.model, case.past(), last, new)
    rows = out[1][0][0].shape[2] if looks_like_past(out) else None
    meaning = {
        case.S - 1: "the last token is not fed: it was emitted, but it has no row yet",
        case.S + 1: "the last token is fed twice",
    }
    if rows in meaning:
        n = case.S - case.T
        raise Wrong(
            f"the layers hold {rows} rows; expected {n} cached + 1 + {case.T - 1} new ids = {case.S}", meaning[rows]
        )
    return out


def looks_like_past(out):
    try:
        return isinstance(out, tuple) and out[1][0][0].dim() == 4
    except (TypeError, IndexError, AttributeError):
        return False


follow(continue_chat, "7 rows cached, then 5 new ids", lambda: Case(6, 1, 6), call_chat)
follow(continue_chat, "1 new id", lambda: Case(6, 2), call_chat)
follow(continue_chat, "up to the last position", lambda: Case(6, BLOCK - 6), call_chat)


@continue_chat.check("the past that it was given is unchanged")
def _(answer):
    case = Case(6, 1, 6)
    piece = case.pieces[-1]
    inputs_kept(lambda past: own(answer)(case.model, past, piece[:, 0], piece[:, 1:]), ("past",), case.past())
