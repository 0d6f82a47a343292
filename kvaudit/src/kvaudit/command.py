"""`kvaudit MODEL_DIR` and `kvaudit package.module:make_decoder`: the audit in the terminal.

Exit code: 0 equal (or rounding), 1 the cached path is wrong, 2 nothing could be judged, or what was asked cannot be done.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from .hf.loading import DTYPES, Unusable
from .line import audit
from .play.limit import SECONDS
from .report import VERDICTS, Report, junit
from .targets import Target, find

SEEDS = 2**63  # torch takes seeds below this


def main(argv: list[str] | None = None) -> int:
    """Audit what the command line asks for; prints the report and returns the exit code."""
    options = parser().parse_args(argv)
    try:
        check(options)
        target = find(options)
        report = run(target, options)
    except Unusable as why:
        return refuse(why)
    print(report)
    try:
        write(report, target.name, options)
    except OSError as error:
        return refuse(f"{error.filename} could not be written: {error.strerror}")
    return report.exit_code


def refuse(why: object) -> int:
    print(f"audit: {why}", file=sys.stderr)
    return 2


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="kvaudit",
        description="Compare a decoder's cached decoding with the uncached forward, and name the bug where they differ.",
        epilog="Exit code: " + "; ".join(f"{code} = {verdict}" for verdict, (code, _) in VERDICTS.items()) + ".",
    )
    p.add_argument(
        "target",
        help="a folder with config.json and weights, as save_pretrained writes it; or package.module:function, which "
        "returns a decoder or (decoder, reference)",
    )
    p.add_argument("--prompt-ids", type=int, nargs="+", metavar="ID", help="token ids of the plain script's prompt")
    p.add_argument("--seed", type=int, default=0, help="of the random tokens (%(default)s)")
    p.add_argument("--quick", action="store_true", help="the verdict only: no suspects, no sensitivity")
    p.add_argument(
        "--call-seconds", type=float, default=SECONDS, metavar="S", help="what one call may take (%(default)g)"
    )
    p.add_argument("--json", metavar="FILE", help="write the report as JSON")
    p.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML, one test case a script")
    p.add_argument(
        "--float64",
        choices=("auto", "always", "never"),
        default="auto",
        help="judge the logic on a float64 copy of the weights; auto: where it fits into half of the free memory",
    )
    of_folder = p.add_argument_group("of a model folder")
    of_folder.add_argument("--cache", choices=("dynamic", "full", "static"), default="dynamic", help="(%(default)s)")
    of_folder.add_argument("--capacity", type=int, default=48, help="rows of a static cache (%(default)s)")
    of_folder.add_argument(
        "--dtype", choices=("auto", *DTYPES), default="auto", help="of the weights; auto: as they are saved"
    )
    of_folder.add_argument("--device", default="cpu", help="as torch names it (%(default)s)")
    return p


def check(options: argparse.Namespace) -> None:
    """Raise Unusable for what could not work, before minutes are spent."""
    if not -SEEDS <= options.seed < SEEDS:
        raise Unusable(f"--seed must be from {-SEEDS} to {SEEDS - 1}, not {options.seed}")
    if options.capacity < 1:
        raise Unusable(f"--capacity must be at least 1, not {options.capacity}")
    if not options.call_seconds > 0:
        raise Unusable(f"--call-seconds must be above 0, not {options.call_seconds:g}")
    for name in filter(None, (options.json, options.junit)):
        file = Path(name).resolve()
        if file.is_dir() or not file.parent.is_dir():
            raise Unusable(
                f"{name} cannot be written: {'it is a folder' if file.is_dir() else f'no folder {file.parent}'}"
            )


def run(target: Target, options: argparse.Namespace) -> Report:
    ids = options.prompt_ids
    prompt = None if ids is None else torch.tensor([ids], device=target.device)
    try:
        report = audit(
            target.decoder,
            target.reference,
            prompt=prompt,
            seed=options.seed,
            float64=target.float64,
            explain=not options.quick,
            call_seconds=options.call_seconds,
        )
    except (ValueError, TypeError) as error:  # what cannot be audited at all is said in words
        raise Unusable(str(error)) from error
    report.notes += [target.note] if target.note else []
    return report


def write(report: Report, name: str, options: argparse.Namespace) -> None:
    if options.json:
        Path(options.json).write_text(report.to_json() + "\n", encoding="utf-8")
    if options.junit:
        junit(report, name).write(options.junit, encoding="utf-8", xml_declaration=True)


if __name__ == "__main__":
    sys.exit(main())
