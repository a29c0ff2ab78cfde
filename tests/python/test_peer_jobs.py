"""Jobs of other simulators: some of their rows replayed, and what is known of the others."""

from pathlib import Path

import pytest

from packetloom.validate.comparison import Row, run_comparisons
from packetloom.validate.peers.agreement import NONE, Deviations
from packetloom.validate.peers.jobs import astra_sim, loggopsim
from packetloom.validate.peers.jobs.replay import read_rows, replay_of

pytestmark = pytest.mark.unaudited

# Of each fault that these rows once showed: the size of an all-gather, in ASTRA-sim's own trace and beside others; the
# lowest id first; groups; a send that holds its stream; pieces of an operation; a false stall (I008).
OF_ASTRA_SIM = (
    "A049",
    "B016",
    "H011",
    "H018",
    "I003",
    "I008",
    "T_idc_4_FU",
    "T_order_4_SU",
    "T_sends_3_FU",
    "T_serial_8_FU",
    "T_ship_all_gather_16_SU",
    "T_tpdp_8_SU",
)
# An exchange of several messages with one tag; LogGOPS's g, O and S.
OF_LOGGOPSIM = ("L_nbody2_8_C", "L_xcpu_2_B", "L_a2a_8_16k_D_loggopsim", "L_a2a_8_16k_E_loggopsim", "L_rdv_2_F")


def replayed(module: object, name: str, ids: tuple[str, ...], folder: Path, known: Deviations = NONE) -> list[Row]:
    assert module in (astra_sim, loggopsim)
    of = astra_sim if module is astra_sim else loggopsim
    chosen = [row for row in read_rows(of.SOURCE) if row["id"] in ids]
    assert len(chosen) == len(ids)
    return run_comparisons([replay_of(name, of.SOURCE, chosen, of._what, of._scenario, known)], folder=folder)


def test_jobs_take_as_long_as_on_astra_sim_and_loggopsim(tmp_path: Path) -> None:
    rows = replayed(astra_sim, "astra-sim", OF_ASTRA_SIM, tmp_path)
    rows += replayed(loggopsim, "loggopsim", OF_LOGGOPSIM, tmp_path)
    assert {row.id: row.verdict for row in rows} == {row.id: "holds" for row in rows}
    exact = [row for row in rows if abs(row.measured / row.expected[0] - 1) < 1e-3]
    assert len(exact) >= 9


@pytest.mark.parametrize("of", [astra_sim, loggopsim])
def test_what_is_known_is_known_of_rows_that_there_are(of: object) -> None:
    assert of in (astra_sim, loggopsim)
    module = astra_sim if of is astra_sim else loggopsim
    ids = [row["id"] for row in read_rows(module.SOURCE)]
    assert len(ids) == len(set(ids))
    assert set(module.KNOWN) <= set(ids)


def test_atlahs_serves_operations_in_another_order_and_g_holds_its_cpu(tmp_path: Path) -> None:
    # What its own code takes with these two changed is in loggopsim.py.
    ids = ("L_a2a_8_16k_D", "L_a2a_8_16k_E")
    rows = replayed(loggopsim, "loggopsim", ids, tmp_path, loggopsim.KNOWN)
    assert [row.verdict for row in rows] == ["differs as known", "differs as known"]
    assert [row.measured for row in rows] == pytest.approx([136_181, 236_362], rel=1e-3)


def test_the_ring_is_the_one_that_schedgen_makes() -> None:
    theirs = (loggopsim.FOLDER / "arring_32_1m.goal").read_text(encoding="utf-8")
    assert loggopsim.ring_of_all_reduce(32, 1 << 20) == theirs
