"""Checks the prose of documents and descriptions: names each sentence, table cell, line and word to change."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORDS_OF_A_SENTENCE = 35
CHARACTERS_OF_A_CELL = 200
COLUMNS_OF_A_LINE = 120

INSTEAD = {
    r"(?:two|both) heaps": "modes: the distribution is bimodal",
    r"mend(?:s|ed|ing)?": "fix",
    r"stands? still": "is steady, does not change",
    r"(?:is|are|be) told of": "receives, is notified of",
    r"times less": "a factor or a fraction: 1/20 of the CPU time",
    r"comes? to nothing": "fails",
    r"goes by": "uses, depends on",
    r"go by": "use, depend on",
    r"what came of": "results of",
    r"hearing of": "receiving, learning",
    r"is held to": "is compared with",
    r"so many": "a number, or the name of the quantity",
}
"""Private words, as patterns, and the field's own that replace them."""

BANNED = {re.compile(rf"\b{pattern}\b", re.IGNORECASE): instead for pattern, instead in INSTEAD.items()}


@dataclass(frozen=True)
class Fault:
    """A place in a page that breaks a rule."""

    line: int
    what: str


def pages() -> list[Path]:
    """Every document that is written by hand."""
    found = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("papers/*/README.md"),
        ROOT / "examples/README.md",
        ROOT / "workloads/README.md",
    ]
    return sorted(found)


def faults(text: str) -> list[Fault]:
    """What to change in a page, in order of lines."""
    found = [fault for line, block in _blocks(text) for fault in _faults_of_block(line, block)]
    return sorted(found, key=lambda fault: fault.line)


def faults_of_text(text: str) -> list[str]:
    """What to change in a text of no page, such as a component's description; a quoted value is a word of code."""
    lines = textwrap.wrap(re.sub(r'"[^"\s]+"', "`value`", text), COLUMNS_OF_A_LINE, break_long_words=False)
    return [fault.what for fault in _faults_of_block(1, lines)]


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Paragraphs, items of lists and rows of tables, with the line at which each begins; no code."""
    block: list[str] = []
    start, fenced = 1, False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        code = fenced or fence or (line.startswith("    ") and not block)
        fenced = fenced != fence
        begins = re.match(r"\s*(?:[-*]|\d+\.) |#|\|", line) is not None
        if block and (code or begins or not line.strip()):
            yield start, block
            block = []
        if line.startswith("#") and not code:
            yield number, [line]
        elif not code and line.strip():
            if not block:
                start = number
            block.append(line)
    if block:
        yield start, block


def _faults_of_block(start: int, block: list[str]) -> Iterator[Fault]:
    if block[0].startswith("|"):
        for cell in re.split(r"(?<!\\)\|", _shown(block[0])):
            if len(cell.strip()) > CHARACTERS_OF_A_CELL:
                yield Fault(start, f"a cell of {len(cell.strip())} characters: {cell.strip()[:60]}")
    else:
        for offset, line in enumerate(block):
            if len(line) > COLUMNS_OF_A_LINE and " " in line.strip():
                yield Fault(start + offset, f"a line of {len(line)} columns: {line[:60]}")
        for sentence in _sentences(" ".join(line.strip() for line in block)):
            words = len(re.findall(r"\w[^\s]*", sentence))
            if words > WORDS_OF_A_SENTENCE:
                yield Fault(start, f"a sentence of {words} words: {sentence[:60]}")
    prose = re.sub(r"`[^`]*`", "`", " ".join(block))
    for word, instead in BANNED.items():
        for match in word.finditer(prose):
            yield Fault(start, f"“{match[0]}”: write {instead}")


def _shown(markdown: str) -> str:
    """What a reader sees of links and pictures."""
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown)


def _sentences(paragraph: str) -> list[str]:
    """Sentences, in which a piece of code is one word."""
    text = re.sub(r"`[^`]*`", "code", _shown(paragraph))
    return re.split(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(*]*[A-Z0-9]|code\b)", text)


def main() -> int:
    """Prints the faults of all pages, or of those named as arguments."""
    named = [Path(argument).resolve() for argument in sys.argv[1:]]
    wrong = 0
    for page in named or pages():
        for fault in faults(page.read_text(encoding="utf-8")):
            print(f"{page.relative_to(ROOT)}:{fault.line}: {fault.what}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
