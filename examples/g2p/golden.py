# SPDX-License-Identifier: Apache-2.0
"""Write golden data for the tests of the C implementation.

For 200 test-split words: the model's greedy output, </s> included, and the
log-probabilities over all phones at each of its steps, computed in one
teacher-forced pass.  The words are the first by FNV-1a hash of the word with
the prefix "golden:".

  offsets   I32 [words + 1]     word i has the steps offsets[i] .. offsets[i+1]
  tokens    I32 [steps]         the token chosen at each step
  logprobs  F32 [steps, phones] log-softmax of the logits at each step
  words     U8  [bytes]         the words, each followed by a newline

The decoder's input is <s> and the word's tokens less the last.

examples:
  golden.py                             write golden.safetensors
  golden.py --weights w --output g      from and to other files
"""
import argparse
import os

import torch

import data
import evaluate
import weights

HERE = evaluate.HERE


@torch.no_grad()
def forced_logprobs(model, source, target):
    """Log-probabilities [len(target), phones] of one word, teacher-forced."""
    source = torch.tensor([source])
    inputs = torch.tensor([[data.BOS] + target[:-1]])
    steps = inputs.shape[1]
    causal = torch.full((steps, steps), -1e9).triu(1)[None, None]
    memory = model.encode(source, torch.arange(source.shape[1]), 0.0)
    logits = model.decode(inputs, torch.arange(steps), causal, memory, 0.0)
    return torch.log_softmax(logits[0], -1)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default=os.path.join(HERE, "g2p.safetensors"))
    parser.add_argument("--output", default=os.path.join(HERE, "golden.safetensors"))
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    test = sorted(data.load()["test"], key=lambda word: data.fnv1a("golden:" + word))
    words = test[:options.count]
    outputs = evaluate.pronounce(options.weights, words)
    model, letters, phones = weights.load(options.weights)
    offsets, tokens, logprobs = [0], [], []
    for word in words:
        source = [letters.index(c) for c in word] + [data.EOS]
        target = [phones.index(p) for p in outputs[word]] + [data.EOS]
        steps = forced_logprobs(model, source, target)
        assert steps.argmax(-1).tolist() == target, word
        logprobs.append(steps)
        tokens += target
        offsets.append(len(tokens))
    text = "".join(word + "\n" for word in words).encode()
    weights.write(options.output, {
        "offsets": torch.tensor(offsets, dtype=torch.int32),
        "tokens": torch.tensor(tokens, dtype=torch.int32),
        "logprobs": torch.cat(logprobs),
        "words": torch.tensor(list(text), dtype=torch.uint8)})
    print(f"{len(words)} words, {len(tokens)} steps, "
          f"{os.path.getsize(options.output)} bytes")


if __name__ == "__main__":
    main()
