# SPDX-License-Identifier: Apache-2.0
"""Training batches: words of like lengths, several to a row, little padding."""
import torch

import data

GROUP = 4  # words side by side in a row: fewer, larger attention products


def encode_pairs(train, letters, phones):
    """All pronunciations of the training words as (letters, phones) ids."""
    letter = {token: i for i, token in enumerate(letters)}
    phone = {token: i for i, token in enumerate(phones)}
    return [([letter[c] for c in word] + [data.EOS],
             [data.BOS] + [phone[p] for p in reference] + [data.EOS])
            for word, references in train.items() for reference in references]


def epoch_batches(pairs, size, generator):
    """Shuffled batches of words of like lengths; a random remainder is left out."""
    order = torch.randperm(len(pairs), generator=generator).tolist()
    order = order[:len(order) // size * size]
    order.sort(key=lambda i: (len(pairs[i][0]), len(pairs[i][1])))
    for start in torch.randperm(len(order) // size, generator=generator).tolist():
        yield [pairs[i] for i in order[start * size:(start + 1) * size]]


def pack(sequences):
    """Pad to the longest, put GROUP words in each row; return ids, positions."""
    longest = max(map(len, sequences))
    ids = torch.tensor([s + [data.PAD] * (longest - len(s)) for s in sequences])
    return ids.view(-1, GROUP * longest), torch.arange(longest).repeat(GROUP)
