# SPDX-License-Identifier: Apache-2.0
"""The pronunciation dictionary: parsing, split, vocabularies and metrics.

A word is lower-case letters and apostrophes; a pronunciation is a tuple of
phones without stress or syllables.  A word may have several pronunciations:
all are trained on, and an output is right if it equals any of them.
Run this file to print the counts and checksums of the splits.
"""
import hashlib
import re

DICTIONARY = "/usr/share/festival/dicts/cmu/cmudict-0.4.out"
SPECIALS = ["<pad>", "<s>", "</s>"]
PAD, BOS, EOS = range(3)

ENTRY = re.compile(r'^\("([^"]*)" \S+ \((.*)\)\)$')
SYLLABLE = re.compile(r"\(\(([a-z ]+)\) \d\)")


def read_dictionary(path=DICTIONARY):
    """Return ({word: [pronunciation, ...]}, number of entries dropped)."""
    words, dropped = {}, 0
    with open(path, encoding="latin-1") as lines:
        for line in lines:
            if not line.startswith("("):
                continue  # the file's "MNCL" heading
            entry = ENTRY.match(line.rstrip())
            word = entry.group(1).lower() if entry else ""
            if not re.fullmatch("[a-z']+", word):
                dropped += 1
                continue
            syllables = SYLLABLE.findall(entry.group(2))
            phones = tuple(" ".join(syllables).split())
            pronunciations = words.setdefault(word, [])
            if phones not in pronunciations:
                pronunciations.append(phones)
    return words, dropped


def fnv1a(text):
    """The 32-bit FNV-1a hash of a word's bytes."""
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def split_of(word):
    """'train', 'dev' or 'test': 90, 5 and 5 percent of the words."""
    bucket = fnv1a(word) % 100
    return "train" if bucket < 90 else "dev" if bucket < 95 else "test"


def load(path=DICTIONARY):
    """Return {split: {word: [pronunciation, ...]}}, words in sorted order."""
    words, _ = read_dictionary(path)
    splits = {"train": {}, "dev": {}, "test": {}}
    for word in sorted(words):
        splits[split_of(word)][word] = words[word]
    return splits


def vocabularies(train):
    """Token lists, in id order, of the letters and phones of the train split."""
    letters = {letter for word in train for letter in word}
    phones = {phone for refs in train.values() for ref in refs for phone in ref}
    return SPECIALS + sorted(letters), SPECIALS + sorted(phones)


def edit_distance(a, b):
    """Levenshtein distance of two sequences."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            best = min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
            diagonal, row[j] = row[j], best
    return row[-1]


def error_rates(outputs, references):
    """Return (WER, PER) of {word: phones} against {word: [phones, ...]}.

    PER is the summed distance to each word's nearest reference over the
    summed length of those references (the first listed one on a tie).
    """
    wrong = errors = length = 0
    for word, output in outputs.items():
        distances = [edit_distance(output, ref) for ref in references[word]]
        nearest = min(distances)
        wrong += nearest > 0
        errors += nearest
        length += len(references[word][distances.index(nearest)])
    return wrong / len(outputs), errors / length


def main():
    words, dropped = read_dictionary()
    pairs = sum(map(len, words.values()))
    print(f"{len(words)} words, {pairs} pronunciations, {dropped} entries dropped")
    splits = load()
    for name, split in splits.items():
        digest = hashlib.sha256("\n".join(split).encode()).hexdigest()
        print(f"{name}: {len(split)} words, {sum(map(len, split.values()))} "
              f"pronunciations, sha256 {digest}")
    for name, tokens in zip(("letters", "phones"), vocabularies(splits["train"])):
        print(f"{name}: {len(tokens)} tokens: {' '.join(tokens)}")


if __name__ == "__main__":
    main()
