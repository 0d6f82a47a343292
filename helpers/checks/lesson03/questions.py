"""Lesson 03: the graded questions. After the follow-up questions and snippets of the course's sources, in our own words."""

from ..registry import Question

Question(
    name="answer_03_1",
    lesson="03",
    text="What is the offset for, and what happens in cached decoding without it?",
    options={
        "a": "it tells the cache where to store the new row; without it the row overwrites an old one",
        "b": "it tells a call where in the text its tokens stand; without it each call numbers its tokens from 0",
        "c": "it shifts the causal mask; without it a new token sees its own future",
    },
    right="b",
    reasons={
        "a": "The rows are appended whatever their positions: in the cell *The offset is lost* the lengths are right",
        "b": "A prompt in one call is right without an offset. Each later call is not, and no shape says so",
        "c": "The mask follows from the numbers of new tokens and of keys. The offset goes into the embedding",
    },
    hints=("Which of the two runs in the cell *The offset is lost* differs, and in what?",),
)

Question(
    name="answer_03_2",
    lesson="03",
    text="The blog's positional encoding adds rows 0 to T - 1 in every call. A prompt of 5 tokens, then one token a step: which row does the third decode step get?",
    right=0,
    reasons={
        0: "Each step is a call with T = 1, so it gets row 0: not 0, 1, 2, but 0, 0, 0. A restarted counter would give 2",
        2: "That is a counter which restarts after the prompt. Here nothing counts: see the cell *The blog's encoding*",
        5: "That is where the first decode step stands in the text; the row that it gets is another one",
        7: "That is where it stands in the text: 5 tokens of the prompt and two steps before it. The row that it gets is another one",
    },
    hints=("How long is the call's own text in a decode step?",),
)

Question(
    name="answer_03_3",
    lesson="03",
    text="What makes pre-norm easier to train than post-norm?",
    options={
        "a": "it normalises twice as often, so that no number becomes large",
        "b": "it needs no residuals, so that fewer terms are added",
        "c": "the stream passes every block unnormalised: gradients reach each block by a sum, and deep stacks take the first steps without warm-up",
    },
    right="c",
    reasons={
        "a": "Both have two norms a block. The pre-norm stream even grows with depth: that is why one last norm follows",
        "b": "Both add two residuals a block. Toggle *residual dropped* to see what they are worth",
        "c": "Post-norm puts a norm on the way itself: its last block's gradient does not fall with depth, and 12 blocks stay at the loss of guessing",
    },
    hints=("Compare what stands on the way of x itself in the two formulas.",),
)

Question(
    name="answer_03_4",
    lesson="03",
    text="The blog's stack of pre-norm blocks returns what its last block gives, with no norm after it. What would a head get?",
    options={
        "a": "normalised numbers, since there are two norms in each block",
        "b": "the bare sum of the embedding and of all that the blocks added; its size depends on the depth",
        "c": "an error, since the head expects normalised numbers",
    },
    right="b",
    reasons={
        "a": "They stand in the branches. What passes a block on the stream meets no norm: that is the point of pre-norm",
        "b": "Hence the one norm more behind the last block. A post-norm stack needs none, it ends in one",
        "c": "A linear layer takes what it gets. See the cell *No norm after the last block*",
    },
    hints=("Follow x through the block's formula. Which norm does it pass on its way out?",),
)

Question(
    name="answer_03_5",
    lesson="03",
    text="A row of a batch has the mask [0, 0, 1, 1, 1], all cached, and gets one new token. At which position does it stand?",
    right=3,
    reasons={
        0: "That is a restart: the three real tokens before it are forgotten",
        2: "The last cached token stands there: the real ones have positions 0, 1 and 2",
        3: "Three real tokens stand before it. Its column is 5, but padding takes no position",
        4: "One too far, or one padded column counted",
        5: "That is its column: two of the five are padding",
    },
    hints=("How many real tokens stand before it?",),
)

Question(
    name="answer_03_6",
    lesson="03",
    text="A table has 512 positions. One token, x [B, 1, C], is fed at offset 512, and x + table[512:513] is computed. What happens?",
    options={
        "a": "an IndexError",
        "b": "the last row of the table is added",
        "c": "no error; the result is [B, 0, C]: the token is gone",
    },
    right="c",
    reasons={
        "a": "Indexing with a number raises it, and so does nn.Embedding; a slice never does",
        "b": "Only if somebody clamps the index; then two tokens share a position",
        "c": "The slice is empty, [0, C], and an axis of length 1 broadcasts to 0 as well",
    },
    hints=("The cell *Past the last position* prints the shapes.",),
)

Question(
    name="answer_03_7",
    lesson="03",
    text="Weights that were trained in pre-norm blocks are loaded into post-norm blocks. What do you see?",
    options={
        "a": "no error: the names and shapes are the same; the text is no sentence any more",
        "b": "an error: post-norm blocks have their norms under other names",
        "c": "nothing: the norms are the same, their order does not matter",
    },
    right="a",
    reasons={
        "a": "A weights file says nothing about the order of computation. With a cache or without, step 0 is wrong already",
        "b": "Each block has a norm1 and a norm2 in both",
        "c": "Toggle *post-norm* in part 5 and read the note",
    },
    hints=("Toggle *post-norm* in part 5.",),
)
