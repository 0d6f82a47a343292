"""What a timing must be read with: device, dtype, threads, batch, length, processor, versions."""

import platform
import subprocess
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import torch


@dataclass(frozen=True)
class Setup:
    """Under what a timing was taken. `length`: tokens in the sequence, where there is one."""

    device: str
    dtype: str
    threads: int
    batch: int
    length: int | None
    processor: str
    system: str
    python: str
    torch: str
    transformers: str | None

    def __str__(self):
        library = f", transformers {self.transformers}" if self.transformers else ""
        length = f", length {self.length}" if self.length else ""
        return (
            f"On {self.processor}, {self.system}: device {self.device}, {self.dtype}, threads: {self.threads}, "
            f"batch {self.batch}{length}; Python {self.python}, torch {self.torch}{library}."
        )

    def to_dict(self):
        return asdict(self)


def describe(device="cpu", dtype=torch.float32, batch=1, length=None):
    """The `Setup` of this process."""
    return Setup(
        device=str(device),
        dtype=str(dtype).removeprefix("torch."),
        threads=torch.get_num_threads(),
        batch=batch,
        length=length,
        processor=processor(device),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        torch=torch.__version__,
        transformers=version("transformers"),
    )


def version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def processor(device="cpu"):
    """The name of the processor or graphics card that computes, as the system gives it."""
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_name(device)
    if platform.system() == "Linux":
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        return next(named, platform.machine())  # ARM's cpuinfo has no names
    if platform.system() == "Darwin":
        asked = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True)
        return asked.stdout.strip() or platform.machine()
    return platform.processor() or platform.machine()
