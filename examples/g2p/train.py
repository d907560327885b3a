# SPDX-License-Identifier: Apache-2.0
"""Train the grapheme-to-phoneme model on the CPU within a wall-clock budget.

The learning rate warms up and then falls linearly to zero as the budget is
used up, so the run ends on time whatever else the machine does.  A stopped
run resumes from its checkpoint and spreads the rest of its schedule over the
new budget.  The weights exported, with every checkpoint and at the end, to
g2p.safetensors in the run's folder are an exponential moving average.

examples:
  train.py --run /tmp/g2p --minutes 100            a fresh run
  train.py --run /tmp/g2p --until 11:20            go on, to finish at 11:20
  train.py --run /tmp/g2p --minutes 1 --no-resume  start over
"""
import argparse
import datetime
import math
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn import functional as F

import data
import weights
from batches import GROUP, encode_pairs, epoch_batches, pack
from model import CONFIG, Transformer, masks

WARM_UP = 400  # steps
EMA = 0.999
BETAS = (0.9, 0.98)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="folder of the checkpoint and weights")
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--minutes", type=float, help="wall-clock budget")
    budget.add_argument("--until", help="time of day to finish at, HH:MM UTC")
    parser.add_argument("--no-resume", action="store_true", help="ignore a checkpoint")
    parser.add_argument("--workers", type=int, default=2, help="processes, one core each")
    parser.add_argument("--batch", type=int, default=192, help="words a worker and step")
    parser.add_argument("--rate", type=float, default=2e-3, help="peak learning rate")
    parser.add_argument("--decay", type=float, default=0.01, help="weight decay")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--smoothing", type=float, default=0.1, help="label smoothing")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-every", type=float, default=3, help="minutes")
    options = parser.parse_args()
    if options.batch % GROUP:
        parser.error(f"--batch must be a multiple of {GROUP}")
    options.start = time.time()
    if options.until:
        now = datetime.datetime.utcnow()
        end = datetime.datetime.strptime(options.until, "%H:%M").replace(
            year=now.year, month=now.month, day=now.day)
        options.minutes = (end - now).total_seconds() % 86400 / 60
    return options


def batch_loss(model, batch, smoothing):
    source, source_positions = pack([s for s, _ in batch])
    target, target_positions = pack([t[:-1] for _, t in batch])
    labels, _ = pack([t[1:] for _, t in batch])
    own, causal, cross = masks(source, target, GROUP, data.PAD)
    memory = model.encode(source, source_positions, own)
    logits = model.decode(target, target_positions, causal, memory, cross)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(),
                           ignore_index=data.PAD, label_smoothing=smoothing)


def flatten(model):
    """Make all parameters views of one vector, their gradients of another."""
    parameters = list(model.parameters())
    flat = torch.cat([p.data.flatten() for p in parameters])
    grad, start = torch.zeros(len(flat) + 1), 0
    for p in parameters:
        end = start + p.numel()
        p.data, p.grad = flat[start:end].view_as(p), grad[start:end].view_as(p)
        start = end
    return flat, grad  # the gradient's extra element carries the clock


class Optimizer:
    """AdamW on one vector, the gradient's norm clipped to 1, and the average."""

    def __init__(self, flat, decay):
        self.flat, self.decay, self.steps = flat, decay, 0
        self.mean, self.square = torch.zeros_like(flat), torch.zeros_like(flat)
        self.average = flat.clone()

    def step(self, grad, rate):
        self.steps += 1
        a, b = BETAS
        grad = grad * min(1.0, 1.0 / (float(grad.norm()) + 1e-6))
        self.mean.lerp_(grad, 1 - a)
        self.square.mul_(b).addcmul_(grad, grad, value=1 - b)
        scale = math.sqrt(1 - b ** self.steps) / (1 - a ** self.steps)
        self.flat.mul_(1 - rate * self.decay)
        self.flat.addcdiv_(self.mean, self.square.sqrt().add_(1e-9), value=-rate * scale)
        self.average.lerp_(self.flat, 1 - min(EMA, (1 + self.steps) / (10 + self.steps)))


