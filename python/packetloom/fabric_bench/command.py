"""The commands: run tests, list them, and report what a folder has."""

from __future__ import annotations

import hashlib
import json
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from packetloom.common.files import write_json, write_text
from packetloom.errors import PacketloomError
from packetloom.fabric_bench.catalogue import DRAFTS, SCENARIOS, Scale, Test, chosen_tests
from packetloom.fabric_bench.comparability import HEADER, comparability
from packetloom.fabric_bench.page import not_run, text_columns, write_page
from packetloom.fabric_bench.running import finished_runs, plan_of, run_test
from packetloom.fabric_bench.tables import Table, made
from packetloom.store.case_rows import stalled_rows
from packetloom.store.results import Results

MARKER = "fabric-bench.json"


def run_bench(
    names: Sequence[str],
    scale: Scale,
    output: Path | None = None,
    *,
    workers: int | None = None,
    cache: bool = True,
    keep_older: bool = False,
    settings: Sequence[str] = (),
    transports: Sequence[str] = (),
    json_file: Path | None = None,
) -> Path:
    """Runs the tests, prints and writes their tables and the page; returns the folder."""
    tests = [test for one in chosen_tests(names) if (test := only_transports(one, transports))]
    if not tests:
        raise PacketloomError(f"none of these tests has a scheme with the transport {' or '.join(transports)}")
    folder = output or default_folder(scale, (*settings, *transports))
    for test in tests:  # every scenario is read before the first is run
        for part in test.parts:
            plan_of(part, scale, settings)
    _mark(folder, scale)
    began = time.process_time(), time.monotonic()
    found = {
        test: run_test(test, scale, folder, workers=workers, cache=cache, keep_older=keep_older, settings=settings)
        for test in tests
    }
    page = _write(folder, scale, found)
    if json_file:
        write_text(json_file, (folder / "tables" / "tables.json").read_text(encoding="utf-8"))
    cpu, wall = (now - then for now, then in zip((time.process_time(), time.monotonic()), began, strict=True))
    print(f"\n{len(found)} tests in {cpu:.0f} CPU-seconds, {wall:.0f} s; tables in {folder / 'tables'}; page: {page}")
    return folder


def report_bench(folder: Path, output: Path | None = None) -> Path:
    """Makes the tables and the page of what a folder has, without running anything."""
    scale = _scale_of(folder)
    if scale is None:
        raise PacketloomError(
            f"{folder}: no results of fabric-bench; `packetloom fabric-bench run -o {folder}` makes some"
        )
    found = {test: runs for test in chosen_tests(()) if (runs := finished_runs(test, folder))}
    if not found:
        raise PacketloomError(f"{folder}: no test is finished; run `packetloom fabric-bench run -o {folder}`")
    try:
        return _write(folder, scale, found, output)
    except KeyError as missing:
        # What a scenario holds changes from build to build.
        if not any(results.build_note() for runs in found.values() for results in runs.values()):
            raise
        raise PacketloomError(
            f"{folder}: another build computed these results, and their cases have no {missing}, which this one's "
            f"tables need; `packetloom fabric-bench run -o {folder}` computes them again"
        ) from missing


def print_tests(scale: Scale) -> None:
    """The list: tests, their drafts' sections, cases at this scale, and scenarios."""
    rows = []
    for test in chosen_tests(()):
        plans = [plan for part in test.parts if (plan := plan_of(part, scale))]
        files = dict.fromkeys(part.file.name for part in test.parts)
        cases = sum(len(plan.cases) for plan in plans)
        rows.append([test.id, test.draft, str(cases), "; ".join(test.sections), " ".join(files)])
    print(_aligned(["test", "draft", "cases", "sections of the draft", "scenarios"], rows, text_columns=5))
    print(f"\n{len(rows)} tests at scale {scale}; the scenarios are in {SCENARIOS}")


def default_folder(scale: Scale, changed: Sequence[str]) -> Path:
    """Where results go: what is changed by settings has a folder of its own."""
    digest = f"-{hashlib.sha256(chr(10).join(changed).encode()).hexdigest()[:6]}" if changed else ""
    return Path("results") / f"fabric-bench-{scale}{digest}"


def only_transports(test: Test, transports: Sequence[str]) -> Test | None:
    """The test with only the schemes of these transports; nothing if it has none."""
    import dataclasses

    if not transports:
        return test
    parts = []
    for part in test.parts:
        schemes = tomllib.loads(part.file.read_text(encoding="utf-8"))["scheme"]
        kept = [scheme for scheme in schemes if _kind(scheme["transport"]) in transports]
        if not kept:
            continue
        only = () if len(kept) == len(schemes) else (f"scheme={inline(kept)}",)
        quick, full = (None if own is None else (*only, *own) for own in (part.quick, part.full))
        parts.append(dataclasses.replace(part, quick=quick, full=full))
    return dataclasses.replace(test, parts=tuple(parts)) if parts else None


def _kind(component: Any) -> str:
    return str(component if isinstance(component, str) else component["kind"])


