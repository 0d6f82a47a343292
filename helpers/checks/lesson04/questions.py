"""Lesson 04: the graded questions. After the claims and follow-up questions of the course's sources, in our own words."""

from ..registry import Question

Question(
    name="answer_04_1",
    lesson="04",
    text="Why is a cached decoder compared with the oracle under greedy decoding first, and not under sampling?",
    options={
        "a": "greedy text is better, so that a mistake in it is easier to see",
        "b": "two correct runs may draw their random numbers in another order and write different texts from equal logits",
        "c": "sampling needs a softmax, which rounds more than an argmax does",
    },
    right="b",
    reasons={
        "a": "How good the text is does not matter here; it must be *determined* by the logits",
        "b": "In *Break it* both runs are right and share a seed: their logits agree to rounding, their texts do not",
        "c": "The logits are compared before any softmax. Look at the panel: with sampling they agree as well as with argmax",
    },
    hints=("Set the panel in *Break it* to sampling, rows one by one. What differs, what does not?",),
)

Question(
    name="answer_04_2",
    lesson="04",
    text="A prompt of 7 tokens, 5 new ones, no cache. How many K/V rows does each layer compute *again*?",
    right=34,
    reasons={
        34: "Passes over 7, 8, 9, 10 and 11 rows are 45; 11 different rows had to be computed once",
        45: "Those are all rows of the five passes: the first computation of each is no waste",
        28: "Four times the prompt. The rows of the new tokens are computed again as well",
        38: "45 less the prompt's 7. Each of the 4 new tokens that are fed is computed once for the first time, too",
    },
    hints=("Set the panel in *Watch it* to a prompt of 7 and 5 new tokens.",),
)

Question(
    name="answer_04_3",
    lesson="04",
    text="The Drill: attention at step t costs O(t·d) without a cache, O(1·d) with one. What did you count?",
    options={
        "a": "just that",
        "b": "O(t²·d) without and O(t·d) with: the table lacks a factor t in both, and the linear layers besides",
        "c": "O(t²·d) without and O(1·d) with: only the first entry is wrong",
    },
    right="b",
    reasons={
        "a": "Then doubling t would double the attention without a cache. Counted, it grew by a factor of 4",
        "b": "t queries meet t keys, or one query does; to that come the linear layers with t·d², or d²",
        "c": "With a cache the one new query still meets all t keys. Counted, it doubles when t does",
    },
    hints=("The cell *As the text doubles* prints both growth factors.",),
)

Question(
    name="answer_04_4",
    lesson="04",
    text="The blog: without a cache token 100 costs 100² = 10,000 where token 1 costs 1. What does a layer of this model really take for it?",
    options={
        "a": "10,000 times as much as for token 1",
        "b": "about 117 times as much: the linear layers grow with t, and at this length they are most of the work",
        "c": "as much as for token 1: each pass writes one token",
    },
    right="b",
    reasons={
        "a": "That counts the scores of the square, and leaves out the 12·d² multiply-adds of each token",
        "b": "12·t·d² + 2·t²·d against 12·d² + 2·d; the scores win only from t = 6·d on",
        "c": "It writes one token and computes all 100 positions",
    },
    hints=("Put t = 100 and t = 1 into your `layer_cost`, with d = 96.",),
)

Question(
    name="answer_04_5",
    lesson="04",
    text="The blog's table gives O(1) memory for decoding without a cache. What does a pass hold?",
    options={
        "a": "O(1): nothing is kept between two passes",
        "b": "as much as the weights, whatever the length",
        "c": "the activations of the whole prefix: here more bytes a token than the cache would take",
    },
    right="c",
    reasons={
        "a": "Between two passes nothing is kept but the ids; within a pass every position is in memory at once",
        "b": "The weights are there in both cases. What a pass makes on top of them grows with t",
        "c": "They grow with t; and if the scores are written out, `[H, T, T]`, with t²",
    },
    hints=("Read the table of bytes in *Watch it*.",),
)

Question(
    name="answer_04_6",
    lesson="04",
    text="Why must the tolerance be fixed before the cached result is seen?",
    options={
        "a": "because it can then be chosen smaller",
        "b": "because whoever has seen a difference of 0.7 can find a reason why 0.7 is rounding",
        "c": "because the cached run changes the model's weights",
    },
    right="b",
    reasons={
        "a": "Smaller or larger is not the point: it stands between two measurements that do not know the result",
        "b": "One lost row moves these logits by 0.7 and no word of the text: a tolerance fitted to it passes for ever",
        "c": "No run changes the weights. What changes is what you would like to be true",
    },
    hints=("Which number would you be tempted to choose after a difference of 0.7?",),
)

Question(
    name="answer_04_7",
    lesson="04",
    text="In bfloat16 right ways to compute differ by 0.5, and the smallest planted mistake by 0.8. What follows?",
    options={
        "a": "a tolerance of 0.6 tells them apart",
        "b": "in bfloat16 a difference in between proves nothing: judge the logic in float64",
        "c": "bfloat16 models cannot be decoded with a cache",
    },
    right="b",
    reasons={
        "a": "On this prompt, by a hair. Another prompt's rounding is larger, another mistake smaller",
        "b": "The logic is the same in float64, where thirteen orders of magnitude lie between the two",
        "c": "They can, and are. Their arithmetic is judged apart from their logic",
    },
    hints=("What does `pick_tolerance` say about a gap narrower than a factor of 9?",),
)

Question(
    name="answer_04_8",
    lesson="04",
    text="Certified: at each step the best token leads by more than twice the difference. What is proved?",
    options={
        "a": "that both decoders write the same greedy text",
        "b": "that the second decoder is correct",
        "c": "that both would also draw the same samples",
    },
    right="a",
    reasons={
        "a": "The best loses at most the difference, the second gains at most as much: the order stays. No more than that",
        "b": "The decoder that lost a row is certified, too. Its text is right on this prompt, its logits are not",
        "c": "A draw depends on every logit, and on the order of the random numbers",
    },
    hints=("Look at *row lost* in the table of planted mistakes.",),
)

Question(
    name="answer_04_9",
    lesson="04",
    text="In which order do these follow: (1) time the cached decoder, (2) fix the tolerance, (3) write the oracle, (4) compare step by step? Write the four digits as one number.",
    right=3241,
    reasons={
        3241: "Reference, yardstick, proof, and only then speed: a wrong result is always fast enough",
        3421: "A tolerance that is chosen after the comparison is fitted to it",
        2341: "Nulls and faults are differences from the oracle: it comes first",
        1324: "A speed that belongs to a wrong decoder is worth nothing",
        3214: "Almost: a decoder that is not proved yet is not worth a stopwatch",
    },
    hints=("What does each of them need from the others?",),
)
