# SPDX-License-Identifier: Apache-2.0
"""Innermost loops of compiled functions, and what stands in one: the code of gcc and of clang, from the text of GNU's
objdump or LLVM's."""
import re
import subprocess

FMA = re.compile(r"v?fn?m(add|sub)(\d+)?[sp]s$|fml[as]$")


class Instruction:
    """One line of a disassembly."""

    def __init__(self, address, text):
        words = text.split(None, 1)
        while len(words) > 1 and words[0] in ("cs", "ds", "data16", "notrack"):  # padding, not part of the mnemonic
            words = words[1].split(None, 1)
        self.address, self.mnemonic, self.operands = address, words[0], words[1] if len(words) > 1 else ""
        self.operands = self.operands.replace("{ ", "{").replace(" }", "}")

    def target(self):
        """Where it jumps to, or None."""
        jump = re.match(r"(j\w+|b|b\.\w+|cbn?z|tbn?z)$", self.mnemonic)
        place = re.search(r"(?:^|[, x])([0-9a-f]+) <", self.operands)
        return int(place.group(1), 16) if jump and place else None


class Loop:
    """The instructions from the target of a backward jump to the jump."""

    def __init__(self, function, frame, instructions):
        self.function, self.frame, self.instructions = function, frame, instructions

    def count(self, condition):
        return sum(bool(condition(i)) for i in self.instructions)

    def is_fma(self, i):
        return bool(FMA.match(i.mnemonic))

    def fmas(self):
        return self.count(self.is_fma)

    def prefetches(self):
        return self.count(lambda i: i.mnemonic.startswith(("prefetch", "prfm")))

    def on_stack(self, i):
        return any(f"({base}" in i.operands or f"[{base}" in i.operands for base in self.frame)

    def spills(self):
        """Vectors that are kept on the stack."""
        return self.count(lambda i: self.on_stack(i) and re.search(r"%[xyz]mm|\b[qv]\d", i.operands))

    def reloads(self):
        """Integers that are kept on the stack: strides and counters."""
        return self.count(self.on_stack) - self.spills()


class X86Loop(Loop):
    def b_loads(self):
        """Vectors that are loaded, be it by an FMA itself."""
        return self.count(lambda i: self.from_memory(i) and not self.of_one(i) and
                          (self.is_fma(i) or re.match(r"vmov[aud]", i.mnemonic)))

    def a_loads(self):
        """Elements that are loaded and broadcast, be it by an FMA itself."""
        return self.count(lambda i: self.from_memory(i) and self.of_one(i))

    def stores(self):
        return self.count(lambda i: i.mnemonic.startswith("vmov") and i.operands.endswith(")"))

    def copies(self):
        """Of vectors."""
        return self.count(lambda i: re.match(r"vmov[aud]\w+ %[xyz]mm\d+, *%[xyz]mm\d+$", f"{i.mnemonic} {i.operands}"))

    def shuffles(self):
        """Broadcasts and shuffles of registers: they take slots of an FMA port."""
        return self.count(lambda i: re.match(r"v(perm|shuf|unpck|insert|extract|broadcast)", i.mnemonic) and
                          not self.from_memory(i))

    @staticmethod
    def of_one(i):
        return i.mnemonic.startswith("vbroadcast") or "{1to" in i.operands

    @staticmethod
    def from_memory(i):
        return re.search(r"\([^)]*\)(\{1to\d+\})?,", i.operands) and re.search(r"%[xyz]mm", i.operands)


class ArmLoop(Loop):
    def b_loads(self):
        return sum(self.registers(i, r"q\d+|v\d+\.(4s|16b|2d)") for i in self.instructions)

    def a_loads(self):
        return sum(self.registers(i, r"s\d+|v\d+\.s(?=\})") for i in self.instructions)

    def stores(self):
        return self.count(lambda i: re.match(r"st", i.mnemonic))

    def copies(self):
        """Of vectors: they take slots of an FMA pipe."""
        return self.count(lambda i: i.mnemonic == "mov" and re.match(r"v\d+\.16b, v\d+\.16b$", i.operands))

    def shuffles(self):
        """Also LD1R, which takes a slot of an FMA pipe on some cores."""
        return self.count(lambda i: re.match(r"(dup|ins|mov|zip|uzp|trn|ext|tbl)$", i.mnemonic) and "v" in i.operands or
                          i.mnemonic == "ld1r")

    @staticmethod
    def registers(i, kind):
        if not re.match(r"(ld[pu]?r?|ld[1-4])$", i.mnemonic):
            return 0
        ranges = re.search(r"\{v(\d+)\.4s-v(\d+)\.4s\}", i.operands)
        if ranges:
            return int(ranges.group(2)) - int(ranges.group(1)) + 1 if "4s" in kind else 0
        return len(re.findall(rf"\b(?:{kind})", i.operands.split("[x")[0]))


def functions(objdump, path):
    """(name, instructions) of each function of an object."""
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], check=True, capture_output=True,
                          text=True).stdout
    for part in re.split(r"\n(?=[0-9a-f]+ <)", text):
        head = re.match(r"[0-9a-f]+ <([^>]+)>:\n", part)
        if head:
            lines = re.findall(r"^ *([0-9a-f]+):\s+(.+?)\s*(?:\s# .*|//.*)?$", part, re.M)
            yield head.group(1), [Instruction(int(address, 16), line) for address, line in lines]


def reach(edges, begin, without=None):
    """What is reached from `begin` along edges, not passing through `without`."""
    seen, todo = {begin}, [begin]
    while todo:
        for place in edges.get(todo.pop(), ()):
            if place not in seen and place != without:
                seen.add(place)
                todo.append(place)
    return seen


def bodies(instructions):
    """The addresses of each loop: of what lies on a way from the target of a backward jump to the jump."""
    forward, backward = {}, {}
    for i, following in zip(instructions, [i.address for i in instructions[1:]] + [None]):
        ends = re.match(r"(jmp|ret|b$|br$|ud2|udf)", i.mnemonic)
        for place in {i.target(), None if ends else following} - {None}:
            forward.setdefault(i.address, []).append(place)
            backward.setdefault(place, []).append(i.address)
    for i in instructions:
        head = i.target()
        if head is not None and head <= i.address and i.address in reach(forward, head):
            yield reach(forward, head) & (reach(backward, i.address, without=head) | {head})


def innermost(objdump, path):
    """The innermost loops of an object. A function whose name has a suffix of gcc's is known without it."""
    for name, instructions in functions(objdump, path):
        arm = not any("%" in i.operands for i in instructions)
        pointer, frame, moved = ("sp", "x29", r"mov x29, sp") if arm else ("%rsp", "%rbp", r"movq? %rsp, *%rbp")
        framed = any(re.match(moved, f"{i.mnemonic} {i.operands}") for i in instructions)
        loops = list(bodies(instructions))
        for body in loops:
            if not any(other < body for other in loops):
                yield (ArmLoop if arm else X86Loop)(name.split(".")[0], (pointer, frame) if framed else (pointer,),
                                                    [i for i in instructions if i.address in body])
