"""`python -m helpers audit MODEL_DIR`: audit a saved `transformers` model, from local files only.

Exit code: 0 equal (or rounding), 1 the cached path is wrong, 2 nothing could be judged (or the folder cannot be used).
"""

import argparse
import os
import sys
from pathlib import Path
from xml.etree import ElementTree

import torch

from .audit import audit
from .report.report import VERDICTS
from .subject.inputs import check_prompt

DTYPES = {name: getattr(torch, name) for name in ("float64", "float32", "bfloat16", "float16")}
WEIGHTS = ("*.safetensors", "*.bin")


class Unusable(Exception):
    """The folder or its model cannot be audited; the text says why and what to do."""


def main(argv=None):
    """Audit what the command line asks for; prints the report and returns the exit code."""
    options = parser().parse_args(argv)
    try:
        model = load(Path(options.model_dir), options.dtype, options.device)
        report = audit_model(model, options)
    except Unusable as why:
        print(f"audit: {why}", file=sys.stderr)
        return 2
    print(report)
    if options.json:
        Path(options.json).write_text(report.to_json() + "\n", encoding="utf-8")
    if options.junit:
        junit(report, Path(options.model_dir).resolve().name).write(
            options.junit, encoding="utf-8", xml_declaration=True
        )
    return report.exit_code


def parser():
    p = argparse.ArgumentParser(
        prog="python -m helpers audit",
        description="Compare a saved transformers model's cached decoding with its uncached forward.",
        epilog="Exit code: " + "; ".join(f"{code} = {verdict}" for verdict, (code, _) in VERDICTS.items()) + ".",
    )
    p.add_argument("model_dir", help="a folder with config.json and weights, as save_pretrained writes it")
    p.add_argument(
        "--cache", choices=("dynamic", "full", "static"), default="dynamic", help="which cache (%(default)s)"
    )
    p.add_argument("--capacity", type=int, default=48, help="rows of a static cache (%(default)s)")
    p.add_argument("--dtype", choices=("auto", *DTYPES), default="auto", help="of the weights; auto: as they are saved")
    p.add_argument("--device", default="cpu", help="as torch names it (%(default)s)")
    p.add_argument(
        "--float64",
        choices=("auto", "always", "never"),
        default="auto",
        help="judge the logic on a float64 copy of the weights; auto: where it fits into half of the free memory",
    )
    p.add_argument("--prompt-ids", type=int, nargs="+", metavar="ID", help="token ids of the main script's prompt")
    p.add_argument("--seed", type=int, default=0, help="of the random tokens (%(default)s)")
    p.add_argument("--quick", action="store_true", help="the verdict only: no suspects, no sensitivity")
    p.add_argument("--json", metavar="FILE", help="write the report as JSON")
    p.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML, one test case a script")
    return p


def load(folder, dtype="auto", device="cpu"):
    """The causal language model in `folder`, in evaluation mode. Raises Unusable; never asks a hub."""
    check_folder(folder)
    transformers = library()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    wanted = DTYPES.get(dtype, "auto")
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        check_causal(transformers, config, folder)
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            folder, config=config, local_files_only=True, dtype=wanted, output_loading_info=True
        )
        model = model.to(device).eval()
    except Unusable:
        raise
    except Exception as error:  # whatever the library says of a folder it cannot read
        raise Unusable(f"{folder} could not be loaded: {type(error).__name__}: {error}") from error
    if info["missing_keys"]:
        some = ", ".join(sorted(info["missing_keys"])[:3])
        raise Unusable(f"{folder}: {len(info['missing_keys'])} weights are missing and would be random ({some}, …)")
    return model


def library():
    try:
        import transformers

        from .hf import check_version

        check_version(transformers.__version__)
    except ImportError as error:
        hint = "" if "installed" in str(error) else '; install it: pip install "transformers>=5.10,<6"'
        raise Unusable(f"{error}{hint}") from error
    return transformers


def check_folder(folder):
    if not folder.is_dir():
        raise Unusable(f"there is no folder {folder} (models are read from disk; nothing is downloaded)")
    if not (folder / "config.json").is_file():
        raise Unusable(f"{folder} has no config.json: save the model with model.save_pretrained({str(folder)!r})")
    if not any(any(folder.glob(pattern)) for pattern in WEIGHTS):
        raise Unusable(f"{folder} has a config.json but no weights ({' or '.join(WEIGHTS)})")


def check_causal(transformers, config, folder):
    known = transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    name, saved_as = known.get(config.model_type), config.architectures or []
    names = name if isinstance(name, (list, tuple)) else [name]
    if name is None or (saved_as and not set(saved_as) & set(names)):
        what = " or ".join(saved_as) or config.model_type
        raise Unusable(f"{folder} holds a {what}, which is not a causal language model: there is no cached decoding")


def audit_model(model, options):
    from .hf import HFDecoder, HFReference
    from .hf.reference import LONGEST

    float64, note = wants_float64(model, options.float64)
    prompt = None if options.prompt_ids is None else torch.tensor([options.prompt_ids], device=model.device)
    try:
        decoder, reference = HFDecoder(model, options.cache, options.capacity), HFReference(model)
        check_prompt(prompt, None, reference.vocab_size, min(reference.block_size, decoder.capacity or LONGEST))
    except ValueError as error:
        raise Unusable(str(error)) from error
    report = audit(decoder, reference, prompt=prompt, seed=options.seed, float64=float64, explain=not options.quick)
    report.notes += [note] if note else []
    return report


def wants_float64(model, choice):
    """(whether to make a float64 copy, a note where it was left out for want of memory)."""
    need, free = 8 * sum(p.numel() for p in model.parameters()), free_memory(model.device)
    if choice != "auto" or free is None or need <= free / 2:
        return choice != "never", None
    words = f"it takes {need / 1e9:.1f} GB, {free / 1e9:.1f} GB are free; --float64 always makes it anyway"
    return False, f"no float64 copy was made: {words}"


def free_memory(device):
    """Bytes of free memory where the model is; None where the system does not say."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def junit(report, name):
    """The report as JUnit XML: one test case a script, and one for the verdict (which also fails by itself)."""
    suite = ElementTree.Element("testsuite", name=f"cached equals uncached: {name}", time=f"{report.seconds:.3f}")
    for r in report.results:
        case = ElementTree.SubElement(suite, "testcase", classname=f"audit.{name}", name=r.name)
        if r.status == "not exercised":
            ElementTree.SubElement(case, "skipped", message=clean(r.problem))
        elif not report.ok and r.status in ("differs", "error"):
            words = r.problem or f"differs by {max(r.diffs):.3g} from step {r.first[0]}, row {r.first[1]} on: {r.about}"
            ElementTree.SubElement(case, "failure", message=clean(words)).text = clean(report)
    case = ElementTree.SubElement(suite, "testcase", classname=f"audit.{name}", name="verdict")
    if not report.ok:
        suspects = "".join(f" Suspect: {s.words} (look at: {s.look})." for s in report.suspects)
        ElementTree.SubElement(case, "failure", message=clean(f"{report.verdict}: {report.summary}{suspects}"))
    ElementTree.SubElement(case, "system-out").text = clean(report)
    for kind, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
        suite.set(kind, str(len(list(suite.iter(tag)))))
    suite.set("errors", "0")
    return ElementTree.ElementTree(suite)


def clean(text):
    """Without the control characters that XML does not allow."""
    return "".join(c for c in str(text) if c >= " " or c in "\n\t")


if __name__ == "__main__":
    sys.exit(main())
