"""Lesson 06: the graded questions. After the follow-up questions of the course's sources, in our own words."""

from ..registry import Question

Question(
    name="answer_06_1",
    lesson="06",
    text="A decode step is given the wrong position. Why does that raise no shape error?",
    options={
        "a": "the mask hides the position of a new token, so that it has no effect on any number",
        "b": "a position only chooses which row of a table is added, or by which angle is turned: the result has the same "
        "shape for every position",
        "c": "attention checks shapes in the prefill only, and a decode step has one token",
    },
    right="b",
    reasons={
        "a": "The logits moved, by far more than rounding: the position does have an effect",
        "b": "Any position below the block size is a legal index. Only one outside the table has to fail",
        "c": "Matrix products check shapes in every call; here all of them fit",
    },
    hints=("What is the shape of model.position(positions) for positions [58], and for [0]?",),
)

Question(
    name="answer_06_2",
    lesson="06",
    text="Somebody removes the position offset from a cached decoder: each call numbers its tokens from 0. The prompt is "
    "fed whole. What follows?",
    options={
        "a": "the prefill is right; every decode step runs at position 0, where the prompt's first token stands",
        "b": "prefill and steps are both wrong: all positions are shifted by the same number",
        "c": "nothing, as long as the mask is right: the order of the rows in the cache tells the order of the tokens",
    },
    right="a",
    reasons={
        "a": "That is pos_zero. It is wrong from step 1 on, so that a look at the first new token finds nothing",
        "b": "A prompt that is fed whole begins at 0 anyway",
        "c": "Attention is a sum over rows: their order in the cache has no effect on it, only what was added or turned does",
    },
    hints=("Which positions does a call with T = 58 get, and one with T = 1?",),
)

Question(
    name="answer_06_3",
    lesson="06",
    text="A test decodes 20 prompts with and without cache and finds the same 20 texts. What has it shown?",
    options={
        "a": "that the two agree on these 20 texts; the logits may be far apart, as those of pos_plus1 in this lesson are",
        "b": "that the cache is right: greedy text depends on every logit",
        "c": "that the logits agree to about the gap between the best and the second best token",
    },
    right="a",
    reasons={
        "a": "Greedy text asks one thing of the logits, which of them is largest. A confident model keeps its answer while "
        "all of them move",
        "b": "It depends on which logit is largest, and on nothing else",
        "c": "Both could move together by any amount; and the gap itself may have changed",
    },
    hints=("Look at the table of position faults: which row has the same text everywhere?",),
)

Question(
    name="answer_06_4",
    lesson="06",
    text="The cached decoder is four times as fast, the notes read well, and its logits differ from the oracle's by 7 where "
    "the tolerance is 0.01. What may be said of it?",
    options={
        "a": "that it is fast and slightly inexact, which is what a cache costs",
        "b": "nothing about its speed yet: it computes something else, and a speed-up compares equal results",
        "c": "that it is right in float32, since float32 rounds",
    },
    right="b",
    reasons={
        "a": "A right cache costs rounding, a thousandth of the tolerance or less",
        "b": "First the equivalence, then the clock. A decoder that skipped the model would be faster still",
        "c": "Rounding was measured: it lies far below the tolerance, and 7 lies far above",
    },
    hints=("What did the tolerance come from?",),
)

Question(
    name="answer_06_5",
    lesson="06",
    text="Before a release, notes for an audit are to be compared with and without cache. Beside the logits, which of "
    "these comparisons of the text has the best chance of noticing that one record's values stand in for another's?",
    options={
        "a": "the perplexity of the notes, since a wrong note is less fluent",
        "b": "a similarity score between the two texts: above 0.9 they say the same",
        "c": "the ids, amounts, wallets and dates, each against the record that was asked for",
    },
    right="c",
    reasons={
        "a": "The note of this lesson's opening is a perfect sentence of this task",
        "b": "Most tokens of two such notes are the same; the few that are not are the money",
        "c": "These tokens are few, and each has one right value. That is what check_note counts",
    },
    hints=("What share of the opening note's tokens is wrong?",),
)

Question(
    name="answer_06_6",
    lesson="06",
    text="A prompt has 58 tokens. A decoder counts its decode positions from 0 again (pos_restart). By how many positions "
    "is its third decode step too low?",
    right=58,
    reasons={
        58: "It stands at 2 and should stand at 60; the error is the prompt's length, at each step",
        60: "60 is where the step should stand; it stands at 2",
        56: "Step 3 should stand at 58 + 3 - 1",
        57: "Counting the steps from 1: the first one stands at 0",
        2: "That is where the step stands",
    },
    hints=("Where do steps 1, 2 and 3 stand, and where should they?",),
)

Question(
    name="answer_06_7",
    lesson="06",
    text="Every position of a sequence, in prefill and in decode, is 3 too large. With which positions are the logits the "
    "same up to rounding?",
    options={
        "a": "with learned positions: the table is trained for all of them",
        "b": "with rotary positions: scores depend on the distance of query and key, and no distance has changed",
        "c": "with both, since the error is the same everywhere",
    },
    right="b",
    reasons={
        "a": "Each row of the table is another vector. The trained model was measured above: its logits move",
        "b": "Turning query and key by the same further angle leaves their product. It is still a bug for the last positions of the block",
        "c": "Look at the two columns of the table",
    },
    hints=("What is left of an angle that query and key both have?",),
)
