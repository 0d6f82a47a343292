"""Lesson 07, a fair timer: judged by what it reports about machines whose every call takes a scripted time."""

from ...bench.scripted import Scripted, first_pays, slow_start, slowing
from ..registry import Exercise, Wrong, kind

fair_timer = Exercise(
    name="fair_timer",
    lesson="07",
    call="fair_timer(variants, rounds=15, warmup=2, clock=time.perf_counter) -> {name: median seconds of one call}",
    minutes=20,
    difficulty="medium",
    hints=(
        "Which of your loops is the outer one, rounds or variants? What happens to the second variant if the machine "
        "grows slower while you measure?",
        "Look at the clock before and after each single call. The first `warmup` rounds are made, too, and not kept.",
        "names.append(names.pop(0)) after each round gives every place in the round to each in turn; statistics.median "
        "of each one's list at the end.",
    ),
)
STEADY = {"a": 0.25, "b": 0.1, "c": 0.6}
EQUAL = ("a", "b", "c")


def report(answer, script, names, rounds, warmup):
    """({name: seconds} as reported, the machine): raises `Wrong` for what is not such a report."""
    machine = Scripted(script)
    got = answer(machine.variants(*names), rounds=rounds, warmup=warmup, clock=machine.clock)
    if not isinstance(got, dict):
        raise Wrong(f"the result is {kind(got)}; expected a dict {{name: seconds}} of {len(names)} numbers")
    if set(got) != set(names):
        raise Wrong(f"the result has entries for {sorted(map(str, got))}; expected {', '.join(names)}")
    for name, value in got.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Wrong(f"the entry for {name!r} is {kind(value)}; expected one number, the median of its calls")
    return got, machine


def mistakes(seconds, rounds, warmup):
    """Known mistakes -> what each of them reports for a call that always takes `seconds`."""
    return {
        "milliseconds; asked are seconds": 1e3 * seconds,
        "the sum of the rounds; asked is one call": rounds * seconds,
        "the sum of all calls, the warm-up's too": (rounds + warmup) * seconds,
        "the warm-up calls' time is in it: a sum over all calls, divided by the rounds": (rounds + warmup) / rounds * seconds,
        "a division by the number of rounds too many": seconds / rounds,
        "the time of a whole round; asked is each variant's own": sum(STEADY.values()),
    }  # fmt: skip


def close(got, right, share=0.01):
    return abs(got - right) <= share * right


@fair_timer.check("a steady machine: the seconds of one call of each")
def _(answer):
    rounds, warmup = 5, 2
    got, machine = report(answer, lambda call: STEADY[call.name], STEADY, rounds, warmup)
    for name, right in STEADY.items():
        if not close(got[name], right):
            looks = next((w for w, t in mistakes(right, rounds, warmup).items() if close(got[name], t)), None)
            if not machine.looks:
                looks = "a clock of its own; the one to look at is handed in as `clock`"
            elif got[name] == 0:
                looks = "both looks at the clock before the call, or both after it"
            raise Wrong(f"{name!r} takes {right} s each time; reported {got[name]:.4g} s", looks)


@fair_timer.check("each variant is called warmup + rounds times")
def _(answer):
    for rounds, warmup in ((5, 2), (3, 0)):
        _, machine = report(answer, lambda call: STEADY[call.name], STEADY, rounds, warmup)
        counted = {name: machine.log.count(name) for name in STEADY}
        if set(counted.values()) != {rounds + warmup}:
            without = set(counted.values()) == {rounds} and "the warm-up is missing, or taken off the rounds"
            said = ", ".join(f"{name} {count}" for name, count in counted.items())
            raise Wrong(
                f"rounds={rounds}, warmup={warmup}: calls of {said}; expected {rounds + warmup} each", without or None
            )


@fair_timer.check("slow first calls do not count")
def _(answer):
    got, _ = report(answer, slow_start(STEADY, calls=3), STEADY, rounds=3, warmup=3)
    for name, right in STEADY.items():
        if not close(got[name], right):
            raise Wrong(
                f"the first 3 calls of each take 40 times as long, warmup=3: {name!r} takes {right} s once warm, "
                f"reported {got[name]:.4g} s",
                "warm-up calls are among the timed ones, or only the first variant is warmed up",
            )


@fair_timer.check("one call that is disturbed, or lucky, does not count")
def _(answer):
    disturbed = lambda call: 0.1 * (50 if call.number == 4 else 1)
    got, _ = report(answer, disturbed, EQUAL, rounds=7, warmup=1)
    if not close(got["a"], 0.1):
        mean = close(got["a"], 0.1 * 56 / 7) and "the mean: one call that the system interrupts decides it"
        raise Wrong(f"6 of 7 calls take 0.1 s and one 5 s: reported {got['a']:.4g} s", mean or None)
    lucky = lambda call: 0.1 * (0.2 if call.number == 4 else 1)
    got, _ = report(answer, lucky, EQUAL, rounds=7, warmup=1)
    if not close(got["a"], 0.1):
        least = close(got["a"], 0.02) and "the fastest call: one that finds its data in the cache decides it"
        raise Wrong(f"6 of 7 calls take 0.1 s and one 0.02 s: reported {got['a']:.4g} s", least or None)


def unequal(got):
    """In words, how far three equal variants were reported apart; None within 10 %."""
    if max(got.values()) <= 1.1 * min(got.values()):
        return None
    return ", ".join(f"{name} {seconds:.3g} s" for name, seconds in got.items())


@fair_timer.check("a machine that grows slower: three equal variants are reported equal")
def _(answer):
    rounds, warmup = 60, 2
    got, machine = report(answer, slowing(0.1, 3 * (rounds + warmup)), EQUAL, rounds, warmup)
    apart = unequal(got)
    if apart:
        blocks = sum(x != y for x, y in zip(machine.log, machine.log[1:]))
        looks = "one variant after the other: the last one met the slowest machine" if blocks < 3 * rounds / 2 else None
        raise Wrong(
            f"all three do the same work while the machine becomes 3 times slower; reported were {apart}", looks
        )


@fair_timer.check("whoever begins a round pays: three equal variants are reported equal")
def _(answer):
    rounds, warmup = 199, 2
    got, machine = report(answer, first_pays(0.1, 3), EQUAL, rounds, warmup)
    apart = unequal(got)
    if apart:
        firsts = machine.log[3 * warmup :: 3]
        counted = ", ".join(f"{name} {firsts.count(name)}" for name in EQUAL)
        looks = "the same order in every round" if len(set(firsts)) == 1 else "an order that favours one of them"
        raise Wrong(f"all three do the same work; reported were {apart}. Rounds begun: {counted} of {rounds}", looks)
