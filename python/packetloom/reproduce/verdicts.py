"""The verdicts that are committed: for each paper and scale the claims of a run, and which code made them.

Later runs are held against them, and later code against the fingerprints of theirs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packetloom.common.build import this_build
from packetloom.common.files import write_json
from packetloom.errors import PacketloomError

if TYPE_CHECKING:
    from packetloom.reproduce import Scale
    from packetloom.reproduce.claims import Claim, Finding

# One claim, as `packetloom reproduce --json` lists it, too.
ClaimRow = dict[str, Any]
# Of numbers that nothing was drawn for: what another machine's arithmetic may change.
SAME = 1e-6


@dataclass(frozen=True, slots=True)
class Committed:
    """A file of verdicts: which build made it and when, the fingerprints of its experiments, and its claims.

    `stale` says, where that is so, that it is of code that is gone.
    """

    build: str
    date: str
    fingerprints: Mapping[str, str]
    claims: list[ClaimRow]
    stale: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A claim whose verdict is another than the committed one; `None` where there is none."""

    id: str
    committed: str | None
    today: str | None

    def __str__(self) -> str:
        if self.committed is None:
            return f"{self.id}: {self.today} today; no verdict is committed"
        if self.today is None:
            return f"{self.id}: {self.committed} is committed; today there is no such claim"
        return f"{self.id}: {self.committed} is committed, {self.today} today"


def verdicts_file(paper: str, scale: Scale) -> Path:
    """Where they lie: beside the code that judges, so that they are installed with it; papers/NAME/ links there."""
    from packetloom import reproduce

    return reproduce.paper_folder(paper) / "verdicts" / f"{scale}.json"


def committed_file(paper: str, scale: Scale) -> Committed | None:
    """That of a paper; none if none was ever accepted at this scale."""
    path = verdicts_file(paper, scale)
    return read_verdicts(path) if path.exists() else None


def committed_verdicts(paper: str, scale: Scale) -> list[ClaimRow] | None:
    """Its claims."""
    committed = committed_file(paper, scale)
    return None if committed is None else committed.claims


