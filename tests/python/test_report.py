"""The report and the figures."""

import re
import shutil
from pathlib import Path

import matplotlib as mpl
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer

import packetloom
from conftest import SCENARIO, as_in_a_test
from packetloom.errors import PacketloomError
from packetloom.pages.figures import chart
from packetloom.stats import curves
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

mpl.use("Agg")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """To be looked at only."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "small.toml").write_text(SCENARIO)
    with as_in_a_test():
        return packetloom.run(folder / "small.toml", folder / "out", overrides=["run.flows=100"], progress=False)


def own_markup(page: str) -> str:
    """The page without its scripts."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_report_needs_nothing_from_elsewhere(results: Results, tmp_path: Path) -> None:
    page = packetloom.report(results, tmp_path / "report.html").read_text()
    assert not re.search(r"""<(?:script|link|img|iframe)[^>]*\b(?:src|href)\s*=""", own_markup(page))
    assert not re.search(r"https?://", own_markup(page))
    assert "@import" not in own_markup(page)
    assert len(page) < 1_000_000


def test_report_says_what_is_not_finished(tmp_path: Path, results: Results) -> None:
    part = Results(shutil.copytree(results.path, tmp_path / "part"))
    next((part.path / "flows.parquet").glob("*.parquet")).unlink()
    page = packetloom.report(part, tmp_path / "report.html").read_text()
    assert "7 of 8 cases finished" in page


def test_names_in_a_scenario_cannot_break_the_page(scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(scenario.read_text().replace('"TCP"', '"</script><b>T"'))
    results = packetloom.run(scenario, tmp_path / "odd", progress=False)
    page = packetloom.report(results, tmp_path / "report.html").read_text()
    assert page.count("</script>") == 2
    assert "<b>T" not in own_markup(page)


def test_two_folders_side_by_side(scenario: Path, tmp_path: Path, results: Results) -> None:
    other = packetloom.run(scenario, tmp_path / "other", overrides=["run.flows=30"], progress=False)
    assert list(curves.styles([results, other])) == ["TCP [out]", "DCTCP [out]", "TCP [other]", "DCTCP [other]"]
    page = packetloom.report([results, other], tmp_path / "both.html").read_text()
    assert "DCTCP [other]" in page


def test_a_scheme_has_one_colour_everywhere(results: Results) -> None:
    expected = {label: look.colour for label, look in curves.styles(results).items()}
    for name in ("slowdown-by-load", "slowdown-by-size", "fct-cdf"):
        assert errorbar_colours(packetloom.plot(name, results)) == expected
        shown = chart(name, results).to_json()["series"]
        assert {series["of"]: series["look"]["colour"] for series in shown} == expected
    assert errorbar_colours(packetloom.plot("queue-by-tier", results)) == expected


def test_variants_of_a_scheme_share_its_colour(scenario: Path, tmp_path: Path) -> None:
    grid = ['scheme.TCP.queue.capacity=["30KB", "60KB"]', "run.seeds=1"]
    looks = curves.styles(packetloom.run(scenario, tmp_path / "grid", overrides=grid, progress=False))
    assert list(looks) == ["TCP, queue.capacity 30KB", "TCP, queue.capacity 60KB", "DCTCP"]
    small, large, dctcp = looks.values()
    assert small.colour == large.colour != dctcp.colour
    assert (small.marker, small.dash) != (large.marker, large.dash)


def errorbar_colours(ax: Axes) -> dict[str, str]:
    bars = [bar for bar in ax.containers if isinstance(bar, ErrorbarContainer)]
    return {str(bar.get_label()): to_hex(bar.lines[0].get_color()) for bar in bars}


def test_plots_draw_on_the_axes_they_are_given(results: Results) -> None:
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(2, 2)
    names = ("slowdown-by-load", "slowdown-by-size", "fct-cdf", "queue-by-tier")
    for name, ax in zip(names, axes.flat, strict=True):
        assert packetloom.plot(name, results, ax) is ax
        assert ax.get_legend_handles_labels()[1]


def test_one_load_gives_dots_with_their_names_beside(scenario: Path, tmp_path: Path) -> None:
    results = packetloom.run(scenario, tmp_path / "one", overrides=["run.loads=[0.5]"], progress=False)
    axes = packetloom.plot("slowdown-by-load", results)
    assert axes.get_xscale() == "log"
    assert not axes.patches  # a bar on a logarithmic axis is as long as one likes
    assert len(axes.containers) == 2
    assert [text.get_text() for text in axes.get_yticklabels()] == ["TCP", "DCTCP"]
    packetloom.report(results, tmp_path / "report.html")


def test_unknown_load(results: Results) -> None:
    with pytest.raises(PacketloomError, match=r"fct-cdf: there is no load 0.3; there are 0.2, 0.8"):
        packetloom.plot("fct-cdf", results, load=0.3)


def test_size_bins_hold_equally_many_flows(scenario: Path, tmp_path: Path) -> None:
    overrides = ["run.flows=200", "workload.sizes={ kind = 'exponential', mean = '100KB' }"]
    results = packetloom.run(scenario, tmp_path / "spread", overrides=overrides, progress=False)
    frame = curves.slowdown_by_size(results, points=10).filter(pl.col("statistic") == "mean")
    assert frame.filter(pl.col("low") < pl.col("value"), pl.col("value") < pl.col("high")).height > 0
    counts = frame.group_by("load", "size_bytes").agg(pl.col("flows").sum())["flows"].to_list()
    assert len(counts) == 2 * 10
    assert sum(counts) == results.flows.num_rows
    assert max(counts) - min(counts) <= 4  # two schemes and two seeds carry the same flows


def test_distribution_rises_to_one(results: Results) -> None:
    frame = curves.distribution(results, "fct_ns").filter(pl.col("label") == "TCP", pl.col("load") == 0.8)
    assert frame["fct_ns"].is_sorted()
    assert frame["fraction"].max() == pytest.approx(0.9999)


def test_queues_that_were_not_watched(scenario: Path, tmp_path: Path) -> None:
    results = packetloom.run(scenario, tmp_path / "unwatched", overrides=["measure.queues=false"], progress=False)
    page = packetloom.report(results, tmp_path / "report.html").read_text()
    assert "set queues = true in [measure]" in page
    with pytest.raises(PacketloomError, match="no queues were recorded"):
        packetloom.plot("queue-by-tier", results)


def test_flow_level_schemes_alone(scenario: Path, tmp_path: Path) -> None:
    overrides = ["scheme.*.transport=ideal"]
    results = packetloom.run(scenario, tmp_path / "ideal", overrides=overrides, progress=False)
    assert results.ports.num_rows == 0
    packetloom.report(results, tmp_path / "report.html")


def test_two_folders_of_one_name(scenario: Path, tmp_path: Path, results: Results) -> None:
    other = packetloom.run(scenario, tmp_path / "again" / "out", overrides=["run.flows=10"], progress=False)
    labels = list(curves.styles([results, other]))
    assert labels[0] == f"TCP [{results.path}]"
    assert labels[2] == f"TCP [{other.path}]"