class Trainer:
    """One worker's share of the run; worker 0 also reports and saves."""

    def __init__(self, rank, options):
        self.rank, self.options = rank, options
        train = data.load()["train"]
        self.letters, self.phones = data.vocabularies(train)
        self.pairs = encode_pairs(train, self.letters, self.phones)
        torch.manual_seed(options.seed)  # the same initial weights in all workers
        self.model = Transformer(len(self.letters), len(self.phones), CONFIG,
                                 options.dropout)
        flat, self.grad = flatten(self.model)
        self.optimizer = Optimizer(flat, options.decay)
        self.epoch = 0
        self.begun = self.seconds = 0.0  # schedule and time used before this start
        self.checkpoint = os.path.join(options.run, "checkpoint.pt")
        if os.path.exists(self.checkpoint) and not options.no_resume:
            self.resume()
        self.spent = self.begun  # the fraction of the schedule used
        torch.manual_seed(options.seed + 1000 * self.epoch + rank)  # dropout's

    def resume(self):
        state = torch.load(self.checkpoint)
        for name in ("flat", "mean", "square", "average"):
            getattr(self.optimizer, name).copy_(state[name])
        self.optimizer.steps, self.epoch = state["step"], state["epoch"]
        self.begun, self.seconds = state["spent"], state["seconds"]

    def elapsed(self):
        return time.time() - self.options.start

    def save(self):
        optimizer = self.optimizer
        state = {"flat": optimizer.flat, "mean": optimizer.mean, "square": optimizer.square,
                 "average": optimizer.average, "step": optimizer.steps, "epoch": self.epoch,
                 "spent": self.spent, "seconds": self.seconds + self.elapsed()}
        torch.save(state, self.checkpoint + ".new")
        os.replace(self.checkpoint + ".new", self.checkpoint)
        current = optimizer.flat.clone()
        optimizer.flat.copy_(optimizer.average)
        weights.export(self.model, CONFIG, self.letters, self.phones,
                       os.path.join(self.options.run, "g2p.safetensors"))
        optimizer.flat.copy_(current)

    def step(self, batch):
        """One step of all workers together; returns this worker's loss."""
        options = self.options
        used = self.elapsed() / (60 * options.minutes)
        self.grad.zero_()
        self.grad[-1] = self.begun + (1 - self.begun) * used
        loss = batch_loss(self.model, batch[self.rank::options.workers], options.smoothing)
        loss.backward()
        dist.all_reduce(self.grad)
        self.grad /= options.workers
        self.spent = min(float(self.grad[-1]), 1.0)  # the same in all workers
        warm = min((self.optimizer.steps + 1) / WARM_UP, 1)
        self.optimizer.step(self.grad[:-1], options.rate * warm * (1 - self.spent))
        return float(loss)

    def batches(self):
        """Batches without end, for all workers alike."""
        while True:
            generator = torch.Generator().manual_seed(self.options.seed + self.epoch)
            size = self.options.batch * self.options.workers
            yield from epoch_batches(self.pairs, size, generator)
            self.epoch += 1

    def run(self):
        saved, losses = time.time(), []
        self.say(f"{len(self.optimizer.flat)} parameters, {len(self.pairs)} pairs, "
                 f"{self.options.minutes:.1f} minutes from step {self.optimizer.steps}")
        for batch in self.batches():
            losses.append(self.step(batch))
            if self.optimizer.steps % 50 == 0:
                self.say(f"{time.strftime('%H:%M:%S')} step {self.optimizer.steps} "
                         f"epoch {self.epoch} spent {self.spent:.4f} "
                         f"loss {sum(losses) / len(losses):.4f}")
                losses = []
            done = self.spent >= 1
            late = time.time() - saved > 60 * self.options.save_every
            if self.rank == 0 and (done or late):
                self.save()
                saved = time.time()
            if done:
                break
        self.say(f"done: {self.optimizer.steps} steps, {self.epoch} whole epochs, "
                 f"{self.seconds + self.elapsed():.0f} s")

    def say(self, text):
        if self.rank == 0:
            print(text, flush=True)


def worker(rank, options):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=options.workers,
                            init_method=f"file://{options.run}/rendezvous")
    Trainer(rank, options).run()


def main():
    options = arguments()
    options.run = os.path.abspath(options.run)
    os.makedirs(options.run, exist_ok=True)
    rendezvous = os.path.join(options.run, "rendezvous")
    if os.path.exists(rendezvous):
        os.remove(rendezvous)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    mp.spawn(worker, (options,), options.workers)


if __name__ == "__main__":
    main()
