"""Lesson 05: the learner's functions in the form of a decoder, which the full audit judges."""

from ...audit import audit
from ...figures import approx
from ..compare import parts, tensor_like
from ..registry import Exercise, Wrong, kind
from ..small import ROW_AXES, L, small_model, some_tokens

decoder = Exercise(
    name="Decoder",
    lesson="05",
    call="Decoder(model), with prefill(tokens), extend(tokens), decode(token) and layers()",
    minutes=10,
    difficulty="medium",
    hints=(
        "Three calls feed tokens. Which one begins with nothing, and which go on from what is there?",
        "Each of them keeps the past that comes back and returns the logits of the last position, [B, V].",
        "prefill: forward_with_past without a past. extend: with self.past. decode is extend with one token, [B, 1].",
    ),
)
CALLS = {"prefill": slice(0, 6), "extend": slice(6, 8), "decode": slice(8, 9)}  # which tokens each call is fed


def fed(answer):
    """(decoder, logits of each call) after a prompt, a chunk and a step."""
    made, tokens, out = answer(small_model()), some_tokens(9), {}
    for name, piece in CALLS.items():
        if not callable(getattr(made, name, None)):
            raise Wrong(f"the decoder has no method {name}")
        out[name] = getattr(made, name)(tokens[:, 8] if name == "decode" else tokens[:, piece])
    return made, out


@decoder.check("prefill, extend and decode return logits [B, V]")
def _(answer):
    model, (_, out) = small_model(), fed(answer)
    for name, piece in CALLS.items():
        tensor_like(out[name], model(some_tokens(piece.stop))[:, -1], "B V", f"what {name} returns")


@decoder.check("layers shows (K, V) of every layer, a row for each token fed")
def _(answer):
    made, _ = fed(answer)
    shown = made.layers()
    if not isinstance(shown, (list, tuple)) or len(shown) != L:
        many = f"{kind(shown)} of {len(shown)}" if isinstance(shown, (list, tuple)) else kind(shown)
        raise Wrong(f"layers() is {many}; expected a list of {L} pairs (K, V)")
    for layer, pair in enumerate(shown):
        for name, rows in zip("KV", parts(pair, ("K", "V"), f"layers()[{layer}]")):
            if getattr(rows, "shape", None) is None or len(rows.shape) != 4:
                raise Wrong(
                    f"{name} of layer {layer} is {kind(rows)}; expected a tensor [{', '.join(ROW_AXES.split())}]"
                )
            if rows.shape[2] != 9:
                looks = {
                    1: "only the newest row is kept",
                    6: "only prefill keeps its rows",
                    3: "the prompt's rows are gone",
                }
                seen = f"{name} of layer {layer} has {rows.shape[2]} rows; 6 + 2 + 1 = 9 tokens were fed"
                raise Wrong(seen, looks.get(rows.shape[2]))


@decoder.check("the audit: every script that can be run agrees in float64", points=4)
def _(answer):
    report = audit(answer(small_model()))
    if not report.ok:
        first = report.suspects[:1]
        looks = first[0].words + f"; look at {first[0].look}" if first else None
        raise Wrong(f"the audit says: {report.verdict}; {report.summary}", looks)
    agree = sum(result.status == "equal" for result in report.results)
    caught = f"it would have caught {report.caught} of {report.injected} known bugs"
    return f"{agree} scripts agree, to {approx(report.max_abs_diff)}; {caught}"
