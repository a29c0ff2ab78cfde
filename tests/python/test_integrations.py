"""Front ends for other simulators, `integrations/`: compiled without warnings against their signatures, and driven."""

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import packetloom
from packetloom.validate.peers.jobs.astra_sim import _mesh, _trace
from packetloom.validate.peers.jobs.replay import job_on

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "integrations"
LIBRARY = Path(os.environ.get("PACKETLOOM_LIBRARY", ROOT / "target" / "library"))
SIDE_BY_SIDE = ROOT / "validation/astra_sim/with_packetloom.csv"
COMPILER = shutil.which("c++")
VALGRIND = shutil.which("valgrind")
FLAGS = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{FOLDER}/common", f"-I{FOLDER}/tests"]

RANKS, BITS_PER_SECOND, DELAY_NS = 8, 400e9, 250
RACK = {
    "kind": "rack",
    "hosts": RANKS,
    "link": {"rate": "400Gbps", "delay": f"{DELAY_NS}ns"},
    "forwarding": "cut-through",
}
ALL_REDUCE = {"kind": "collective", "operation": "all-reduce", "algorithm": "ring", "size": "1MiB"}

with_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
with_library = pytest.mark.skipif(not (LIBRARY / "lib/libpacketloom.so").exists(), reason="make library was not run")


def compiled(folder: Path, sources: list[str], *flags: str, with_network: bool = True) -> Path:
    """A program of sources of `integrations/`."""
    assert COMPILER
    program, lib = folder / "program", LIBRARY / "lib"
    linked = [f"-I{LIBRARY}/include", f"-L{lib}", "-lpacketloom", f"-Wl,-rpath,{lib.resolve()}"] if with_network else []
    paths = [str(FOLDER / source) for source in sources]
    subprocess.run([COMPILER, *FLAGS, *flags, *paths, "-o", str(program), *linked], check=True)
    return program


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "rack.json"
    file.write_text(json.dumps({key: value for key, value in job_on(RACK, {}).items() if key != "workload"}))
    return file


@with_compiler
def test_receives_get_the_bytes_of_messages_in_any_order(tmp_path: Path) -> None:
    run(compiled(tmp_path, ["tests/matching.cc"], with_network=False))


@with_compiler
@with_library
def test_a_ring_over_astra_sims_interface_takes_what_the_job_and_the_closed_form_take(
    tmp_path: Path, scenario: Path
) -> None:
    sources = ["tests/astra_sim.cc", "astra-sim/packetloom_network.cc", "common/session.cc"]
    flags = [f"-I{FOLDER}/astra-sim", f"-I{FOLDER}/tests/astra-sim-interface"]
    program = compiled(tmp_path, sources, *flags)
    table = tmp_path / "flows.csv"
    first, second = run(program, scenario, table).split()
    assert first == second
    steps = 2 * (RANKS - 1)
    assert len(table.read_text().splitlines()) == 1 + steps * RANKS
    closed_ns = steps * (2**20 / RANKS * 8 / BITS_PER_SECOND * 1e9 + 2 * DELAY_NS)
    iterations = packetloom.run(job_on(RACK, ALL_REDUCE), tmp_path / "job", progress=False).to_polars("iterations")
    assert int(first) == pytest.approx(closed_ns, rel=0.01)
    assert int(first) == pytest.approx(iterations["jct_ns"].max(), rel=1e-4)


@with_compiler
@with_library
@pytest.mark.parametrize("flags", [[], ["-DBEFORE_SIMAI_1_7"]], ids=["1.7", "before"])
def test_simais_flow_tags_come_with_their_messages_after_their_delays(
    tmp_path: Path, scenario: Path, flags: list[str]
) -> None:
    sources = ["tests/simai.cc", "simai/simai_network.cc", "common/session.cc"]
    program = compiled(tmp_path, sources, f"-I{FOLDER}/simai", f"-I{FOLDER}/tests/simai-interface", *flags)
    run(program, scenario)


@with_compiler
@with_library
@pytest.mark.slow
@pytest.mark.skipif(VALGRIND is None, reason="there is no valgrind")
def test_memory_is_used_as_it_may_be_and_given_back(tmp_path: Path, scenario: Path) -> None:
    assert VALGRIND
    sources = ["tests/simai.cc", "simai/simai_network.cc", "common/session.cc"]
    program = compiled(tmp_path, sources, f"-I{FOLDER}/simai", f"-I{FOLDER}/tests/simai-interface", "-g")
    run(VALGRIND, "--quiet", "--error-exitcode=9", "--leak-check=full", program, scenario)


@with_compiler
@with_library
def test_how_far_each_call_goes_changes_nothing_for_who_simulates_until(tmp_path: Path, scenario: Path) -> None:
    run(compiled(tmp_path, ["tests/simulate_until.cc"], f"-I{FOLDER}/atlahs"), scenario)


@with_library
@pytest.mark.parametrize(
    ("name", "interface", "placed"),
    [
        (
            "astra-sim",
            "astra-sim/common/AstraNetworkAPI.hh",
            ["astra-sim/network_frontend/packetloom/session.cc", "build/astra_packetloom/build.sh"],
        ),
        (
            "simai",
            "astra-sim-alibabacloud/astra-sim/system/AstraNetworkAPI.hh",
            ["astra-sim-alibabacloud/astra-sim/network_frontend/packetloom/ns3/mtp-interface.h"],
        ),
    ],
)
def test_a_front_end_is_put_into_a_checkout_by_one_command(
    tmp_path: Path, name: str, interface: str, placed: list[str]
) -> None:
    install = FOLDER / name / "install.sh"
    refused = subprocess.run([install, tmp_path], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "is no checkout of" in refused.stderr
    (tmp_path / interface).parent.mkdir(parents=True)
    (tmp_path / interface).touch()
    build = Path(run(install, tmp_path).strip())
    assert os.access(build, os.X_OK)
    assert (build.parent / "CMakeLists.txt").exists()
    assert all((tmp_path / file).exists() for file in placed)


def test_the_figures_beside_astra_sim_are_of_this_build(tmp_path: Path) -> None:
    page = (ROOT / "docs/astra-sim.md").read_text(encoding="utf-8")
    with SIDE_BY_SIDE.open(encoding="utf-8", newline="") as file:
        rows = {row.pop("trace"): {name: float(value) for name, value in row.items()} for row in csv.DictReader(file)}
    assert len(rows) == 24
    for trace, row in rows.items():
        arrivals, ranks = _trace(trace, tmp_path)
        done = packetloom.run(
            job_on(_mesh(ranks, "FullyConnected", tmp_path), arrivals), tmp_path / trace, progress=False
        )
        iterations = done.to_polars("iterations")
        assert (iterations["start_ns"] + iterations["jct_ns"]).max() == pytest.approx(
            row["packetloom_alone_ns"], abs=0.01
        )
        assert row["with_packetloom_ns"] == pytest.approx(row["packetloom_alone_ns"], rel=0.0026)
        if trace != "sends_3":
            assert row["with_packetloom_ns"] == pytest.approx(row["unaware_ns"], rel=0.00013)
        if f"`{trace}`" in page:
            assert " | ".join(f"{value:,.0f}" for value in row.values()) in page
