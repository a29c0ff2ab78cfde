"""Builds the site with MkDocs: takes in pages from elsewhere in the repository, and makes those that are generated."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbclient import NotebookClient

import packetloom
import packetloom.schemes
from packetloom.cli.reference import column_page, command_page, component_pages
from packetloom.errors import PacketloomError
from packetloom.pages.figures import FIGURES, Figure
from packetloom.pages.plots import save_figure
from packetloom.pages.report import report
from packetloom.store.results import Results

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = ("tutorial", "own-scheme", *(f"course/{book.stem}" for book in sorted(DOCS.glob("course/*.ipynb"))))
GALLERY = "gallery.md"
BENCH = ("drive", "ack", "loss", "timeout", "Bench")
RUN = re.compile(r"^    (packetloom run .*)$", re.MULTILINE)
FROM_ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
    "validation/hardware/README.md": "measurements.md",
    "workloads/README.md": "workloads.md",
    **{
        f"papers/{paper.parent.name}/README.md": f"papers/{paper.parent.name}.md"
        for paper in ROOT.glob("papers/*/*.md")
    },
}
"""Files of the repository, and the pages that they become."""
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are not in `docs/`, and the files that pages link to."""
    for source, page in FROM_ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for name, text in component_pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    files.append(File.generated(config, "reference/commands.md", content=command_page()))
    files.append(File.generated(config, "reference/columns.md", content=column_page()))
    files.append(File.generated(config, "reference/python.md", content=python_page()))
    files.append(File.generated(config, "reference/scheme-classes.md", content=scheme_classes_page()))
    for name in NOTEBOOKS:
        files.append(File.generated(config, f"{name}.md", content=tutorial(name)))
    for name, content in gallery(files).items():
        files.append(File.generated(config, name, content=content))
    for file in sorted(_linked_files()):
        files.append(File.generated(config, str(file), abs_src_path=str(ROOT / file)))
    return files


def python_page() -> str:
    """What `import packetloom` gives, by what it is; mkdocstrings fills in signatures and texts."""
    named = [getattr(packetloom, name) for name in packetloom.__all__ if name != "__version__"]
    classes = [one for one in named if isinstance(one, type)]
    errors = [one for one in classes if issubclass(one, BaseException)]
    sections = {
        "Functions": [one for one in named if one not in classes],
        "Classes": [one for one in classes if one not in errors],
        "Errors and warnings": errors,
    }
    parts = ["# Python\n\nAll names are in `packetloom`: `packetloom.run('examples/incast.toml')`."]
    for title, members in sections.items():
        parts += [f"## {title}", *(f"::: {one.__module__}.{one.__qualname__}" for one in members)]
    gym = ("environment.NetworkEnv", "environment.Observation", "environment.vector")
    gym += ("traffic.Flows", "traffic.poisson", "traffic.incast")
    parts += ["## packetloom.gym", *(f"::: packetloom.gym.{name}" for name in gym)]
    return "\n\n".join(parts) + "\n"


def scheme_classes_page() -> str:
    """What a scheme in Python is made of and is given, and the bench on which it is tested."""
    parts = ["# Classes of schemes\n\nWhat a [scheme in Python](../your-own-scheme.md) imports."]
    parts += ["## packetloom.schemes", *(f"::: packetloom.schemes.{name}" for name in packetloom.schemes.__all__)]
    parts += ["## packetloom.testing", *(f"::: packetloom.testing.{name}" for name in BENCH)]
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Makes links between files of the repository links between pages."""
    here = page.file.src_uri
    source = next((source for source, target in FROM_ELSEWHERE.items() if target == here), f"docs/{here}")

    def moved(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        file = _file(Path(source).parent, target)
        if file is None:
            return match[0]
        if (ROOT / file).is_dir():
            return text[1:-1]
        return f"{text}({os.path.relpath(_place(file), Path(here).parent)}{anchor})"

    return LINK.sub(moved, markdown)


def _file(folder: Path, target: str) -> Path | None:
    """The file of the repository that a link in `folder` leads to."""
    if "://" in target:
        return None
    file = Path(os.path.normpath(folder / target))
    return file if (ROOT / file).exists() else None


def _place(file: Path) -> Path:
    """Where a file of the repository is in the site."""
    if str(file) in FROM_ELSEWHERE:
        return Path(FROM_ELSEWHERE[str(file)])
    if file.parts[0] != "docs":
        return file
    page = file.relative_to("docs")
    return page.with_suffix(".md") if str(page.with_suffix("")) in NOTEBOOKS else page


def _linked_files() -> set[Path]:
    """What pages link to that is no page: examples, pictures beside a paper."""
    found = set()
    for source in [*FROM_ELSEWHERE, *(f"docs/{page.name}" for page in DOCS.glob("*.md"))]:
        for _, target, _ in LINK.findall((ROOT / source).read_text(encoding="utf-8")):
            file = _file(Path(source).parent, target)
            if file and (ROOT / file).is_file() and file.parts[0] != "docs" and str(file) not in FROM_ELSEWHERE:
                found.add(file)
    return found


def gallery(files: Files) -> dict[str, str | bytes]:
    """The page with a figure of every kind, these figures, and the reports of the runs that they come from."""
    page = files.get_file_from_path(GALLERY)
    assert page is not None
    files.remove(page)
    text = page.content_string
    with TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "examples").symlink_to(ROOT / "examples")
        for command in RUN.findall(text):
            subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=here, check=True, capture_output=True)
        runs = [Results(run) for run in sorted((here / "results").iterdir(), key=lambda run: run.name != "deadlines")]
        made: dict[str, str | bytes] = {}
        for run in runs:
            name = f"gallery/{run.name}.html"
            made[name] = report(run, here / "report.html").read_text(encoding="utf-8")
            text += f"\nThe report of [{run.name}]({name}).\n"
        for name, figure in FIGURES.items():
            run = next(run for run in runs if _has(figure, run))
            picture = here / f"{name}.svg"
            save_figure(name, run, picture, {})
            made[f"gallery/{name}.svg"] = picture.read_bytes()
            command = f"packetloom plot {name} results/{run.name} -o {name}.pdf"
            text += f"\n## {figure.title}\n{figure.shows}\n\n    {command}\n\n![{figure.title}](gallery/{name}.svg)\n"
    return made | {GALLERY: text}


def _has(figure: Figure, run: Results) -> bool:
    try:
        figure.of(run)
    except PacketloomError:
        return False
    return True


def tutorial(name: str) -> str:
    """A notebook as a page, with what its cells show when they are run now."""
    notebook = nbformat.read(DOCS / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    with TemporaryDirectory() as folder:  # an empty cache: the page shows what a reader sees the first time
        NotebookClient(notebook, timeout=600).execute(env=os.environ | {"PACKETLOOM_CACHE": folder})
    return "\n\n".join(part for cell in notebook.cells for part in _cell(cell))


def _cell(cell: Any) -> list[str]:
    if cell.cell_type == "markdown":
        return [cell.source]
    return [f"```python\n{cell.source}\n```", *(shown for output in cell.outputs if (shown := _output(output)))]


def _output(output: Any) -> str:
    if output.get("name") == "stdout":
        return f"```text\n{output['text'].rstrip()}\n```"
    data = output.get("data", {})
    if "image/png" in data:
        return f'<img alt="What the cell draws" src="data:image/png;base64,{data["image/png"].strip()}">'
    if "text/html" in data:
        lines = [line for line in data["text/html"].splitlines() if line.strip()]
        return "<div>" + "\n".join(lines) + "</div>"
    return f"```text\n{data['text/plain']}\n```" if "text/plain" in data else ""
