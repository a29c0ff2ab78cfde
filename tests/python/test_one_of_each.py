"""A statistic has one definition, which all rooms use: two would differ some day, and a page from its command."""

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import packetloom
from packetloom.common.percentiles import p99, quantile, quantiles

HOUSE = Path(packetloom.__file__).parent
OF_QUANTILES = {"quantile", "nanquantile", "percentile", "nanpercentile"}
"""What numpy and polars call them."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(HOUSE.rglob("*.py")):
        yield str(file.relative_to(HOUSE)), ast.parse(file.read_text(encoding="utf-8"))


def definitions(tree: ast.Module) -> Iterator[str]:
    """The names of classes, functions and types that a module defines at its top."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("Verdict", "stats/verdict.py"),
        ("Comparison", "stats/paired.py"),
        ("ratios_by_seed", "stats/paired.py"),
        ("t_quantile", "common/confidence.py"),
    ],
)
def test_it_is_defined_once(name: str, home: str) -> None:
    assert {file for file, tree in trees() if name in definitions(tree)} == {home}


def test_percentiles_are_computed_in_one_place() -> None:
    """A call such as `np.percentile(...)` or `column.quantile(...)` elsewhere might interpolate otherwise."""
    found = {
        file
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OF_QUANTILES
    }
    assert found == {"common/percentiles.py"}


def test_arrays_series_and_columns_have_the_same_percentiles() -> None:
    """Of 1 to 11, p99 is at 9.9 of 10 steps: 10.9. What did not end is left out."""
    values = np.arange(1.0, 12.0)
    assert p99(values) == p99(np.append(values, np.nan)) == p99(pl.Series(values)) == pytest.approx(10.9)
    frame = pl.DataFrame({"value": values})
    assert frame.select(p99(pl.col("value"))).item() == pytest.approx(10.9)
    assert frame.select(quantile(pl.col("value"), 0.25)).item() == quantile(values, 0.25) == 3.5
    assert quantiles(values, [0.25, 0.99]).tolist() == pytest.approx([3.5, 10.9])
    assert np.isnan([p99(np.empty(0)), p99(pl.Series([], dtype=pl.Float64)), *quantiles(np.empty(0), [0.1, 0.2])]).all()
