"""The linter of the documents' prose, and the anchors that pages link to."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from packetloom import _core
from packetloom.store.columns import TABLES, columns_of

ROOT = Path(__file__).parents[2]


def _style() -> ModuleType:
    """`docs/style.py`, which is in no package."""
    spec = importlib.util.spec_from_file_location("docs_style", ROOT / "docs/style.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_style"] = module
    spec.loader.exec_module(module)
    return module


style = _style()
PAGES = [str(page.relative_to(ROOT)) for page in style.pages()]
LONG = "word " * 20 + "\n" + "word " * 15 + "word"


@pytest.mark.parametrize("page", PAGES)
def test_pages_keep_the_rules(page: str) -> None:
    assert style.faults((ROOT / page).read_text()) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"Short.\n\nA {LONG}.", [3]),
        (f"- An item.\n- {LONG}", [2]),
        ("Words " * 10 + "end.\n" + "Words " * 10 + "end.\n" + "Words " * 17 + "end.", []),
        (f"```\n{'word ' * 99}\n```\n\n    {'word ' * 99}", []),
        (f"| a | b |\n|---|---|\n| c | {'x' * 201} |", [3]),
        (f"| a | [{'x' * 100}](https://example.org/{'y' * 200}) |", []),
        ("x " * 61, [1, 1]),
        ("It was mended.", [1]),
        ("`mended` is a name.", []),
    ],
    ids=range(9),
)
def test_what_is_a_fault(text: str, lines: list[int]) -> None:
    assert [fault.line for fault in style.faults(text)] == lines


def _descriptions() -> dict[str, str]:
    """What `packetloom explain` says: of components, their parameters and presets, and of columns."""
    found = {}
    for component in json.loads(_core.registry()):
        name = f"{component['section']} {component['kind']}"
        found[name] = component["doc"]
        found |= {f"{name}.{one['name']}": one["doc"] for one in (*component["params"], *component["presets"])}
    columns = {f"{table}.{name}": text for table in TABLES for name, text in columns_of(table).items()}
    return found | columns


def test_descriptions_keep_the_rules() -> None:
    wrong = {name: found for name, text in _descriptions().items() if (found := style.faults_of_text(text))}
    assert wrong == {}


def test_a_quoted_value_begins_a_sentence() -> None:
    assert style.faults_of_text(f'It is one of two. "a": {"word " * 29}end. "b": {"word " * 29}end.') == []
    assert style.faults_of_text(f"A {LONG}.") != []


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES)
def test_links_to_headings_find_them(page: str) -> None:
    document = ROOT / page
    missing = []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", document.read_text()):
        aim = (document.parent / target).resolve() if target else document
        if "://" not in target and aim.suffix == ".md" and aim.exists() and anchor not in _anchors(aim):
            missing.append(f"{target}#{anchor}")
    assert missing == []


def test_the_citation_is_of_this_version() -> None:
    citation = dict(re.findall(r"^([a-z-]+): *(.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    package = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    assert (citation["version"], citation["license"]) == (package["version"], package["license"])
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


def test_the_changelog_names_commits_that_there_are() -> None:
    commits = re.findall(r"`([0-9a-f]{8})`", (ROOT / "CHANGELOG.md").read_text())
    assert commits
    git = ["git", "-C", str(ROOT)]
    shallow = subprocess.run(
        [*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True, check=False
    )
    if shallow.stdout.strip() != "false":
        pytest.skip("the whole history is not here")
    log = subprocess.run([*git, "rev-list", "HEAD"], capture_output=True, text=True, check=True).stdout
    known = {line[:8] for line in log.splitlines()}
    assert [commit for commit in commits if commit not in known] == []
