"""What the documents say stands: links lead somewhere, and the scenario guide passes `packetloom check`."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from commands import packetloom

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("papers/*/*.md"),
        ROOT / "examples/README.md",
        ROOT / "workloads/README.md",
    ]
)
GUIDES = [(ROOT / f"docs/{page}.md").read_text() for page in ("scenario", "other-tools")]
PIECES = [piece for guide in GUIDES for piece in re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)]
SECTIONS = ("topology", "workload", "scheme", "fault", "run", "measure")


def scenario_with(piece: dict[str, Any]) -> dict[str, Any]:
    """A small scenario with a piece of the guide in its place: sections, or keys of one."""
    topology: dict[str, Any] = {"kind": "fat-tree"}
    source: dict[str, Any] = {"sizes": "web-search"}
    scheme: dict[str, Any] = {"name": "one", "transport": "dctcp", "queue": "drop-tail"}
    for key, value in piece.items():
        if key == "forwarding":
            topology[key] = value
        elif key in ("transport", "queue"):
            scheme[key] = value
        elif key not in SECTIONS:
            source[key] = value
    if {"file", "files", "layers", "operation", "outstanding"} & set(source.get("arrivals", {})):
        del source["sizes"]
    run = {"loads": [0.5], "flows": 100}
    base = {"topology": topology, "workload": [source], "scheme": [scheme], "run": run}
    return base | {key: value for key, value in piece.items() if key in SECTIONS}


@pytest.mark.parametrize("piece", PIECES, ids=range(len(PIECES)))
def test_pieces_of_the_scenario_guide_pass_check(piece: str, tmp_path: Path) -> None:
    (tmp_path / "replay.csv").write_text((ROOT / "examples/replay.csv").read_text())
    (tmp_path / "traces").mkdir()
    for rank in range(2):
        trace = tmp_path / f"traces/resnet.{rank}.et"
        trace.write_bytes((ROOT / "fuzz/corpus/chakra/all_reduce.et").read_bytes())
    (tmp_path / "traces/mlp.txt").write_text((ROOT / "fuzz/corpus/simai/data_model").read_text())
    file = tmp_path / "piece.json"
    file.write_text(json.dumps(scenario_with(tomllib.loads(piece))))
    done = packetloom("check", file)
    assert "no mistakes" in done.stdout, done.stderr


def test_the_topology_of_ones_own_passes_check(tmp_path: Path) -> None:
    (text,) = re.findall(r"```text\n(\d.*?)```", GUIDES[1], re.DOTALL)
    (tmp_path / "racks.txt").write_text(text)
    file = tmp_path / "own.json"
    file.write_text(json.dumps(scenario_with({"topology": {"kind": "hpcc", "file": "racks.txt"}})))
    done = packetloom("check", file)
    assert "no mistakes" in done.stdout, done.stderr
    assert "4 hosts" in done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text())
    missing = [target for target in targets if "://" not in target and not (document.parent / target).exists()]
    assert not missing


def test_the_guide_shows_the_lines_that_list_a_queue_an_aqm_and_a_scheduler() -> None:
    guide = (ROOT / "docs/adding-a-scheme.md").read_text()
    shown = re.findall(r"```rust (crates/packetloom-queue/src/queue/\S+\.rs)\n(.*?)```", guide, re.DOTALL)
    assert len(shown) == 3
    for file, text in shown:
        assert text in (ROOT / file).read_text(), file


def test_the_page_of_schemes_says_where_each_is() -> None:
    """From the README any scheme is two steps away: to this page, and to the file that it names."""
    assert "](docs/schemes.md)" in (ROOT / "README.md").read_text()
    table = (ROOT / "docs/schemes.md").read_text()
    sources = ROOT / "crates"
    files = re.findall(r"`([a-z_-]+/[a-z0-9_/-]*(?:\.rs)?)`", table)
    assert [file for file in files if not (sources / file).exists() and not (ROOT / file).exists()] == []
    rooms = ("transport", "queue", "routing")
    code = "\n".join(file.read_text() for file in sources.glob("*/src/**/*.rs"))
    kinds = {kind for room in rooms for kind in _kinds_of(code, room)}
    assert sorted(kind for kind in kinds if f"`{kind}`" not in table) == []


def _kinds_of(code: str, room: str) -> set[str]:
    """The kinds that a room's components declare."""
    return set(re.findall(rf'section: "{room}",\s*kind: "([a-z-]+)"', code))


def test_the_readme_counts_examples_and_comparisons_with_machines_as_they_are() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    examples = len(list((ROOT / "examples").glob("*.toml"))) - 1
    assert f"the demo's results and {examples} other scenarios" in text
    table = (ROOT / "docs" / "hardware.md").read_text().partition("<!-- end of summary -->")[0]
    met, missed = table.count("| met |"), table.count("| **missed** |")
    assert re.search(rf"of {met + missed} comparisons with \d+ sets of figures {met} are met, {missed} missed", text)


def test_the_readme_counts_claims_as_they_were_judged() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    files = ROOT.glob("papers/*/verdicts/quick.json")
    verdicts = [claim["verdict"] for file in files for claim in json.loads(file.read_text())["claims"]]
    holds, differs, neither = (verdicts.count(one) for one in ("holds", "differs", "not comparable"))
    assert f"of {len(verdicts)} claims {holds} hold, {differs} differ and {neither} are not comparable" in text
