"""Train a ledger model: python -m helpers.ledger.train --positions learned --seed 0

Writes ledger-….safetensors and a record of the training, ledger-….json, beside this script. One core, some ten minutes.
"""

import argparse
import json
import math
import random
import time
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

from ..config import Config
from ..model import CausalAttention
from . import FOLDER, corpus
from .aids import Trainee, losses
from .measure import exact_share
from .samples import collate, sample
from .tokenizer import TOKENIZER

STAGES = (  # sizes (records, asked), rows in a batch, ends at this copy accuracy or at this step
    (lambda rng: (2, 1), 24, 0.95, 450),
    (lambda rng: (rng.randint(2, 4), rng.choice((1, 2))), 20, 0.90, 900),
    (corpus.draw_size, 16, None, None),
)


class Training:
    """One run: the trainee, its optimizer, its stream of batches, and where it stands."""

    def __init__(self, positions, seed, steps):
        torch.manual_seed(seed)
        self.trainee = Trainee(Config(vocab_size=TOKENIZER.vocab_size, positions=positions))
        self.seed, self.steps, self.step, self.stage, self.copied = seed, steps, 0, 0, 0.0
        self.optimizer = make_optimizer(self.trainee)
        self.rate = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: schedule(step, steps))
        self.stream = batches(random.Random(seed), lambda: self.stage)
        self.begin = time.process_time()

    def run(self):
        """The trained `MiniGPT` in eval mode, and the figures of the run."""
        while self.step < self.steps:
            self.step += 1
            parts = self.one_step()
            if self.step % 50 == 0:
                self.report(parts)
            self.next_stage()
        self.trainee.attention_class(CausalAttention)
        figures = {
            "seed": self.seed,
            "steps": self.steps,
            "cpu_seconds": self.seconds(),
            "copied": round(self.copied, 4),
        }
        return self.trainee.model.eval(), figures

    def one_step(self):
        parts, copied = losses(self.trainee, next(self.stream))
        self.optimizer.zero_grad()
        (0.5 * sum(parts.values()) + 0.5 * parts["note"]).backward()  # the aids count half
        nn.utils.clip_grad_norm_(self.trainee.parameters(), 1.0)
        self.optimizer.step()
        self.rate.step()
        self.copied += 0.05 * (copied - self.copied)  # a running mean over about 20 steps
        return parts

    def next_stage(self):
        _, _, enough, latest = STAGES[self.stage]
        if enough and (self.copied > enough or self.step >= latest):
            self.stage, self.copied = self.stage + 1, 0.0

    def report(self, parts):
        shown = "  ".join(f"{name} {loss:.3f}" for name, loss in parts.items())
        print(
            f"step {self.step:4}  stage {self.stage + 1}  copied {self.copied:.3f}  {shown}  {self.seconds()} s",
            flush=True,
        )

    def seconds(self):
        return round(time.process_time() - self.begin)


def make_optimizer(trainee):
    """AdamW; only matrices decay."""
    matrices = [p for p in trainee.parameters() if p.dim() == 2]
    others = [p for p in trainee.parameters() if p.dim() != 2]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=2e-3, betas=(0.9, 0.98))


def schedule(step, steps):
    """Share of the learning rate: 100 steps of warm-up, flat to the middle, cosine to 2 %."""
    late = max(0.0, 2 * step / steps - 1)
    return min(1.0, (step + 1) / 100) * (0.02 + 0.98 * (1 + math.cos(math.pi * late)) / 2)


def batches(rng, stage):
    """Endless batches; `stage()` tells the current stage. Neighbours in length share a batch, so little is padded."""
    while True:
        sizes, rows, *_ = STAGES[stage()]
        pool = [sample(corpus.draw(rng, *sizes(rng), held_out=False)) for _ in range(8 * rows)]
        pool.sort(key=lambda s: len(s.ids))
        cuts = list(range(0, len(pool), rows))
        rng.shuffle(cuts)
        for cut in cuts:
            yield collate(rng, pool[cut : cut + rows])


def main():
    parser = argparse.ArgumentParser(description="Train a ledger model and write it, with a record of the training.")
    parser.add_argument("--positions", choices=("learned", "rope"), default="learned")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    args = parser.parse_args()
    torch.set_num_threads(1)  # so small a model gains nothing from a second core
    model, figures = Training(args.positions, args.seed, args.steps).run()
    figures["exact"] = exact_share(model, corpus.held_out(400))
    print(figures)
    save_file(model.state_dict(), args.folder / f"ledger-{args.positions}.safetensors")
    record = json.dumps({"config": asdict(model.config), "training": figures}, indent=2)
    (args.folder / f"ledger-{args.positions}.json").write_text(record + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