def inline(value: Any) -> str:
    """A value as TOML in one line."""
    match value:
        case dict():
            return "{ " + ", ".join(f"{key} = {inline(one)}" for key, one in value.items()) + " }"
        case list():
            return "[" + ", ".join(inline(one) for one in value) + "]"
        case _:
            return json.dumps(value)


def _scale_of(folder: Path) -> Scale | None:
    """The scale that a folder says it has; nothing if it is no folder of ours."""
    marker = folder / MARKER
    if not marker.is_file():
        return None
    try:
        scale = json.loads(marker.read_text(encoding="utf-8"))["scale"]
    except (ValueError, KeyError, TypeError):
        scale = None
    if scale not in ("quick", "full"):
        raise PacketloomError(f"{marker}: is damaged; delete it, and run the same command into an empty folder")
    return "full" if scale == "full" else "quick"


def _mark(folder: Path, scale: Scale) -> None:
    """Says whose folder it is; one of another scale, or with other things in it, is refused."""
    other = _scale_of(folder)
    if other == scale:
        return
    if other:
        raise PacketloomError(f"{folder}: has results at scale {other}; name another folder with -o")
    if folder.is_dir() and any(folder.iterdir()):
        raise PacketloomError(f"{folder}: is not empty, and no folder of fabric-bench; name another with -o")
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / MARKER, {"scale": scale, "drafts": list(DRAFTS.values())}, "what the folder is")


def _write(folder: Path, scale: Scale, found: Mapping[Test, Mapping[str, Results]], output: Path | None = None) -> Path:
    tables = {test: made(test, runs) for test, runs in found.items()}
    compared = [row for test, runs in found.items() for row in comparability(test, runs)]
    notes = [note for test, runs in found.items() for note in _notes(test, runs)]
    text = "\n\n".join(test_text(test, scale, those) for test, those in tables.items())
    print("\n".join([text, *(["", *notes] if notes else [])]))
    place = folder / "tables"
    place.mkdir(parents=True, exist_ok=True)
    write_text(place / "tables.txt", text + "\n")
    for test, those in tables.items():
        for table in those:
            if not table.frame.is_empty():
                table.frame.write_parquet(place / f"{test.id}-{table.of.name}.parquet")
                table.frame.write_csv(place / f"{test.id}-{table.of.name}.csv")
    comparison = pl.DataFrame(compared, schema=dict.fromkeys(HEADER, pl.String), orient="row")
    comparison.write_parquet(place / "comparability.parquet")
    comparison.write_csv(place / "comparability.csv")
    write_json(place / "tables.json", as_json(scale, tables, comparison), "the tables")
    return write_page(output or folder / "index.html", scale, tables, compared, notes)


def _notes(test: Test, runs: Mapping[str, Results]) -> list[str]:
    """What has to be known of the results: other builds, and cases that could not go on."""
    notes = []
    for part, results in runs.items():
        if build := results.build_note():
            notes.append(f"{test.id}, {part}: {build}")
        if test.stalls:
            continue
        stalled = stalled_rows(results.rows())
        notes += [f"{test.id}, {part}: {row.label}, seed {row.seed}: {'; '.join(row.warnings)}" for row in stalled]
    return notes


def as_json(scale: Scale, tables: Mapping[Test, Sequence[Table]], comparison: pl.DataFrame) -> dict[str, Any]:
    """Everything for other programs."""
    return {
        "scale": scale,
        "tests": [
            {
                "id": test.id,
                "draft": DRAFTS[test.draft],
                "sections": list(test.sections),
                "measures": test.measures,
                "tables": [
                    {"name": one.of.name, "title": one.of.title, "notes": one.notes(), "rows": json_rows(one.frame)}
                    for one in those
                ],
                "not_measured": list(test.not_measured),
                "not_run": list(test.not_run.get(scale, ())),
            }
            for test, those in tables.items()
        ],
        "comparability": comparison.to_dicts(),
    }


def json_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows whose numbers JSON knows."""
    floats = [name for name, kind in frame.schema.items() if kind.is_float()]
    finite = [pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in floats]
    return frame.with_columns(finite).to_dicts() if finite else frame.to_dicts()


def test_text(test: Test, scale: Scale, tables: Sequence[Table]) -> str:
    """A test's tables for a terminal."""
    parts = [f"{test.id}: {', '.join(test.sections)} ({test.draft})"]
    for table in tables:
        if table.frame.is_empty():
            continue
        header, rows = table.laid_out()
        parts.append(f"\n{table.of.title}\n{_aligned(header, rows, text_columns(table, header))}")
        parts += [f"  {note}" for note in table.notes()]
    parts += [f"  not measured: {what}" for what in test.not_measured]
    parts += [f"  {what}" for what in not_run(test, scale)]
    return "\n".join(parts)


def _aligned(header: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 0) -> str:
    """Columns side by side, numbers to the right."""
    widths = [max(len(line[place]) for line in (header, *rows)) for place in range(len(header))]
    kinds = ["<" if place < text_columns else ">" for place in range(len(header))]

    def line(texts: Sequence[str]) -> str:
        return "  ".join(
            f"{text:{kind}{width}}" for text, kind, width in zip(texts, kinds, widths, strict=True)
        ).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])
