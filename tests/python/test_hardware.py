"""Published measurements beside simulations: their files, the verdict of a set, the page, and what a user may name."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from packetloom.cli.main import app
from packetloom.errors import PacketloomError
from packetloom.validate.command import KINDS, named, run_validation
from packetloom.validate.hardware import hardware_comparisons, page, set_names
from packetloom.validate.hardware.catalogue import AMPERE_LINK_GBYTES, HOPPER_LINK_GBYTES, SETS
from packetloom.validate.hardware.comparisons import curves, judged
from packetloom.validate.hardware.figures import Figure, Summary
from packetloom.validate.hardware.machines import reads
from packetloom.validate.hardware.measurements import SHIPPED, Measurement, measurements
from packetloom.validate.hardware.sets import HardwareSet, Missed
from packetloom.validate.page import kept_rows

FILES = sorted(SHIPPED.glob("*.csv"))
COLUMNS = (
    "set,id,what,system,ranks,servers,gpus_per_server,nic_gbps,"
    "collective,algorithm,protocol,size_bytes,value,unit,source"
)
FLOW = "mine,mine-1,a flow,two hosts,2,2,1,100,write,,4096,,98.0,Gb/s,our own"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_figure_names_its_source_revision_and_licence(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    for row in rows:
        assert row["source"].startswith("https://github.com/")
        assert len(row["revision"]) == 10
        assert row["licence"] in {"Apache-2.0", "MIT", "MIT-0"}
        assert row["set"] == path.stem
    assert len({row["id"] for row in rows}) == len(rows) == len(measurements(path.stem))


def test_every_set_has_a_name_of_its_own_and_figures_that_count() -> None:
    assert len({one.name for one in SETS}) == len(SETS)
    for one in SETS:
        if one.is_shipped:
            figures = one.measured(SHIPPED)
            assert any(figure.size_bytes >= one.judged_from for figure in figures), one.name
            assert all(one.machine(curve) for curve in curves(figures))
    # Copies give constants, and are compared with nothing.
    assert {path.stem for path in FILES} - {one.file for one in SETS} == {"h4_a100_p2p", "h4_gh200_p2p"}


def test_an_nvlink_of_a100_carries_what_the_library_counts_and_none_more_than_copies_took() -> None:
    transport = reads()["transport"]
    data, header, back = (int(transport[key].removesuffix("B")) for key in ("mss", "header", "ack"))
    assert AMPERE_LINK_GBYTES * data / (data + header + back) == 20.0  # Both ways at a time: topo.h, SM80_NVLINK_BW.
    one_way = {"a100": AMPERE_LINK_GBYTES * data / (data + header) * 4, "gh200": HOPPER_LINK_GBYTES * 6}
    for name, gbytes in one_way.items():
        copied = measurements(f"h4_{name}_p2p")[0].value
        assert 0.9 * copied < gbytes < copied


def _figure(ratio: float, *, is_judged: bool = True) -> Figure:
    one = measurements("hkbu_10g_ring")[0]
    return Figure(one, one.value * ratio, is_judged)


def _of_file(name: str) -> HardwareSet:
    return next(one for one in SETS if one.file == name)


def _set(missed: Missed | None = None) -> HardwareSet:
    one = _of_file("hkbu_10g_ring")
    return HardwareSet(
        file=one.file,
        by="packets",
        what="a set",
        constants="none",
        machine=one.machine,
        value=one.value,
        median=0.1,
        nine_of_ten=0.2,
        missed=missed,
    )


def test_a_part_of_a_file_has_the_measurements_that_say_so(tmp_path: Path) -> None:
    rows = [FLOW.replace("a flow", f"a write {how}") for how in ("one at a time", "many in flight")]
    (tmp_path / "h10_p2p.csv").write_text("\n".join([COLUMNS, *rows]) + "\n", encoding="utf-8")
    parts = [one for one in SETS if one.file == "h10_p2p"]
    assert [one.name for one in parts] == ["h10_p2p-packets-single", "h10_p2p-packets-many"]
    assert [[each.what for each in one.measured(tmp_path)] for one in parts] == [
        ["a write one at a time"],
        ["a write many in flight"],
    ]


def test_a_summary_counts_the_judged_figures_alone() -> None:
    figures = [_figure(1 + error) for error in (0.02, -0.08, 0.12, -0.30)] + [_figure(9.0, is_judged=False)]
    summary = Summary.of(figures)
    assert (summary.figures, summary.judged) == (5, 4)
    assert summary.median == pytest.approx(0.10)
    assert summary.worst == summary.nine_of_ten == pytest.approx(0.30)
    assert (summary.within_10, summary.within_15) == (0.5, 0.75)
    assert Summary.of([_figure(1 + nth / 100) for nth in range(1, 11)]).nine_of_ten == pytest.approx(0.09)


def test_a_set_is_met_or_missed_as_recorded_or_else_differs() -> None:
    near, far = [_figure(1.05)], [_figure(0.7)]
    assert [row.verdict for row in judged(_set(), near)] == ["holds", "holds"]
    assert [row.verdict for row in judged(_set(), far)] == ["differs", "differs"]
    recorded = _set(Missed(why="hosts", median=0.3, nine_of_ten=0.3))
    assert [row.verdict for row in judged(recorded, far)] == ["differs as known", "differs as known"]
    assert [row.verdict for row in judged(_set(Missed(why="hosts", median=0.5, nine_of_ten=0.5)), far)] == [
        "differs"
    ] * 2
    assert all(row.known_no_longer for row in judged(recorded, near))


def test_the_cost_model_gets_its_table_and_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_validation(["hardware", "one_server_h100_nvidia-tuner"], Path("it.json"))
    (row,) = json.loads(Path("it.json").read_text(encoding="utf-8"))
    assert row["id"] == "hardware-one_server_h100_nvidia-tuner"
    assert row["summary"]["judged"] == 6
    assert len(row["figures"]) == 16
    assert all(math.isclose(one["ratio"], one["simulated"] / one["measured"]) for one in row["figures"])
    assert "8 GiB" in capsys.readouterr().out


def test_the_header_share_is_that_of_the_packets_and_measurements_may_be_a_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("goodput_ceiling.csv").write_text(f"{COLUMNS}\n{FLOW}\n", encoding="utf-8")
    assert run_validation(["hardware"], Path("it.json"), measurements=tmp_path)
    (row,) = json.loads(Path("it.json").read_text(encoding="utf-8"))
    assert row["figures"][0]["simulated"] == pytest.approx(100 * 4096 / (4096 + 82), rel=1e-3)
    # What is not shipped stays out of what is committed.
    assert page.kept([row], {})["hardware-goodput_ceiling-packets"]["figures"] == []
    assert kept_rows([row], {}) == {}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["theory", "h1_nic"], "there is nothing called 'h1_nic' to compare with: did you mean 'hardware h1_nic'"),
        (["perrs"], "did you mean 'peers'"),
        (["hardware", "h1_nik"], "there is no set 'h1_nik' of measurements: did you mean 'h1_nic'"),
        (["hardware", "goodput_ceiling"], "name a folder that has it with --measurements"),
    ],
)
def test_what_is_not_there_gets_a_hint(words: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["validate", *words])
    assert done.exit_code == 2 or isinstance(done.exception, PacketloomError)
    assert message in f"{done.output} {done.exception}"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (FLOW.replace("98.0", "0"), "goodput_ceiling.csv:2: value is 0; write a number above 0"),
        (FLOW.replace(",2,2,1", ",two,2,1"), "goodput_ceiling.csv:2: invalid literal"),
    ],
)
def test_a_file_of_measurements_that_is_wrong_says_where(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "goodput_ceiling.csv").write_text(f"{COLUMNS}\n{row}\n", encoding="utf-8")
    with pytest.raises(PacketloomError, match=message):
        measurements("goodput_ceiling", tmp_path)


def test_measurements_go_with_hardware() -> None:
    with pytest.raises(PacketloomError, match="--measurements goes with"):
        run_validation(["theory"], measurements=SHIPPED)


def test_sets_are_named_after_hardware() -> None:
    assert named(["theory", "hardware", "h1_nic"]) == (["theory", "hardware"], ["h1_nic"])
    assert "hardware" in KINDS
    assert [one.name for one in hardware_comparisons(["h1_nic"])] == [
        "hardware-h1_nic-tuner",
        "hardware-h1_nic-packets",
    ]
    assert [one.name for one in hardware_comparisons(["h1_nic-tuner"])] == ["hardware-h1_nic-tuner"]
    assert "h1_nic" in set_names()


def test_the_page_is_what_the_results_say() -> None:
    results = json.loads(page.RESULTS.read_text(encoding="utf-8"))
    text = page.PAGE.read_text(encoding="utf-8")
    assert text == page.with_parts(text, page.tables(results)), "python -m packetloom.validate.hardware.page"
    assert page.FIGURES.read_text(encoding="utf-8") == page.figures_csv(results)
    assert {f"hardware-{one.name}" for one in SETS} <= set(results)
    shown = {row["set"] for row in results.values() if row.get("figures")}
    assert {picture.stem for picture in page.PICTURES.glob("*.png")} == shown


def test_a_measurement_is_simulated_with_as_many_ranks_as_it_has_bytes() -> None:
    few = [one for one in measurements("hkbu_10g") if one.size_bytes < one.ranks]
    assert few
    assert not set(few) & set(_of_file("hkbu_10g").measured(SHIPPED))
    assert isinstance(few[0], Measurement)