def read_verdicts(path: Path) -> Committed:
    """What `packetloom reproduce --accept` wrote."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PacketloomError(f"{path}: cannot read the verdicts: {error.strerror}") from None
    except ValueError as error:
        raise PacketloomError(f"{path}: not JSON ({error}); write it with `packetloom reproduce --accept`") from None
    wrong = PacketloomError(f"{path}: not a paper's verdicts; write it with `packetloom reproduce --accept`")
    if not isinstance(content, dict):
        raise wrong
    texts = [content.get(key) for key in ("build", "date")]
    stale, prints, claims = content.get("stale", ""), content.get("fingerprints"), content.get("claims")
    needed = ("id", "claim", "paper", "measured", "interval", "verdict")
    if (
        not all(isinstance(one, str) for one in (*texts, stale))
        or not isinstance(prints, dict)
        or not isinstance(claims, list)
        or not all(isinstance(row, dict) and all(key in row for key in needed) for row in claims)
    ):
        raise wrong
    return Committed(content["build"], content["date"], prints, claims, stale)


def write_verdicts(path: Path, findings: Sequence[Finding], fingerprints: Mapping[str, str]) -> None:
    """The claims as they are today, with the build and the fingerprints of what they rest on."""
    content = {
        "build": str(this_build()),
        "date": date.today().isoformat(),
        "fingerprints": dict(fingerprints),
        "claims": [finding.to_dict() for finding in findings],
    }
    write_json(path, content, "the claims")


def stale(committed: Committed, today: Mapping[str, str]) -> list[str]:
    """The experiments that are not those that the verdicts are of."""
    return [name for name, print in today.items() if committed.fingerprints.get(name) != print]


def changes(committed: Sequence[ClaimRow], findings: Sequence[Finding], *, whole: bool) -> list[Change]:
    """What is judged differently today; claims that were not judged count if the `whole` paper was."""
    before = {row["id"]: row["verdict"] for row in committed}
    today = {finding.claim.id: finding.verdict for finding in findings}
    ids = [*today, *(id for id in before if whole and id not in today)]
    return [Change(id, before.get(id), today.get(id)) for id in ids if before.get(id) != today.get(id)]


def mark_stale(paper: str, scale: Scale, names: Sequence[str]) -> None:
    """Has a file say that what it rests on has changed since."""
    path = verdicts_file(paper, scale)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["stale"] = f"Since {content['date']} the code has changed what comes of: {', '.join(names)}."
    order = ("build", "date", "stale", "fingerprints", "claims")
    write_json(path, {key: content[key] for key in order}, "the claims")


def renew_texts(paper: str, scale: Scale, claims: Sequence[Claim]) -> None:
    """Puts the claims' texts of today into a file that is of today's code; its numbers and verdicts stay."""
    path = verdicts_file(paper, scale)
    if not path.exists() or read_verdicts(path).stale:
        return
    content = json.loads(path.read_text(encoding="utf-8"))
    by_id = {claim.id: claim for claim in claims}
    content["claims"] = [with_texts(row, by_id[row["id"]]) if row["id"] in by_id else row for row in content["claims"]]
    write_json(path, content, "the claims")


def with_texts(row: ClaimRow, claim: Claim) -> ClaimRow:
    """A claim's row with the claim's texts. Why it is not comparable only a measurement says: that stays."""
    renewed = {**row, "claim": claim.claim, "paper": claim.paper, "band": claim.band}
    if row["verdict"] == "not comparable":
        return renewed
    return _in_order({**renewed, "reason": claim.why(row["verdict"], dict(numbers_of(row)))})


def _in_order(row: ClaimRow) -> ClaimRow:
    order = ("id", "claim", "paper", "measured", "interval", "bands", "band", "verdict", "outside", "reason", "beside")
    return {key: row[key] for key in order if key in row and row[key] != ""}


def moved_numbers(committed: Sequence[ClaimRow], findings: Sequence[Finding]) -> list[str]:
    """Which numbers lie outside the committed one's interval, or are called otherwise; a sentence each."""
    before = {row["id"]: dict(numbers_of(row)) for row in committed}
    found = []
    for finding in findings:
        known = before.get(finding.claim.id)
        if known is None:
            continue
        today = dict(numbers_of(finding.to_dict()))
        for name in {**known, **today}:
            label = f"{finding.claim.id}{f', {name}' if name else ''}"
            if name not in today or name not in known:
                found.append(f"{label}: {'is not measured any more' if name in known else 'no number is committed'}")
            elif not _within(today[name][0], *known[name]):
                found.append(f"{label}: {_text(*known[name])} is committed, {_text(*today[name])} today")
    return found


def numbers_of(row: ClaimRow) -> Iterator[tuple[str, tuple[float, Sequence[float] | None]]]:
    """A claim's numbers by name, those beside the verdict too; one alone has none."""
    measured, interval = row["measured"], row["interval"]
    if isinstance(measured, Mapping):
        yield from ((name, (value, interval[name])) for name, value in measured.items())
    elif measured is not None:
        yield "", (measured, interval)
    yield from ((name, (one["measured"], one["interval"])) for name, one in row.get("beside", {}).items())


def _within(value: float, committed: float, interval: Sequence[float] | None) -> bool:
    low, high = interval or (committed, committed)
    return low <= value <= high or math.isclose(value, committed, rel_tol=SAME)


def _text(value: float, interval: Sequence[float] | None) -> str:
    return f"{value:.4g}" + (f" ({interval[0]:.4g} to {interval[1]:.4g})" if interval else "")


def hold_against_committed(paper: str, scale: Scale, findings: Sequence[Finding], *, whole: bool) -> bool:
    """Says whether every verdict is the committed one and every number within its interval, and names the others."""
    committed = committed_file(paper, scale)
    if committed is None:
        print(f"no verdicts are committed for {paper} at --scale {scale}: there is nothing to hold these against")
        return True
    found = changes(committed.claims, findings, whole=whole)
    moved = moved_numbers(committed.claims, findings)
    for line in [*found, *moved]:
        print(line)
    part = "" if whole else f" (of {len(findings)} of {len(committed.claims)} claims: a figure was chosen)"
    of = f"those of {committed.date}, {committed.build}{', which are stale' if committed.stale else ''}"
    if found or moved:
        counts = f"{len(found)} verdicts and {len(moved)} numbers differ"
        print(f"{counts} from the committed ones{part}, {of}; where that is meant, --accept commits today's")
    else:
        print(f"every verdict is the committed one, and every number within its interval{part}: {of}")
    return not found and not moved
