"""The questions that `packetloom new` asks in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from rich.table import Table
from rich.text import Text

from packetloom.common import terminal
from packetloom.errors import PacketloomError
from packetloom.new import choices, fabrics
from packetloom.new.text import LOADS, SEEDS, Answers

T = TypeVar("T")
Ask = Callable[[str], str]


def ask_all(ask: Ask = input) -> Answers:
    """Asks until there is an answer to each question; Enter takes the default."""
    terminal.console().print("Enter takes the value in brackets; ? shows the choices.", markup=False)
    usual = Answers()
    known = {kind: choices.doc("topology", kind) for kind in fabrics.FABRICS}
    traffics = {name: traffic.doc for name, traffic in choices.workloads().items()}
    fabric = _ask(ask, "Fabric", usual.fabric, fabrics.checked, known)
    rate = _ask(ask, "Rate of the links", usual.rate, _rate)
    workload = _ask(ask, "Workload", usual.workload, _workload, traffics)
    schemes = _ask(
        ask,
        "Schemes, with commas between",
        ", ".join(usual.schemes),
        lambda text: choices.schemes("scheme", [text]),
        choices.transports(),
    )
    loads = None
    if choices.traffic(workload).loads:
        loads = _ask(ask, "Loads", ", ".join(map(str, LOADS)), lambda text: choices.loads("load", [text]))
    seeds = _ask(ask, "Seeds", str(SEEDS), _seeds)
    return Answers(fabric=fabric, workload=workload, schemes=schemes, loads=loads, seeds=seeds, rate=rate)


def _ask(ask: Ask, what: str, usual: str, read: Callable[[str], T], known: Mapping[str, str] | None = None) -> T:
    while True:
        text = ask(f"{what} [{usual}]: ").strip() or usual
        if text == "?":
            _show(known)
            continue
        try:
            return read(text)
        except PacketloomError as error:
            terminal.console().print(str(error), markup=False)


def _show(known: Mapping[str, str] | None) -> None:
    console = terminal.console()
    if known is None:
        console.print("Any value of the same form.")
        return
    table = Table(box=None, show_header=False, padding=(0, 2))
    for name, doc in known.items():
        table.add_row(name, Text(doc))
    console.print(table)


def _workload(text: str) -> str:
    choices.traffic(text)
    return text


def _rate(text: str) -> str:
    choices.gbps("rate", text)
    return text


def _seeds(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise PacketloomError(f"{text}: a number of seeds is from 1 to 1000")
    return int(text)
