"""Theory: the formulas against known numbers, the rules for what holds, and the quick comparisons themselves."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from packetloom.validate import comparison, theory
from packetloom.validate.command import KINDS, run_validation
from packetloom.validate.comparison import Check, Row
from packetloom.validate.theory import dcqcn, formulas
from packetloom.validate.theory.congestion import saw
from packetloom.validate.theory.replicates import bounded, predicted

pytestmark = pytest.mark.unaudited


def test_formulas_give_what_is_known() -> None:
    # M/D/1 waits half of what M/M/1 waits.
    assert formulas.fifo_waiting(0.5, 1, 1) == 0.5
    assert formulas.fifo_waiting(0.5, 1, 2) == 1
    # Without load nobody waits; at load 0.5 SRPT takes 1.425 service times where first come, first served takes 2.
    assert formulas.srpt_response(1e-9) == pytest.approx(1)
    assert formulas.srpt_response(0.5) == pytest.approx(1.4254, abs=1e-4)
    assert formulas.square_root_constant() == pytest.approx(1.3098, abs=1e-4)
    assert formulas.cubic_constant() * 0.4**0.25 == pytest.approx(1.3004, rel=5e-3)
    assert formulas.distinct_paths(2, 2) == 1.5
    # 23 people, one birthday.
    assert formulas.without_collision(365, 23) == pytest.approx(0.4927, abs=1e-4)
    assert formulas.greedy_share(1) == 0.5


def test_a_buffer_for_one_is_erlangs_and_a_long_one_loses_what_is_too_much() -> None:
    for load in (0.3, 1, 2):
        assert formulas.finite_buffer_loss(load, 1) == pytest.approx(load / (1 + load))
    assert formulas.finite_buffer_loss(2, 40) == pytest.approx(0.5, abs=1e-6)
    assert formulas.finite_buffer_loss(0.5, 30) == pytest.approx(0, abs=1e-12)


def test_flows_and_shares_of_lossless_networks_are_as_worked_out_by_hand() -> None:
    assert formulas.pfc_share(1 / 8) == pytest.approx(1 / 9)
    assert formulas.pfc_share(1 / 2) == pytest.approx(1 / 3)
    # 3 x 83.84 ns, then the last one's 83.84 ns, and 2 us; with 1 B at the end, 49 B of it.
    assert formulas.lone_fct_ps(3_000, 1_000, 48, (100, 100), 1_000_000) == 2_335_360
    assert formulas.lone_fct_ps(2_001, 1_000, 48, (100, 400), 1_000_000) == 2 * 83_840 + 3_920 + 980 + 2_000_000
    assert formulas.hpcc_utilisation(0.95, 2 * 80, 52_000) == pytest.approx(0.95308, abs=1e-5)


def test_dcqcns_fixed_point_is_where_rate_and_target_stand_still() -> None:
    packets = 40e9 / 8 / 1048
    found = {flows: dcqcn.fluid_marked(packets / flows, 1048) for flows in (1, 2, 10, 50)}
    assert sorted(found.values()) == list(found.values())
    for flows, marked in found.items():
        # The source's approximation for few marks, which is too high, and the more so the more there are.
        gap, additive, bytes_timer = 50e-6, 40e6 / 8 / 1048, 1048 / 10e6 + flows / (55e-6 * packets)
        roughly = (additive * flows**2 / (gap * packets**2) * bytes_timer**2) ** (1 / 3)
        assert 0.6 * roughly < marked < roughly


def test_a_reaction_point_without_marks_has_the_line_and_with_marks_nearly_what_the_fluid_model_has() -> None:
    assert dcqcn.drawn_rate(1e-9, 40e9, 1048, seconds=0.5) > 0.95 * 40e9
    fluid_bps = 10e9
    marked = dcqcn.fluid_marked(fluid_bps / 8 / 1048, 1048)
    assert 1.0 < dcqcn.drawn_rate(marked, 40e9, 1048) / fluid_bps < 1.3


def test_dctcps_saw_is_nearly_the_papers_square_roots() -> None:
    window = 10_000
    alpha, swing, packets = formulas.dctcp_cycle(window, grows_while_marked=True)
    assert alpha == pytest.approx(math.sqrt(2 / window), rel=0.01)
    assert swing == pytest.approx(math.sqrt(2 * window) / 2, rel=0.01)
    assert packets == pytest.approx(swing * window, rel=0.01)
    # One round trip more without growth.
    assert formulas.dctcp_cycle(window, grows_while_marked=False)[2] == pytest.approx(packets + window / 2, rel=0.01)


def test_a_prediction_holds_in_an_interval_that_says_something() -> None:
    values = [0.99, 1.01, 1.0, 0.98, 1.02]
    assert predicted("x", "", "", 1.0, values, known_to=0.1).verdict == "holds"
    assert predicted("x", "", "", (0.5, 0.97), values, known_to=0.1).verdict == "holds"
    assert predicted("x", "", "", 1.2, values, known_to=0.1).verdict == "differs"
    vague = predicted("x", "", "", 1.0, values, known_to=0.01)
    assert vague.verdict == "differs"
    assert "more seeds" in vague.why
    assert bounded("x", "", "", (0.5, 1), [0.6, 0.5]).verdict == "holds"
    assert bounded("x", "", "", (0.5, 1), [0.6, 0.4]).verdict == "differs"


def test_a_saws_teeth_are_counted() -> None:
    # Teeth of 20 packets, 100 us long, with a ripple of a packet.
    times = np.arange(0, 5_000_000, 1_000)
    packets = 50 + times % 100_000 / 5_000 + times // 1_000 % 2
    samples = pl.DataFrame({"time_ns": times, "queue_bytes": packets * 1500})
    height, period = saw(samples, 1e6, 20)
    assert height == pytest.approx(20.6, abs=0.5)
    assert period == pytest.approx(100)
    assert all(math.isnan(value) for value in saw(samples.with_columns(pl.lit(0).alias("queue_bytes")), 0, 20))


def test_what_is_quick_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_validation(["theory"], Path("theory.json"), quick=True)
    rows = json.loads(Path("theory.json").read_text())
    known = {row["id"] for row in rows if row["verdict"] == "differs as known"}
    # A mean-field model, whose error is known.
    assert known == {"theory-dcqcn-2-marked"}
    assert {row["verdict"] for row in rows if row["id"] not in known} == {"holds"}
    of = {row["id"].split("-")[1] for row in rows}
    assert {row["id"].split("-")[1] for row in rows if "schemes" not in row} == {"greedy"}
    assert of >= {"md1", "trimming", "processor", "dctcp", "rcp", "ecmp", "greedy", "pfc", "rdma", "hpcc", "dcqcn"}


def test_what_differs_unexplained_fails(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = predicted("wrong", "what is wrong", "nobody", 2.0, [1.0, 1.0], known_to=0.1)
    assert wrong.verdict == "differs"
    comparison.print_rows("theory", "predicted", [wrong])
    printed = capsys.readouterr().out
    assert "0 of 1 hold" in printed
    assert "theory-wrong: differs, and it is not known why" in printed


def test_a_prediction_that_nothing_is_known_of_fails_though_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def vague(_: object) -> list[Row]:
        return [predicted("vague", "", "", 1.0, [0.5, 1.5], known_to=0.1)]

    monkeypatch.setitem(KINDS, "theory", ("predicted", lambda: [Check("vague", lambda _: {}, vague)]))
    assert not run_validation(["theory"])
    monkeypatch.setitem(KINDS, "peers", ("theirs", lambda: [Check("vague", lambda _: {}, vague)]))
    assert not run_validation(["peers"])


def test_every_comparison_has_a_name_of_its_own() -> None:
    names = [one.name for one in theory.theory_comparisons()]
    assert len(names) == len(set(names))
