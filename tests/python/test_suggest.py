"""What was meant by a name that there is not."""

from __future__ import annotations

import pytest

from packetloom.common.suggest import meant
from packetloom.pages.figures import FIGURES


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("slowdwn", "'slowdown-by-load' or 'slowdown-by-size'"),
        ("utilisaton", "'utilisation-over-time'"),
        ("alng", "'along'"),
        ("busbandwidth", "'bus-bandwidth'"),
        ("fct-by-lod", "'fct-by-load'"),
    ],
)
def test_a_misspelt_figure_is_guessed_by_its_words(typed: str, near: str) -> None:
    assert meant(typed, FIGURES).startswith(f"did you mean {near.partition(' or ')[0]}")
    assert all(one in meant(typed, FIGURES) for one in near.split(" or "))


def test_what_is_like_nothing_is_told_all() -> None:
    assert meant("zzz", ["tcp", "dctcp"]) == "there are: tcp, dctcp"


def test_a_name_is_named_once() -> None:
    assert meant("pfabrik", ["pfabric", "pfabric"]) == "did you mean 'pfabric'?"


def test_a_scheme_is_meant_whatever_the_case_of_its_letters() -> None:
    assert meant("dctp", ["DCTCP", "pFabric (line rate)"]) == "did you mean 'DCTCP'?"
    assert meant("pfab", ["DCTCP", "pFabric (line rate)"]) == "did you mean 'pFabric (line rate)'?"
