# SPDX-License-Identifier: Apache-2.0
"""Word and phone error rates of exported weights, by greedy or beam search.

The search, for one word.  A hypothesis is a token sequence and its score, the
sum of its tokens' log-probabilities, that of </s> included (float32 values
summed in double precision).  The live set starts as {<s>: 0}.  Then, at most
`fovea.max_target` times:

 1. extend every live hypothesis by every token of the vocabulary;
 2. keep the `beam` best candidates by score (on a tie the lower token id,
    then the lower parent, is first); those that end in </s> become finished,
    the others are the new live set, in this order;
 3. stop if `beam` or more are finished, if none is live, or if some are
    finished and the best live score is not above the worst finished one.

The result is the finished hypothesis of the best score (the earlier one on a
tie), or the best live one if none finished.  There is no length normalisation
(on the dev split it makes no difference).  With --beam 1 this is greedy search.

examples:
  evaluate.py                            greedy, test split
  evaluate.py --beam 5 --split dev       beam search, dev split
  evaluate.py --beam 5 --limit 500       the first 500 words only
  evaluate.py --words fovea transformer  print pronunciations
"""
import argparse
import os
import time

import torch

import data
import weights

HERE = os.path.dirname(os.path.abspath(__file__))


def search_step(model, words, memory, live):
    """Log-probabilities of the next token, sorted, of all live hypotheses."""
    rows = [i for i in words for _ in live[i]]
    prefixes = torch.tensor([tokens for i in words for _, tokens in live[i]])
    length = prefixes.shape[1]
    causal = torch.full((length, length), -1e9).triu(1)[None, None]
    logits = model.decode(prefixes, torch.arange(length), causal, memory[rows], 0.0)
    logprobs = torch.log_softmax(logits[:, -1], -1)
    values, tokens = logprobs.sort(dim=-1, descending=True, stable=True)
    return values.tolist(), tokens.tolist()


def beam_search(model, sources, beam, max_target, alpha=0.0):
    """Search for equally long sources; return a token list for each."""
    positions = torch.arange(sources.shape[1])
    memory = model.encode(sources, positions, 0.0)
    live = [[(0.0, [data.BOS])] for _ in sources]
    finished = [[] for _ in sources]
    active = list(range(len(sources)))
    for _ in range(max_target):
        values, tokens = search_step(model, active, memory, live)
        row, still = 0, []
        for i in active:
            candidates = []
            for parent, (score, _) in enumerate(live[i]):
                for value, token in zip(values[row][:beam], tokens[row]):
                    candidates.append((-(score + value), token, parent))
                row += 1
            parents, live[i] = live[i], []
            for cost, token, parent in sorted(candidates)[:beam]:
                done = token == data.EOS
                hypothesis = (-cost, parents[parent][1] + [token])
                (finished[i] if done else live[i]).append(hypothesis)
            if live[i] and len(finished[i]) < beam and not (
                    finished[i] and live[i][0][0] <= min(finished[i])[0]):
                still.append(i)
        active = still
        if not active:
            break

    def value(hypothesis):  # alpha > 0 was tried on the dev split only
        return hypothesis[0] / (len(hypothesis[1]) - 1) ** alpha
    best = [max(ended or going, key=value)[1] for ended, going in zip(finished, live)]
    return [[t for t in tokens[1:] if t != data.EOS] for tokens in best]


@torch.no_grad()
def pronounce(path, words, beam=1, alpha=0.0, batch=64):
    """Return {word: phones} by the weights in `path`."""
    model, letters, phones = weights.load(path)
    letter = {token: i for i, token in enumerate(letters)}
    by_length, outputs = {}, {}
    for word in words:
        by_length.setdefault(len(word), []).append(word)
    for group in by_length.values():
        for start in range(0, len(group), batch):
            chunk = group[start:start + batch]
            ids = torch.tensor([[letter[c] for c in w] + [data.EOS] for w in chunk])
            results = beam_search(model, ids, beam, weights.MAX_TARGET, alpha)
            for word, tokens in zip(chunk, results):
                outputs[word] = tuple(phones[t] for t in tokens)
    return outputs


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default=os.path.join(HERE, "g2p.safetensors"))
    parser.add_argument("--split", default="test", choices=("train", "dev", "test"))
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--alpha", type=float, default=0.0,
                        help="divide scores by length^alpha to choose the result")
    parser.add_argument("--limit", type=int, help="evaluate this many words")
    parser.add_argument("--words", nargs="+", help="print these words' phones")
    options = parser.parse_args()
    if options.words:
        outputs = pronounce(options.weights, options.words, options.beam, options.alpha)
        for word in options.words:
            print(word, *outputs[word])
        return
    references = data.load()[options.split]
    words = list(references)[:options.limit]
    start = time.time()
    outputs = pronounce(options.weights, words, options.beam, options.alpha)
    wer, per = data.error_rates(outputs, references)
    print(f"{options.split}: {len(words)} words, beam {options.beam}: "
          f"WER {100 * wer:.2f} %, PER {100 * per:.2f} % "
          f"({time.time() - start:.0f} s)")


if __name__ == "__main__":
    main()
