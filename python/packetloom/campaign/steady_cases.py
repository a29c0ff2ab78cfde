"""Whether cases of a campaign are steady, so that it can go on: by the diagnosis that the page prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from packetloom import _core
from packetloom.campaign.schedule import Judge, Judgement
from packetloom.store.case_files import CaseFiles
from packetloom.store.case_rows import label_of

if TYPE_CHECKING:
    from packetloom.stats.steadiness.diagnosis import Steadiness


def steadiness_of(files: CaseFiles) -> Judge:
    """Judges cases by their flows in these files."""

    def judge(cases: Sequence[_core.Case]) -> Judgement:
        # Only here: few campaigns have a precision, and every one starts with this module.
        from packetloom.stats.steadiness.diagnosis import diagnosed_flows

        flows = [(label_of(case.parameters), case, files.table("flows", case.id)) for case in cases]
        known = {one.label: one for one in diagnosed_flows(flows)}
        labels = dict.fromkeys(label for label, _, _ in flows)
        unsteady = tuple(f"{label}: {_state(known.get(label))}" for label in labels if not _is_steady(known.get(label)))
        return Judgement(unsteady, can_be_steady=not (unsteady and cases[0].is_overloaded()))

    return judge


def _is_steady(one: Steadiness | None) -> bool:
    return one is not None and one.steady is True


def _state(one: Steadiness | None) -> str:
    return "too few flows" if one is None else one.state
