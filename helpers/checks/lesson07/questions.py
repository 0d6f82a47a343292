"""Lesson 07: the graded questions. After the claims and follow-up questions of the course's sources, in our own words."""

from ..registry import Question

Question(
    name="answer_07_1",
    lesson="07",
    text="Why does the stopwatch hand out nothing to time before the audit has passed?",
    options={
        "a": "the audit warms the machine up",
        "b": "a decoder that computes something else can be as fast as one likes; its time says nothing",
        "c": "the audit makes the decoder faster",
    },
    right="b",
    reasons={
        "a": "The warm-up rounds do that, each time, for each variant",
        "b": "The cache that forgets old rows reads less and is faster for it. It was refused, with the step at which it differs",
        "c": "It changes nothing in the decoder",
    },
    hints=("What would a cache that forgets everything older than 16 tokens do to the milliseconds?",),
)

Question(
    name="answer_07_2",
    lesson="07",
    text="A growing `torch.cat` is replaced by a preallocated buffer that is written in place. What is saved, and where is it most?",
    options={
        "a": "the attention's reading of the old rows; most with many heads",
        "b": "computing the old keys and values; most after a long prompt",
        "c": "writing all old rows again at each step (S rows in the place of one), and the new memory for them; most at long texts, where rows weigh as much as weights",
    },
    right="c",
    reasons={
        "a": "Every old row is still read by each new query: the attention's own time stays",
        "b": "Both caches keep them; neither computes an old row again",
        "c": "You counted it: 1,024 rows against 1. At 64 tokens the two steps take the same, because the weights hide it",
    },
    hints=("Which of the four bars moves when you toggle the cache at 1,024 tokens?",),
)

Question(
    name="answer_07_3",
    lesson="07",
    text="GPT-2's shape: 12 layers, 12 heads of 64 channels, float32. How many bytes does one token take in the cache?",
    right=73728,
    reasons={
        73728: "2 · 12 · 12 · 64 · 4. A text of 1,024 tokens takes 75 MB, beside 498 MB of weights",
        36864: "Those are the keys alone; the values take as much",
        6144: "Those are the bytes of one layer",
        18432: "Those are numbers; a float32 has 4 bytes",
        884736: "Those are 768 channels a head; the 12 heads share them, 64 each",
    },
    hints=("Call your `kv_bytes` with bench.SHAPES['gpt2'] and a length of 1.",),
)

Question(
    name="answer_07_4",
    lesson="07",
    text="Shared key heads (GQA, MQA) and a sliding window both make a long text's cache smaller. What does each give up?",
    options={
        "a": "nothing: they leave out what is stored twice",
        "b": "heads that share keys cannot look for different things in them; a window cannot look further back than it reaches",
        "c": "time: rows that are not stored are computed again when they are needed",
    },
    right="b",
    reasons={
        "a": "Each head has keys of its own in an ordinary model, and none is a copy. The model must be trained to do without",
        "b": "So both change the model and what it computes: the audit compares such a decoder with a reference of its own kind",
        "c": "No row is computed again; fewer rows are read, so that a step gets faster",
    },
    hints=("What happened to the cache with a window of 16 when it was held against the whole model?",),
)

Question(
    name="answer_07_5",
    lesson="07",
    text="The blog's cached step takes 28.6 ms at 1,024 tokens. If the memory were what it waits for, how fast would that memory be?",
    options={"a": "936 GB/s, as the card's is", "b": "about 20 GB/s", "c": "about 200 GB/s"},
    right="b",
    reasons={
        "a": "At 936 GB/s the 570 MB are read in 0.6 ms",
        "b": "570 MB in 28.6 ms: a fiftieth of the card. The step waited for something else; for what, the table cannot say",
        "c": "570 MB in 28.6 ms are 19.9 MB in a millisecond",
    },
    hints=("The table under your `implied` has it.",),
)

Question(
    name="answer_07_6",
    lesson="07",
    text="From 256 to 1,024 tokens the blog's pass without a cache takes 15.7 times as long. How much do its operations grow?",
    options={
        "a": "16 times: attention is quadratic",
        "b": "about 4.3 times: at these lengths the linear layers are most of the work",
        "c": "exactly 4 times",
    },
    right="b",
    reasons={
        "a": "The scores grow 16 times, but they are a tenth of the operations at 1,024 tokens, with 768 channels",
        "b": "44.8 GFLOP become 193 GFLOP. A speed-up that grows 6.6 times over four times the length is not in them, nor in what you measured",
        "c": "The linear layers grow 4 times, the scores 16 times",
    },
    hints=("Divide bench.step_flops(gpt2, 1024, 1024) by bench.step_flops(gpt2, 256, 256).",),
)

Question(
    name="answer_07_7",
    lesson="07",
    text="A cached step stands under the sloping part of the roof. What makes it faster?",
    options={
        "a": "twice as many cores on the same memory",
        "b": "fewer bytes a weight, if the kernel that reads them is a good one",
        "c": "a faster softmax",
    },
    right="b",
    reasons={
        "a": "They would wait for the same memory. A pass over a prompt would gain",
        "b": "The limit falls with the bytes. Whether the time follows is a matter of the kernel: compare your three rows of fewer bits",
        "c": "The attention's own time is a small part of the step, and the softmax a small part of that",
    },
    hints=("Which of the two times is larger in `predict_ms` for a cached step?",),
)

Question(
    name="answer_07_8",
    lesson="07",
    text="With int8 weights the logits differ thousands of times more than rounding explains. What is the right thing to say?",
    options={
        "a": "the decoder has a bug",
        "b": "it is equal as long as the text is the same",
        "c": "its logic was proved with float32 weights; its weights are others, so its speed is told together with its difference",
    },
    right="c",
    reasons={
        "a": "The same decoder with float32 weights agrees to rounding: position, mask and rows are right",
        "b": "The text is a poor witness; on another prompt it parts. The difference is what can be told",
        "c": "Speed and difference belong in one line of the table. Half of this pair is an advertisement",
    },
    hints=("What does the stopwatch ask of a decoder that is entered as `rounded_from` another?",),
)

Question(
    name="answer_07_9",
    lesson="07",
    text="Someone wraps a stopwatch round the attention of a decoder with a concatenated cache. It grows with the length, and they conclude that attention is expensive. What did they measure?",
    options={
        "a": "the attention",
        "b": "the attention, the QKV product, and the cache's writes, all of which happen within it",
        "c": "nothing: Python cannot time what happens inside torch",
    },
    right="b",
    reasons={
        "a": "Toggle the panel to each part's own time: the attention's own is the smaller part of what they saw",
        "b": "The growth is in good part the re-allocation. Of its own the attention takes no longer than with a preallocated cache",
        "c": "On a CPU an operation has ended when it returns; the clock around it is right. It is what lies between that counts",
    },
    hints=("Set the panel to the concatenated cache, 1,024 tokens, and toggle what is counted.",),
)

Question(
    name="answer_07_10",
    lesson="07",
    text="In which order do these follow: (1) predict the milliseconds, (2) read what the run says about its own noise, then report, (3) audit, (4) measure in turns? Write the four digits as one number.",
    right=3142,
    reasons={
        3142: "What is not proved is not timed; what was not predicted surprises nobody; what was noisy is not reported as a fact",
        1342: "A prediction for a decoder that may be wrong is early; prove it first",
        3412: "A prediction after the measurement agrees with it, always",
        3124: "Noise is known only once something was measured",
    },
    hints=("Which of them needs none of the others?",),
)
