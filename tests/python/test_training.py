"""What a profile-guided build is trained on: it stands, all of it is run, and nothing of it is measured."""

import re
from pathlib import Path

import pytest

from packetloom.scenario import confounders
from packetloom.scenario.plan import read_plan

BENCHES = Path(__file__).parents[2] / "benches"
SCENARIOS = sorted((BENCHES / "training").glob("*.toml"))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_passes_check_without_a_warning(scenario: Path) -> None:
    plan = read_plan(scenario, ())
    assert plan.cases
    compared = set(confounders.warnings(plan.cases))  # which these are not: they have the engine do all that it can
    assert not set(plan.warnings) - compared


def test_every_scenario_is_run() -> None:
    script = (BENCHES / "training" / "run.sh").read_text()
    (several,) = re.findall(r"for scenario in (.*); do", script)
    one = re.findall(r"run ([\w-]+)\.toml", script)
    assert sorted([*several.split(), *one]) == [scenario.stem for scenario in SCENARIOS]


def test_no_benchmark_is_trained_on() -> None:
    trained = {case.id for scenario in SCENARIOS for case in read_plan(scenario, ()).cases}
    measured = {case.id for scenario in BENCHES.glob("*.toml") for case in read_plan(scenario, ()).cases}
    assert len(measured) == len([*BENCHES.glob("*.toml")])
    assert not trained & measured
