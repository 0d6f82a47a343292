"""A `Bench` as a dictionary: what `--json` writes."""

from dataclasses import asdict

from . import findings


def to_dict(bench):
    """What `--json` writes; null is what was not measured."""
    plan, timed = bench.plan, bench.steps is not None

    def by_length(find):
        return {str(n): find(bench, n) if timed else None for n in plan.lengths}

    return {
        "shape": plan.shape,
        "lengths": list(plan.lengths),
        "partial": bench.partial,
        "threads": bench.setup.threads,
        "setup": bench.setup.to_dict(),
        "bandwidth_gb_s": findings.bandwidth(bench) / 1e9 if timed else None,
        "stream_gb_s": findings.stream_bandwidth(bench) / 1e9 if timed else None,
        "limit_ms": by_length(findings.limit_ms),
        "limit_ratio": by_length(findings.limit_ratio),
        "transformers_ratio": by_length(findings.library_ratio),
        "concat_ratio": by_length(findings.concat_ratio),
        "speedup": by_length(findings.speedup),
        "speedup_limit": by_length(findings.speedup_limit),
        "speedup_total": by_length(findings.speedup_total),
        "growth": findings.growth(bench)[0] if timed and len(plan.lengths) > 1 else None,
        "growth_bytes": findings.growth(bench)[1] if timed and len(plan.lengths) > 1 else None,
        "goals": [asdict(goal) | {"met": goal.met} for goal in findings.goals(bench)],
        "ms": {name: summary(t) for timings in (bench.steps, bench.loops) for name, t in all_of(timings)},
        "noise": {name: noise(getattr(bench, name)) for name in ("steps", "loops")},
        "equality": asdict(bench.equality) | {"tolerance": bench.equality.tolerance} if bench.equality else None,
        "late_differences": bench.late,
        "refused": bench.refused,
        "memory": {name: asdict(peak) | {"own": peak.own} for name, peak in bench.memory.items()},
    }


def all_of(timings):
    return timings.variants.items() if timings else ()


def summary(timing):
    low, high = timing.quartiles
    return {"median": 1e3 * timing.median, "quartiles": [1e3 * low, 1e3 * high], "rounds": len(timing.seconds)}


def noise(timings):
    if timings is None:
        return None
    return {"noisy": timings.noise.noisy, "spread": timings.noise.spread, "drift": timings.noise.drift}
