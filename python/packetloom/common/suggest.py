"""What was meant by a name that there is not."""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST = 4


def _words(name: str) -> list[str]:
    """Of a name of several words, each of them, and as many of the first as there are."""
    words = re.split(r"[^a-z0-9]+", name.lower())
    return [*words, *("-".join(words[:many]) for many in range(2, len(words)))] if len(words) > 1 else []


def meant(name: str, known: Iterable[str], else_: str = "there are") -> str:
    """A hint: the names that are near or have this in them, or else all."""
    import difflib

    names = list(dict.fromkeys(known))
    asked = name.lower().strip()

    def is_near(*words: str) -> list[str]:
        return difflib.get_close_matches(asked, [word.lower() for word in words], MOST, cutoff=0.7)

    near = [one for found in dict.fromkeys(is_near(*names)) for one in names if one.lower() == found]
    near += [one for one in names if asked and asked in one.lower() and one not in near]
    if not near and len(asked) > 2:
        near = [one for one in names if is_near(*_words(one))]
    if near:
        *others, last = [repr(one) for one in near[:MOST]]
        return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"
    return f"{else_}: {', '.join(names) or 'none'}"
