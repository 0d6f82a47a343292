"""Lesson 02: the graded questions. After statements, code and shapes of the course's sources, in our own words."""

from ..registry import Question

Question(
    name="answer_02_1",
    lesson="02",
    text="The blog's attention has d_model = 768 and 12 heads. After `transpose(1, 2).contiguous()` its result goes straight into W_O. "
    "How long is the last axis that W_O is given?",
    right=64,
    reasons={
        64: "[B, T, 12, 64]: the heads were moved, not merged. W_O expects 768 and raises an error",
        768: "It would be after a merge of the last two axes, and that is the line that is missing",
        12: "That is the axis before it: [B, T, H, D]",
    },
    hints=("What is the shape of weights @ v, and what does a transpose of axes 1 and 2 make of it?",),
)

Question(
    name="answer_02_2",
    lesson="02",
    text="d_model stays 96. What becomes of the number of weights of W_Q, W_K, W_V and W_O when 1 head is replaced by 6?",
    options={
        "a": "it grows to 6 times as many",
        "b": "it stays: the same 96 channels are cut into 6 pieces",
        "c": "it falls to a sixth",
    },
    right="b",
    reasons={
        "a": "Only if each head had 96 channels of its own; here each has 96 / 6 = 16",
        "b": "Heads are a way to read the same numbers. What does grow is the number of score tables: one T x S table a head",
        "c": "The maps are 96 x 96 with any number of heads",
    },
    hints=("Look at __init__ of the module: where does n_heads stand in it?",),
)

Question(
    name="answer_02_3",
    lesson="02",
    text="Put the steps of attention in the right order: merge the heads (m), softmax (s), hide (h), W_O (o), scores (q), split into heads (p).",
    options={
        "a": "p q h s m o",
        "b": "q h s p m o",
        "c": "p q s h m o",
        "d": "p q h s o m",
    },
    right="a",
    reasons={
        "a": "Scores are taken within a head, hidden before their exponentials are summed, and mixed by W_O after the merge",
        "b": "Scores of all channels at once are one head's; the split comes first",
        "c": "Hidden after the softmax, the later tokens still count in the sum of each row: the rows do not sum to 1, and they leak",
        "d": "W_O is [C, C]: it needs all channels of a token in one row",
    },
    hints=("In *Break it*, which mistake had right-looking zeros in its weights and still leaked?",),
)

Question(
    name="answer_02_4",
    lesson="02",
    text="The Drill divides the scores by the square root of d_k. What is the divisor for d_model = 576 and 16 heads?",
    right=6,
    reasons={
        6: "d_k is the size of one head, 576 / 16 = 36, and its square root is 6",
        36: "That is d_k itself; its square root is asked",
        24: "That is the square root of d_model; a score is a sum over the 36 channels of a head",
        16: "That is the number of heads",
    },
    hints=("How many products does one score add up?",),
)

Question(
    name="answer_02_5",
    lesson="02",
    text="The scores are divided by the square root of d_model instead. Which test notices?",
    options={
        "a": "the shapes",
        "b": "leaks(): perturbing each token",
        "c": "a comparison of numbers with torch's attention",
        "d": "reading the notes: they are no longer sentences",
    },
    right="c",
    reasons={
        "a": "A number that is divided by another one keeps its shape",
        "b": "It is as causal as before: flatter weights, but zero where they must be zero",
        "c": "Only that. All weights are flatter, and nothing else has changed",
        "d": "Look at the table of the trained model: every note fits its sentences, with other records' values in them",
    },
    hints=("Two tables of *Break it* have a line for it.",),
)

Question(
    name="answer_02_6",
    lesson="02",
    text="A unit test of the merge feeds one token, [2, 3, 1, 4], and passes. What has it shown of a merge by reshape alone?",
    options={
        "a": "that it is right: the shape and the numbers agree",
        "b": "nothing: with one token, the head axis and the token axis can be exchanged without moving a number",
        "c": "that it is right for even numbers of heads",
    },
    right="b",
    reasons={
        "a": "For one token. A decode step feeds one token too: only a prefill shows the mistake",
        "b": "Test with sizes that all differ and none of which is 1",
        "c": "The number of heads plays no part in it",
    },
    hints=("The column *1 token* in the table of *Break it*.",),
)

Question(
    name="answer_02_7",
    lesson="02",
    text="The blog's mask is 0 where a token may look and -inf where not; its attention fills -1e9 wherever the mask equals 0. "
    "In a decode step the only query may look at all four keys. Which weights does it give them?",
    options={
        "a": "the right ones: nothing is hidden, so nothing is filled",
        "b": "1/4 each, whatever its scores",
        "c": "none: all four are hidden",
        "d": "all to the newest key",
    },
    right="b",
    reasons={
        "a": "What is filled is what may be seen: here, all four",
        "b": "It is the last row of the exercise: every score becomes the same -1e9, so y is the mean of all values, at every step",
        "c": "The softmax always hands out a total of 1",
        "d": "The newest key is filled like the others",
    },
    hints=("Where does the mask of this query equal 0, and what is left of its scores there?",),
)

Question(
    name="answer_02_8",
    lesson="02",
    text="The printed layer takes two values from an attention that returns one tensor [B, T, C]. For which batch is there no error?",
    right=2,
    reasons={
        2: "Unpacking walks along the first axis, and a batch of 2 has two texts: one becomes y, the other the cache",
        1: "One text cannot be unpacked into two names: not enough values",
        3: "Three texts: too many values to unpack",
    },
    hints=("What does `a, b = tensor` take apart?",),
)

Question(
    name="answer_02_9",
    lesson="02",
    text="The three copying heads of the trained model are all cut out, and 7 % of the pieces are still right. One of them alone is cut out, "
    "and at least 99 % are. What follows?",
    options={
        "a": "that each of the three is needed",
        "b": "that the work is shared: what one head does cannot be seen by cutting out that head alone",
        "c": "that attention weights say nothing about what a head does",
    },
    right="b",
    reasons={
        "a": "Without any one of them the model is as good as before",
        "b": "Three heads were trained to the same task. A test of one part at a time misses what another part can stand in for",
        "c": "Here they did: the three that look at the source are the three that matter, and the other three of the layer are not",
    },
    hints=("Which three lines of the table differ by how much?",),
)
