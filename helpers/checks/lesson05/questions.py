"""Lesson 05: the graded questions. After the follow-up questions of the course's sources, in our own words."""

from ..registry import Question

Question(
    name="answer_05_1",
    lesson="05",
    text="Which tensors does one cached decode step compute anew, in each layer?",
    options={
        "a": "the keys and values of all positions, and the query of the new one",
        "b": "query, key and value of the new position, and its row of scores over all keys",
        "c": "only the query of the new position; its key and value are in the cache already",
    },
    right="b",
    reasons={
        "a": "That is decoding without a cache: the step slider marks those rows as computed again",
        "b": "The old keys and values are read, not computed; the scores of old queries are not needed any more",
        "c": "No row of the new token can be there before it was fed. Look at the step slider's orange cells",
    },
    hints=("Set the step slider to step 2 and read its sentence.",),
)

Question(
    name="answer_05_2",
    lesson="05",
    text="Why do the old positions need no new computation when a token is appended?",
    options={
        "a": "the change that the new token makes to them is too small to matter",
        "b": "they have been normalised, and a layer norm is not affected by further tokens",
        "c": "the mask is causal: nothing that they are computed from includes a later token, in any layer",
    },
    right="c",
    reasons={
        "a": "There is none: with the mask, section 2 measured nothing but rounding in the old keys of every layer",
        "b": "A layer norm sees one position at a time, with or without a cache; what about the attention?",
        "c": "By induction over the layers: with a mask that let them look ahead, every old row would change",
    },
    hints=("What would change in row 0 of layer 1 if layer 0 had no mask?",),
)

Question(
    name="answer_05_3",
    lesson="05",
    text="Why are keys and values kept, and queries not?",
    options={
        "a": "a later token asks with its own query; an old query is never used again, an old key and value are",
        "b": "queries are larger than keys and values and would not fit into memory",
        "c": "queries depend on the position and would be wrong in a later step",
    },
    right="a",
    reasons={
        "a": "Row t of the scores needs q of t, and k and v of 0 to t: of the old positions, k and v alone",
        "b": "They have the same size as the keys when every query head has a key head of its own",
        "c": "Keys depend on the position just as well, and they are kept",
    },
    hints=("Write down row t of the attention and underline what has an index smaller than t.",),
)

Question(
    name="answer_05_4",
    lesson="05",
    text="8 tokens are cached and one new token is fed. Which row of the 9 x 9 causal mask does this step need?",
    options={
        "a": "row 0, since there is one query and it is the first of this call",
        "b": "row 8, the last one, in which nothing is hidden: so that no mask is needed at all",
        "c": "all 9 rows, since the scores are 9 x 9",
    },
    right="b",
    reasons={
        "a": "Row 0 sees key 0 alone: that is what a mask cut from the top left does in decode",
        "b": "The rows of the new queries are the last T of S; with T = 1 that row hides nothing",
        "c": "There is one query, so the scores are 1 x 9; a 9 x 9 mask does not fit them",
    },
    hints=("Which absolute position does the new query have?",),
)

Question(
    name="answer_05_5",
    lesson="05",
    text="A prompt has 7 tokens, and 5 new ones are generated with a cache. How many tokens are fed, prefill and decode together?",
    right=11,
    reasons={
        11: "7 in the prefill, then 4 times one: the fifth token is chosen but not fed",
        12: "That feeds the last token too, though nothing is chosen after it",
        45: "7 + 8 + 9 + 10 + 11 is what a loop without a cache feeds",
    },
    hints=("How many decode steps are there after the prefill?",),
)

Question(
    name="answer_05_6",
    lesson="05",
    text="A layer's keys have shape [batch, kv_heads, sequence, head_dim]. Along which of these axes, counted from 0, does the cache grow?",
    right=2,
    reasons={
        0: "The batch is the same in every step",
        1: "More heads would be other heads, not later tokens",
        2: "Each token adds one row to the sequence axis, in every layer",
        3: "The channels of a head are fixed by the model",
    },
    hints=("Print the shape of layer 0's keys after two steps.",),
)
