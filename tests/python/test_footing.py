"""What schemes differ in beside themselves: warned of, listed side by side, gone once it is set as a warning says."""

import re
import shlex
from pathlib import Path

import pytest

import packetloom
from packetloom.cli.catalogue import print_explanation
from packetloom.pages.report import report
from packetloom.scenario import confounders
from packetloom.scenario.facts import facts
from packetloom.scenario.plan import plan_from_text, read_plan

pytestmark = pytest.mark.unaudited

SCENARIO = """\
[topology]
kind = "leaf-spine"
spines = 2
leaves = 2
hosts_per_leaf = 2
link = { rate = "400Gbps", delay = "1us" }

[[workload]]
arrivals = { kind = "collective", operation = "all-reduce", size = "1MB" }

[[scheme]]
name = "DCQCN"
transport = "dcqcn"
queue = { kind = "shared-buffer", buffer = "12MB", ecn_min = "40KB", ecn_max = "160KB" }

[[scheme]]
name = "Ultra Ethernet"
transport = "uec"
queue = { kind = "ndp", capacity = "36KB", ecn_min = "7.5KB", ecn_max = "29KB" }
routing = "reps"
"""
FOREIGN = ["payload of a packet", "acknowledgements", "line rate that constants were made for"]


def test_each_is_warned_of_and_what_the_warnings_say_mends_it() -> None:
    warnings = plan_from_text(SCENARIO, "toml", "", ()).warnings
    assert [one.split(": ")[1] for one in warnings] == FOREIGN
    settings = [word for one in warnings for word in shlex.split(one.partition("alike with ")[2]) if word != "--set"]
    assert "scheme.DCQCN.transport.ack_every=4" in settings
    mended = plan_from_text(SCENARIO, "toml", "", settings)
    assert mended.warnings == ()
    left = confounders.unequal(mended.cases)
    assert [one.what for one in left] == ["header of a packet", "buffer of a switch's port", "choice of paths"]


def test_a_preset_is_explained_at_rates_and_told_by_check(capsys: pytest.CaptureFixture[str]) -> None:
    print_explanation("transport/dcqcn")
    said = " ".join(capsys.readouterr().out.split())
    assert "additive_increase = 40Mbps at 40, 100Mbps at 100, 400Mbps at 400 Gb/s" in said
    assert "source: HPCC's run.py: RATE_AI 5 bw / 25" in said
    deployed = SCENARIO.replace('transport = "dcqcn"', 'transport = { kind = "dcqcn", preset = "deployed" }')
    plan = plan_from_text(deployed, "toml", "", ())
    assert plan.warnings == ()
    told = "mss 4096B, ack_every 4, ack_class 0, additive_increase 400Mbps, hyper_increase 4Gbps"
    assert f'DCQCN: preset "deployed" with hosts\' links of 400Gbps: {told}' in facts(plan.cases)


def test_one_scheme_is_compared_with_none() -> None:
    alone = re.sub(r"\[\[scheme\]\]\nname = \"Ultra.*", "", SCENARIO, flags=re.DOTALL)
    assert plan_from_text(alone, "toml", "", ()).warnings == ()


def test_a_seed_or_a_load_makes_no_difference() -> None:
    cases = plan_from_text(SCENARIO + "[run]\nseeds = 3\n", "toml", "", ()).cases
    assert [one.what for one in confounders.unequal(cases) if one.is_foreign] == FOREIGN


def test_the_page_lists_it_and_says_it_first(tmp_path: Path) -> None:
    file = tmp_path / "rails.toml"
    file.write_text(SCENARIO)
    results = packetloom.run(file, tmp_path / "out", progress=False)
    page = report(results, tmp_path / "page.html").read_text()
    assert "What else differs" in page
    assert page.index("may decide between them: payload of a packet") < page.rindex("What came out")
    assert read_plan(tmp_path / "out").cases
