"""Lesson 01: the graded questions. After the follow-up questions and the table of the course's sources, in our own words."""

from ..registry import Question

Question(
    name="answer_01_1",
    lesson="01",
    text="A language model is trained without a causal mask, each position to predict the next token. What happens?",
    options={
        "a": "nothing: the loss makes it ignore the future",
        "b": "the loss gets very small, since the token to predict can be read; in generation it is not there to read",
        "c": "training fails with an error, since the shapes of the scores do not fit",
    },
    right="b",
    reasons={
        "a": "The loss rewards whatever predicts well, and nothing predicts a token better than the token itself",
        "b": "The mask is what makes training, where the whole text is there, the same task as generation",
        "c": "Scores have the same shape with and without a mask: `[B, H, T, S]`. Nothing complains",
    },
    hints=("What can position 3 read about token 4 if nothing is hidden?",),
)

Question(
    name="answer_01_2",
    lesson="01",
    text="One token is fed on 4 cached ones, so its scores are [1, 5]. Somebody adds the whole 5 x 5 additive mask. What comes out?",
    options={
        "a": "an error: [1, 5] and [5, 5] cannot be added",
        "b": "scores [5, 5], of which the last row is the right one: broadcasting repeats the one query",
        "c": "scores [1, 5], the right ones: torch takes the last row of the mask",
    },
    right="b",
    reasons={
        "a": "They can: an axis of length 1 is stretched. The cell *The whole square for one query* shows it",
        "b": "Five outputs for one token, four of them masked for other positions; the next layer may go on with all five",
        "c": "torch takes no row by itself: cutting the last T rows is your work",
    },
    hints=("How does torch broadcast an axis of length 1?",),
)

Question(
    name="answer_01_3",
    lesson="01",
    text="The blog's table counts from 1: position 3 of 4 sees [1, 2, 3] and not [4]. Counted from 0, as in code: how many of the 4 keys does query 2 see?",
    right=3,
    reasons={
        1: "That is the number of keys hidden from it",
        2: "Query i sees keys 0 to i, itself included: that is i + 1 of them",
        3: "Keys 0, 1 and 2. Counting from 0, query i sees i + 1 keys",
        4: "Key 3 is its future",
    },
    hints=("It is the same token as the table's position 3.",),
)

Question(
    name="answer_01_4",
    lesson="01",
    text="The blog builds its mask from a single argument, the sequence length. For which calls on a cache is that, as it is, the mask [T, S]?",
    options={
        "a": "the prefill only: there queries and keys are equally many",
        "b": "every call, if the length is the number of keys",
        "c": "every call, if the length is the number of new tokens",
    },
    right="a",
    reasons={
        "a": "A chunk or a step has more keys than queries and needs the last T rows of the square, so it needs both numbers",
        "b": "Then it has S rows for T queries: still to be cut to the last T",
        "c": "Then it has T columns for S keys: the cached keys have no column",
    },
    hints=("Which shape do the scores of a decode step have?",),
)

Question(
    name="answer_01_5",
    lesson="01",
    text="2 new tokens after 3 cached ones, scaled_dot_product_attention(q, k, v, is_causal=True). How many keys does the *last* query see?",
    right=2,
    reasons={
        1: "That is query 0. The triangle has one more in each row",
        2: "Keys 0 and 1: the triangle starts at the top left, and the three newest keys stay hidden, the token itself among them",
        3: "So many are cached, but is_causal=True does not know that: its triangle starts at the top left",
        4: "That is query 0 in the right mask",
        5: "That is the right mask, its last row. is_causal=True does not know that the queries are the last ones",
    },
    hints=("Look at the panel in *Break it*, set to *top left*.",),
)

Question(
    name="answer_01_6",
    lesson="01",
    text="A row of the mask hides every key, and hidden means -1e9. The softmax of that row is",
    options={
        "a": "zeros, since the exponential of -1e9 is 0",
        "b": "NaN, since the sum of the row is 0",
        "c": "the same weight for every key, so the output is the mean of all values, hidden ones included",
    },
    right="c",
    reasons={
        "a": "A softmax first subtracts the largest score of the row, and that is -1e9 too: 0 is left",
        "b": "That is what -inf gives: -inf minus -inf. Minus 1e9 can be subtracted from itself",
        "c": "Equal scores make equal weights, however low they are. With padding that mean is of tokens that are not there",
    },
    hints=("A softmax does not change when the same number is added to all scores of a row.",),
)

Question(
    name="answer_01_7",
    lesson="01",
    text="In scaled_dot_product_attention a boolean mask says True = may attend. And the attn_mask of nn.MultiheadAttention?",
    options={
        "a": "the same",
        "b": "True = may NOT attend",
        "c": "it takes numbers only",
    },
    right="b",
    reasons={
        "a": "It is the other way round; the cell *Two conventions* measures both with one mask",
        "b": "One mask passed to both hides in one what it shows in the other, and no shape complains",
        "c": "It takes booleans too, which is the trap",
    },
    hints=("Run the cell *Two conventions*.",),
)
