"""The verdicts that are committed: for each paper and scale the claims of a run, which later runs are held against."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packetloom.errors import PacketloomError

if TYPE_CHECKING:
    from packetloom.claims import Finding
    from packetloom.reproduce import Scale

# One claim, as `--json` writes it.
ClaimRow = dict[str, Any]


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


def committed_verdicts(paper: str, scale: Scale) -> list[ClaimRow] | None:
    """Those of a paper; none if none were ever accepted at this scale."""
    path = verdicts_file(paper, scale)
    return read_claims(path) if path.exists() else None


def read_claims(path: Path) -> list[ClaimRow]:
    """The claims that `packetloom reproduce --json` wrote."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PacketloomError(f"{path}: cannot read the claims: {error.strerror}") from None
    except ValueError as error:
        raise PacketloomError(f"{path}: not JSON ({error}); write it with `packetloom reproduce --json`") from None
    needed = ("id", "claim", "paper", "measured", "interval", "verdict")
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and all(key in row for key in needed) for row in rows
    ):
        raise PacketloomError(f"{path}: not a list of claims; write it with `packetloom reproduce --json`")
    return rows


def changes(committed: Sequence[ClaimRow], findings: Sequence[Finding], *, whole: bool) -> list[Change]:
    """What is judged differently today; claims that were not judged count if the `whole` paper was."""
    before = {row["id"]: row["verdict"] for row in committed}
    today = {finding.claim.id: finding.verdict for finding in findings}
    ids = [*today, *(id for id in before if whole and id not in today)]
    return [Change(id, before.get(id), today.get(id)) for id in ids if before.get(id) != today.get(id)]


def hold_against_committed(paper: str, scale: Scale, findings: Sequence[Finding], *, whole: bool) -> bool:
    """Says whether every verdict is the committed one, and names those that are not."""
    committed = committed_verdicts(paper, scale)
    if committed is None:
        print(f"no verdicts are committed for {paper} at --scale {scale}: there is nothing to hold these against")
        return True
    found = changes(committed, findings, whole=whole)
    for change in found:
        print(change)
    part = "" if whole else f" (of {len(findings)} of {len(committed)} claims: a figure was chosen)"
    if found:
        print(
            f"{len(found)} verdicts differ from the committed ones{part}; where that is meant, --accept commits today's"
        )
    else:
        print(f"every verdict is the committed one{part}")
    return not found
