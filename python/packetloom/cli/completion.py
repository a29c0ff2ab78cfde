"""What the shell offers at Tab: names, each with what it is. Each list is loaded as it is asked for."""

from __future__ import annotations

Offered = list[str]


def _begins(known: list[str], incomplete: str) -> Offered:
    return [one for one in known if one.startswith(incomplete)]


def sections(incomplete: str) -> Offered:
    """What `list` can be asked for."""
    from packetloom.cli import catalogue

    return _begins(catalogue.sections(), incomplete)


def figures(incomplete: str) -> Offered:
    """What `plot` draws."""
    from packetloom.cli.catalogue import entries

    return _begins(list(entries("figures")), incomplete)


def papers(incomplete: str) -> Offered:
    """What `reproduce` redoes."""
    from packetloom.cli.catalogue import entries

    return _begins(list(entries("papers")), incomplete)


def comparisons(incomplete: str) -> Offered:
    """What `validate` compares with, and the sets of machines' measurements."""
    from packetloom.validate.command import KINDS
    from packetloom.validate.hardware import set_names

    return _begins([*KINDS, *set_names()], incomplete)


def components(incomplete: str) -> Offered:
    """What `explain` explains; a queue and a transport may share a name."""
    import json

    from packetloom import _core
    from packetloom.store.columns import TABLES

    kinds = [component["kind"] for component in json.loads(_core.registry())]
    return _begins([*dict.fromkeys(kinds), *(f"{table}.parquet" for table in TABLES)], incomplete)


def statistics(incomplete: str) -> Offered:
    """What `tune` makes small or large: a table's columns, each with what can be made of it."""
    from packetloom.store.columns import TABLES
    from packetloom.tuning.names import FEW, is_number

    columns = [f"{table}.{column}" for table in TABLES for column in TABLES[table] if is_number(column)]
    offered = [one for one in columns if one.startswith("cases.")]
    offered += [f"{one}.{statistic}" for one in columns if not one.startswith("cases.") for statistic in FEW]
    return _begins(offered, incomplete)


def fabrics(incomplete: str) -> Offered:
    """What `new` can lay out; a file's name is completed by hand."""
    from packetloom.new.fabrics import FABRICS

    return _begins(list(FABRICS), incomplete)


def workloads(incomplete: str) -> Offered:
    """What `new` can send over it."""
    from packetloom.new import choices

    return _begins(list(choices.workloads()), incomplete)


def schemes(incomplete: str) -> Offered:
    """What `new` has recipes for; of several with commas between, the last is completed."""
    from packetloom.new.recipes import ALIASES, OPTIONS, RECIPES

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{one}" for one in _begins([*RECIPES, *OPTIONS, *ALIASES], last)]
