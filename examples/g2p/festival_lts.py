# SPDX-License-Identifier: Apache-2.0
"""Word and phone error rates of Festival's own letter-to-sound rules.

Each word goes to `lts_predict` with `cmu_lts_rules`, the trees that Festival
uses for words missing from this dictionary; the dictionary itself is never
looked up.  The rules answer with stressed phones such as "ax0"; the digit is
removed, and the phones left are the dictionary's own, so nothing else is
mapped (the script says so if one is not).  Words and metrics are those of
data.py.

The comparison favours the rules: they were trained on this dictionary by a
split of their own, so they have seen about nine tenths of the test words.  On
the words they had not seen, the head of the rules' file reports 51.64 % right
(of 10,458; there a phone's stress must be right too).

examples:
  festival_lts.py              the test split
  festival_lts.py --split dev  the dev split
"""
import argparse
import os
import subprocess
import tempfile

import data

RULES = "/usr/share/festival/dicts/cmu/cmu_lts_rules.scm"
SCRIPT = """(require 'lts)
(load "{rules}")
(mapcar
 (lambda (word)
   (format t "lts %s %l\\n" word (lts_predict word cmu_lts_rules)))
 '({words}))
"""


def predict(words):
    """Return {word: phones} by one run of Festival."""
    quoted = " ".join(f'"{word}"' for word in words)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "predict.scm")
        with open(path, "w") as script:
            script.write(SCRIPT.format(rules=RULES, words=quoted))
        run = subprocess.run(["festival", "-b", path], check=True, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    outputs = {}
    for line in run.stdout.splitlines():
        if line.startswith("lts "):
            _, word, phones = line.split(" ", 2)
            phones = "" if phones == "nil" else phones.strip("()")
            outputs[word] = tuple(p.rstrip("012") for p in phones.split())
    return outputs


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", default="test", choices=("train", "dev", "test"))
    options = parser.parse_args()
    splits = data.load()
    references = splits[options.split]
    outputs = predict(references)
    missing = len(references) - len(outputs)
    for word in references:
        outputs.setdefault(word, ())  # no answer counts as an empty one
    known = set(data.vocabularies(splits["train"])[1])
    foreign = {phone for output in outputs.values() for phone in output} - known
    wer, per = data.error_rates(outputs, references)
    print(f"{options.split}: {len(references)} words, {missing} without an answer, "
          f"phones not in the dictionary: {' '.join(sorted(foreign)) or 'none'}")
    print(f"cmu_lts_rules: WER {100 * wer:.2f} %, PER {100 * per:.2f} %")


if __name__ == "__main__":
    main()
