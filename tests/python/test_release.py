"""A release says one version everywhere; workflows and the image run what there is."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_one_version_is_said_everywhere() -> None:
    newest = re.search(r"^## (\d+\.\d+\.\d+) \(", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == VERSION
    citation = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert citation[1] == VERSION
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]


@pytest.mark.parametrize("lock", ["Cargo.lock", "fuzz/Cargo.lock"])
def test_locks_have_that_version(lock: str) -> None:
    packages = tomllib.loads((ROOT / lock).read_text())["package"]
    ours = {one["name"]: one["version"] for one in packages if one["name"].startswith("packetloom")}
    assert "packetloom" in ours
    assert {version for name, version in ours.items() if name != "packetloom-fuzz"} == {VERSION}


@pytest.mark.parametrize("file", [*WORKFLOWS, ROOT / "Containerfile"], ids=lambda file: file.name)
def test_what_is_made_there_is_a_target(file: Path) -> None:
    text = file.read_text()
    made = re.findall(r"(?:run:|&&|packetloom) make ([a-z][a-z-]*)|\"make\", \"([a-z-]+)\"", text)
    named = {one or other for one, other in made}
    assert named <= TARGETS
    assert named or ".ci/run" in text
    assert (ROOT / ".ci/run").is_file()


def test_there_are_workflows_for_tests_wheels_and_the_site() -> None:
    assert [file.stem for file in WORKFLOWS] == ["site", "tests", "wheels"]
