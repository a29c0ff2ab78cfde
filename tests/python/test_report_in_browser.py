"""The report in a real browser: it opens from disk, shows what the Parquet holds, and every control works."""

import csv
import io
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from scipy import stats

import packetloom
from packetloom.common.quantities import significant
from packetloom.fabric_bench.command import run_bench
from packetloom.pages.figures import FIGURES
from packetloom.pages.html import Page as PaperPage
from packetloom.pages.panels import Curve, HeatMap, Panel, Stack, panel_json
from packetloom.pages.server import server
from packetloom.stats.curves import style_at
from packetloom.stats.flow_series import ORDER, SENT
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "target" / "screenshots"
OPENS_WITHIN_S = 1.5
MOST_BYTES = 3_000_000
SWITCHES = 4 + 3

ECMP = {"kind": "ecmp", "symmetric": True}
ECN = {"kind": "ecn", "capacity": "225KB", "mark_above": "22.5KB"}
STRICT = {"kind": "classes", "strict": 8, "queue": "drop-tail", "port": ECN}
EVERY_SCHEME: dict[str, dict[str, object]] = {
    "TCP": {"transport": "tcp"},
    "DCTCP": {"transport": "dctcp", "queue": "ecn"},
    "D2TCP": {"transport": "d2tcp", "queue": "ecn"},
    "RCP": {"transport": "rcp", "routing": ECMP},
    "D3": {"transport": "d3", "routing": ECMP},
    "PDQ": {"transport": "pdq", "routing": ECMP},
    "DAQ": {"transport": "daq", "queue": "daq"},
    "MinTCP": {"transport": "min-tcp", "queue": "pfabric"},
    "LineRate": {"transport": "line-rate", "queue": "pfabric"},
    "NDP": {"transport": "ndp", "queue": "ndp", "routing": "permutation"},
    "PIAS": {"transport": "pias", "queue": STRICT},
    "MPTCP": {"transport": "mptcp"},
    "Fixed": {"transport": "fixed-window"},
    "Ideal": {"transport": "ideal"},
    "Max-min": {"transport": "max-min"},
    "SYN": {"transport": "syn", "routing": "controller"},
    "ASY": {"transport": "asy"},
    "Fastpass": {"transport": "fastpass"},
}
FLOWS = 2_800  # in each of 36 cases: 100,800


def run(folder: Path, **changes: object) -> Results:
    """A campaign of every scheme on a small leaf-spine network."""
    scenario: dict[str, object] = {
        "topology": {"kind": "leaf-spine", "spines": 4, "leaves": 3, "hosts_per_leaf": 4},
        "workload": [
            {
                "sizes": {"kind": "uniform", "minimum": "500B", "maximum": "9KB"},
                "deadlines": {"kind": "exponential", "mean": "100us", "floor": "20us"},
            }
        ],
        "scheme": [{"name": name, "queue": "drop-tail"} | scheme for name, scheme in EVERY_SCHEME.items()],
        "run": {"loads": [0.3, 0.6], "flows": FLOWS},
        "measure": {"queues": True, "series_interval": "100us"},
    }
    return packetloom.run(scenario | changes, folder, progress=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(tmp_path_factory.mktemp("every") / "every")


@pytest.fixture(scope="module")
def report(results: Results) -> Path:
    return packetloom.report(results, results.path / "report.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium: apt install chromium")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=quiet)
        yield browser
        browser.close()


class Seen:
    """What a page asked for, and what it complained of."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []


Open = Callable[..., Page]


@pytest.fixture
def seen() -> Seen:
    return Seen()


def test_the_labs_sliders_work_without_a_kernel_and_a_network(browser: Browser, seen: Seen, tmp_path: Path) -> None:
    book = json.loads((ROOT / "docs/course/6-lab.ipynb").read_text())
    outputs = [output for cell in book["cells"] for output in cell.get("outputs", [])]
    file = tmp_path / "lab.html"
    file.write_text('<meta charset="utf-8">' + "".join("".join(output["data"]["text/html"]) for output in outputs))
    page = opened(browser, seen, file)
    for box in page.locator("div[id^=sliders]").all():
        first, second = box.locator("input").all()
        told = set()
        for at in ("0", "1", "2"):
            for other in ("0", "1", "2"):
                first.fill(at)
                second.fill(other)
                expect(box.locator("p:visible")).to_have_attribute("data-at", f"{at}-{other}")
                assert box.locator("g[data-at]:visible").count() == 1
                told.add(box.locator("p:visible").inner_text() + box.locator("output").last.inner_text())
        assert len(told) == 9
    page.screenshot(path=PICTURES / "lab.png", full_page=True)
    page.close()
    assert seen.requests == [file.as_uri()]
    assert not seen.complaints


@pytest.mark.parametrize("width", [390, 1440])
def test_the_benchs_page_fits_a_phone(open_page: Open, tmp_path: Path, width: int) -> None:
    folder = run_bench(["ttft", "latency"], "quick", tmp_path / "bench", settings=["run.seeds=1"])
    page = open_page(folder / "index.html", width=width)
    number = page.locator("h2:has-text('At a glance') ~ div.wide td.number").first
    box = number.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width, "what an engineer asks for first is seen without scrolling"
    page.screenshot(path=PICTURES / f"fabric-bench-{width}.png", full_page=True)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("table").count() > 4
    wider = (
        """all => all.filter(one => !one.closest('.wide') || one.closest('.wide').clientWidth > innerWidth).length"""
    )
    assert page.locator("table").evaluate_all(wider) == 0


def opened(browser: Browser, seen: Seen, target: Path | str, width: int = 1440, dark: bool = False) -> Page:
    """A file or an address in a window of its own."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
    page.set_default_timeout(10_000)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("console", lambda message: seen.complaints.append(message.text))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.goto(target.as_uri() if isinstance(target, Path) else target)
    return page


@pytest.fixture
def open_page(browser: Browser, seen: Seen) -> Iterator[Open]:
    """Opens pages; whatever one complains of fails the test."""
    pages = []

    def open_one(target: Path | str, width: int = 1440, dark: bool = False) -> Page:
        pages.append(opened(browser, seen, target, width, dark))
        return pages[-1]

    yield open_one
    for page in pages:
        page.close()
    assert seen.complaints == []


@pytest.fixture(scope="module")
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """The report, for tests that only read it."""
    seen = Seen()
    page = opened(browser, seen, report)
    yield page
    page.close()
    assert seen.complaints == []


def chart(page: Page, name: str) -> Locator:
    """The section of a figure, drawn."""
    section = page.locator("section[data-chart]").filter(
        has=page.get_by_role("button", name=f"Download {FIGURES[name].title} as CSV", exact=True)
    )
    section.scroll_into_view_if_needed()
    section.locator(".panel svg").first.wait_for()
    return section


def choose_statistic(page: Page, statistic: str) -> None:
    """The statistic of all figures."""
    page.get_by_label("Statistic").select_option(statistic)


def numbers(page: Page, name: str) -> list[dict[str, str]]:
    """What the button CSV gives: all that the figure shows."""
    with page.expect_download() as download:
        chart(page, name).get_by_role("button", name="as CSV").click()
    assert download.value.suggested_filename == f"{name}.csv"
    return list(csv.DictReader(io.StringIO(download.value.path().read_text())))


def panel_load(row: dict[str, str]) -> float:
    return float(row["panel"].removeprefix("load "))


def finished_flows(results: Results) -> pl.DataFrame:
    return results.to_polars("flows").filter("measured", pl.col("fct_ns").is_not_nan())


def test_it_opens_at_once(browser: Browser, report: Path) -> None:
    """In CPU time: what else this machine does is not the page's fault."""
    assert len(EVERY_SCHEME) * 2 * FLOWS >= 100_000
    assert report.stat().st_size <= MOST_BYTES
    page = browser.new_page()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.goto(report.as_uri())
    page.locator("[data-chart] .panel svg").first.wait_for(state="attached")
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    page.close()
    assert 0 < metrics["ProcessTime"] <= OPENS_WITHIN_S


NEED_A_SETTING = {
    *("incast-by-fan-in", "class-throughput", "class-queue", "class-credits", "reordering"),
    *("flows-over-time", "along"),
    *("paused-ports", "pause-reach", "paused-over-time", "operation-time", "bus-bandwidth"),
}
"""Figures that these results have no numbers for."""


def test_it_asks_for_nothing_but_itself(report: Path, open_page: Open, seen: Seen) -> None:
    page = open_page(report)
    for name in set(FIGURES) - NEED_A_SETTING:
        chart(page, name)
    assert {url.partition(":")[0] for url in seen.requests} <= {"file", "data", "blob"}
    assert {url for url in seen.requests if url.startswith("file")} == {report.as_uri()}


def test_slowdown_and_completion_times_are_those_of_the_flows(page: Page, results: Results) -> None:
    flows = finished_flows(results)
    for name, column, scale in (("slowdown-by-load", "slowdown", 1.0), ("fct-by-load", "fct_ns", 1e6)):
        for statistic, quantile in (("mean", None), ("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            choose_statistic(page, statistic)
            shown = numbers(page, name)
            assert len(shown) == len(EVERY_SCHEME) * 2
            assert {row["what"] for row in shown} == {f"{statistic} {FIGURES[name].y.title}"}
            for row in shown:
                at = (pl.col("scheme") == row["series"]) & (pl.col("load") == float(row["load"]))
                values = flows.filter(at)[column].to_numpy() / scale
                expected = values.mean() if quantile is None else np.quantile(values, quantile)
                assert float(row["value"]) == pytest.approx(expected, rel=1e-9)


def test_slowdown_by_size_has_equally_many_flows_in_each_bin(page: Page, results: Results) -> None:
    flows = finished_flows(results)
    choose_statistic(page, "p99")
    shown = [row for row in numbers(page, "slowdown-by-size") if row["series"] == "DCTCP" and panel_load(row) == 0.6]
    here = flows.filter(pl.col("load") == 0.6)
    edges = np.quantile(here["size_bytes"].to_numpy(), np.linspace(0, 1, 21))
    own = here.filter(pl.col("scheme") == "DCTCP").sort("size_bytes")
    sizes, slowdowns = own["size_bytes"].to_numpy(), own["slowdown"].to_numpy()
    assert len(shown) == 20
    for row, low, high in zip(shown, edges[:-1], edges[1:], strict=True):
        inside = (sizes <= high) & ((sizes > low) | (low == edges[0]))
        assert float(row["flow size (bytes)"]) == pytest.approx(sizes[inside].mean(), rel=1e-9)
        assert float(row["value"]) == pytest.approx(np.quantile(slowdowns[inside], 0.99), rel=1e-9)


def test_distributions_are_those_of_the_flows(page: Page, results: Results) -> None:
    flows = finished_flows(results)
    for name, column, axis, scale in (
        ("fct-cdf", "fct_ns", "flow completion time (ms)", 1e6),
        ("goodput-cdf", "goodput_gbps", "goodput (Gb/s)", 1.0),
    ):
        shown = [row for row in numbers(page, name) if row["series"] == "NDP" and panel_load(row) == 0.6]
        values = flows.filter(pl.col("scheme") == "NDP", pl.col("load") == 0.6)[column].to_numpy() / scale
        fractions = [float(row["value"]) for row in shown]
        assert [float(row[axis]) for row in shown] == pytest.approx(np.quantile(values, fractions), rel=1e-9)


def test_deadlines_and_fairness_are_those_of_the_flows(page: Page, results: Results) -> None:
    flows = results.to_polars("flows").filter("measured")
    keys = ("scheme", "load")
    met = {key: 100 * own["met_deadline"].to_numpy().mean() for key, own in flows.group_by(keys)}
    for row in numbers(page, "deadlines-met"):
        assert float(row["value"]) == pytest.approx(met[row["series"], float(row["load"])], rel=1e-9)
    share = finished_flows(results).with_columns((pl.col("best_fct_ns") / pl.col("fct_ns")).alias("share"))
    of_server = share.group_by(*keys, "src").agg(pl.col("share").mean())
    jain = {
        key: float(own["share"].sum()) ** 2 / (len(own) * float((own["share"] ** 2).sum()))
        for key, own in of_server.group_by(keys)
    }
    for row in numbers(page, "fairness"):
        assert float(row["value"]) == pytest.approx(jain[row["series"], float(row["load"])], rel=1e-9)


def test_lateness_is_that_of_the_flows(page: Page, results: Results) -> None:
    flows = results.to_polars("flows").filter("measured", pl.col("scheme") == "TCP", pl.col("load") == 0.6)
    late = flows["start_ns"] + flows["fct_ns"].fill_nan(float("inf")) - flows["deadline_ns"]
    shown = [row for row in numbers(page, "missed-by") if row["series"] == "TCP" and panel_load(row) == 0.6]
    assert shown
    for row in shown:
        by_ns = float(row["later than the deadline by more than (ms)"]) * 1e6
        assert float(row["value"]) == pytest.approx((late > by_ns + 1e-3).mean(), abs=1e-9)


def test_queues_and_links_are_those_of_the_ports(page: Page, results: Results) -> None:
    ports = results.to_polars("ports")
    choose_statistic(page, "p99")
    for row in numbers(page, "queue-by-tier"):
        of_tier = ports.filter(scheme=row["series"], load=panel_load(row), tier=row["name"])
        assert float(row["value"]) * 1e3 == pytest.approx(of_tier["queue_p99_bytes"].max(), rel=1e-9)
    for row in numbers(page, "link-imbalance"):
        of_tier = ports.filter(scheme=row["series"], load=panel_load(row), tier=row["name"])
        used = [own["utilisation"].to_numpy() for _, own in of_tier.group_by("node")]
        uneven = [np.ptp(one) / one.mean() for one in used if one.mean() > 0]
        assert float(row["value"]) == pytest.approx(np.mean(uneven), rel=1e-9)


def test_series_are_those_of_the_samples(page: Page, results: Results) -> None:
    at = {"scheme": "DCTCP", "load": 0.6}
    ports, case = results.to_polars("ports").filter(**at), results.to_polars("cases").filter(**at)
    samples = results.to_polars("series").filter(pl.col("time_ns") + 100e3 <= case["simulated_ns"][0], **at)
    of_switches = samples.join(ports.filter(~pl.col("node").str.starts_with("host")), on="port", how="semi")
    choose_statistic(page, "max")
    largest = dict(of_switches.group_by("time_ns").agg(pl.col("queue_bytes").max()).rows())
    times, values = zip(*own_series(numbers(page, "queue-over-time")), strict=True)
    assert times == pytest.approx([time_ns / 1e6 for time_ns in sorted(largest)])
    assert values == pytest.approx([largest[time_ns] / 1e3 for time_ns in sorted(largest)])
    busiest = ports.sort("tx_bytes").row(-1, named=True)
    rate = busiest["link_gbps"] / 8
    used = samples.filter(port=busiest["port"]).sort("time_ns")
    times, values = zip(*own_series(numbers(page, "utilisation-over-time")), strict=True)
    assert times == pytest.approx((used["time_ns"] / 1e6).to_list())
    assert values == pytest.approx((100 * used["tx_bytes"] / 100e3 / rate).to_list())
    to_hosts = samples.join(ports.filter(pl.col("peer").str.starts_with("host")), on="port", how="semi")
    received = to_hosts.group_by("time_ns").agg(pl.col("tx_bytes").sum()).sort("time_ns")
    times, values = zip(*own_series(numbers(page, "throughput-over-time")), strict=True)
    assert times == pytest.approx((received["time_ns"] / 1e6).to_list())
    assert values == pytest.approx((received["tx_bytes"] * 8 / 100e3).to_list())
    waits = np.sort(of_switches["queue_bytes"].to_numpy() / 1e3)
    for queue, fraction in own_series(numbers(page, "queue-cdf")):
        assert queue == pytest.approx(np.quantile(waits, fraction), rel=1e-9)


def own_series(rows: list[dict[str, str]]) -> list[tuple[float, float]]:
    """DCTCP's at load 0.6."""
    axis = list(rows[0])[3]
    return [
        (float(row[axis]), float(row["value"])) for row in rows if row["series"] == "DCTCP" and panel_load(row) == 0.6
    ]


def test_tables_say_what_the_figures_draw(page: Page) -> None:
    section = chart(page, "slowdown-by-size")
    section.get_by_text("Table", exact=True).click()
    cells = [row.split("\t") for row in section.locator("tbody").inner_text().strip().splitlines()]
    shown = numbers(page, "slowdown-by-size")
    assert [(load, scheme) for load, scheme, *_ in cells] == [(row["panel"], row["series"]) for row in shown]
    drawn = section.locator(".plot").evaluate("plot => plot.data.flatMap(trace => trace.y)")
    assert drawn == pytest.approx([float(row["value"]) for row in shown])
    written = [float(row[3].replace(",", "")) for row in cells]
    assert written == pytest.approx(drawn, rel=1e-5)


def names_of(section: Locator) -> list[str]:
    return section.locator(".names li").all_inner_texts()


def panels_of(section: Locator) -> int:
    return section.locator("figure.panel").count()


def test_controls_by_mouse(report: Path, open_page: Open) -> None:
    page = open_page(report)
    section = chart(page, "fct-cdf")
    assert names_of(section) == list(EVERY_SCHEME)
    assert panels_of(section) == 2
    page.get_by_role("checkbox", name="TCP", exact=True).uncheck()
    page.get_by_role("checkbox", name="0.3").uncheck()
    section = chart(page, "fct-cdf")
    expect(section.locator(".names li")).to_have_count(len(EVERY_SCHEME) - 1)
    assert names_of(section) == [name for name in EVERY_SCHEME if name != "TCP"]
    assert panels_of(section) == 1
    page.get_by_role("checkbox", name="0.6").uncheck()
    expect(section.get_by_text("Nothing is chosen")).to_be_visible()
    page.get_by_role("checkbox", name="0.6").check()
    expect(section.get_by_text("Nothing is chosen")).to_be_hidden()
    choose_statistic(page, "p99.9")
    expect(chart(page, "slowdown-by-load").locator(".plot")).to_contain_text("p99.9 slowdown")
    expect(chart(page, "fct-by-load").locator(".plot")).to_contain_text("p99.9 FCT")
    expect(chart(page, "queue-by-tier").locator(".plot")).to_contain_text("p99 queue")  # the nearest that there is
    page.get_by_role("button", name="Dark", exact=True).click()
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(22, 25, 29)"
    page.get_by_role("button", name="Light", exact=True).click()
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


def test_controls_by_keyboard(report: Path, open_page: Open) -> None:
    page = open_page(report)
    page.get_by_role("button", name="Dark", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Light", exact=True)).to_be_focused()
    box = page.get_by_role("checkbox", name="DCTCP", exact=True)
    box.focus()
    page.keyboard.press("Space")
    expect(box).not_to_be_checked()
    section = chart(page, "slowdown-by-load")
    expect(section.locator(".names li")).to_have_count(len(EVERY_SCHEME) - 1)
    page.get_by_label("Statistic").focus()
    page.keyboard.press("ArrowDown")
    expect(section.locator(".plot")).to_contain_text("p50 slowdown")
    plot, readout = section.locator(".plot"), section.locator(".readout")
    plot.focus()
    page.keyboard.press("ArrowRight")
    expect(readout).to_contain_text("TCP, all flows: load 0.3; p50 slowdown")
    page.keyboard.press("ArrowRight")
    expect(readout).to_contain_text("load 0.6")
    expect(section.locator(".tip")).to_contain_text("load: 0.6")
    page.keyboard.press("ArrowDown")
    expect(readout).to_contain_text("D2TCP")
    page.keyboard.press("Escape")
    expect(readout).to_have_text("")
    expect(section.locator(".tip")).to_be_hidden()
    table = section.get_by_text("Table", exact=True)
    table.focus()
    page.keyboard.press("Enter")
    expect(section.locator("tbody tr")).to_have_count(2 * (len(EVERY_SCHEME) - 1))


def test_hovering_shows_values(page: Page, results: Results) -> None:
    choose_statistic(page, "mean")
    section = chart(page, "queue-by-tier")
    section.locator(".point").first.hover(force=True)
    tip = section.locator(".tip")
    expect(tip).to_contain_text("TCP")
    at = {"scheme": "TCP", "load": 0.3, "tier": "host to leaf"}
    expected_bytes = results.to_polars("ports").filter(**at)["queue_mean_bytes"].mean()
    found = re.search(r"mean queue: ([\d.]+) (K?B)", tip.inner_text())
    assert found
    assert float(found[1]) * {"B": 1.0, "KB": 1e3}[found[2]] == pytest.approx(expected_bytes, rel=1e-3)


def test_downloads_of_pictures(page: Page) -> None:
    files = {}
    for kind in ("SVG", "PNG"):
        with page.expect_download() as download:
            chart(page, "slowdown-by-size").get_by_role("button", name=f"as {kind}").click()
        files[download.value.suggested_filename] = download.value.path().read_bytes()
    assert set(files) == {"slowdown-by-size.svg", "slowdown-by-size.png"}
    drawing = files["slowdown-by-size.svg"].decode()
    assert drawing.startswith("<svg")
    assert [name for name in EVERY_SCHEME if f">{name}<" not in drawing] == []
    assert files["slowdown-by-size.png"].startswith(b"\x89PNG")


def fabric_of(page: Page) -> Locator:
    """The fabric view, drawn."""
    fabric = page.locator("#fabric")
    fabric.scroll_into_view_if_needed()
    fabric.locator("line.link").first.wait_for(state="attached")
    return fabric


def test_the_fabric(page: Page, results: Results) -> None:
    fabric = fabric_of(page)
    ports = results.to_polars("ports").filter(scheme="TCP", load=0.3).sort("port")
    assert fabric.locator("line.link").count() == len(ports)
    assert fabric.locator("circle.node").count() == 3 * 4 + SWITCHES
    busiest = int(ports["tx_bytes"].arg_max() or 0)
    name = f"{ports['node'][busiest]} to {ports['peer'][busiest]}"
    fabric.locator(f"line[data-target='{busiest}']").click()
    expect(fabric.get_by_label("Link", exact=True)).to_have_value(str(busiest))
    share = f"{100 * ports['utilisation'][busiest]:.3g}"
    expect(fabric.locator("> .readout")).to_contain_text(f"{name} in the whole run")
    expect(fabric.locator("> .readout")).to_contain_text(f"utilisation {share} %")
    samples = results.to_polars("series").filter(scheme="TCP", load=0.3, port=ports["port"][busiest]).sort("time_ns")
    shown = fabric.locator(".plot").evaluate("plot => plot.data.map(trace => trace.y)")
    rate = ports["link_gbps"][busiest] / 8
    assert shown[0] == pytest.approx((100 * samples["tx_bytes"] / 100e3 / rate).to_list(), abs=0.006)
    assert shown[1] == pytest.approx((samples["queue_bytes"] / 1e3).to_list())


def test_the_fabric_over_time_and_by_keyboard(report: Path, results: Results, open_page: Open) -> None:
    page = open_page(report)
    fabric = fabric_of(page)
    slider, play = fabric.get_by_role("slider"), fabric.get_by_role("button", name="Play")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(fabric.locator("output")).to_have_text("0.2 ms")
    samples = results.to_polars("series").filter(scheme="TCP", load=0.3, time_ns=200e3).sort("port")
    fabric.get_by_label("Colour of links").select_option("queue")
    titles = [title.partition(": queue ")[2] for title in fabric.locator("line.target title").all_text_contents()]
    assert [float(text.removesuffix(" KB")) for text in titles] == (samples["queue_bytes"] / 1e3).to_list()
    before = fabric.locator("line.link").evaluate_all("lines => lines.map(line => line.getAttribute('stroke'))")
    play.focus()
    page.keyboard.press("Space")
    expect(fabric.get_by_role("button", name="Pause")).to_have_attribute("aria-pressed", "true")
    expect(fabric.locator("output")).to_have_text(re.compile(r"^(0\.[5-9]|[1-9])"))
    page.keyboard.press("Space")
    expect(play).to_have_attribute("aria-pressed", "false")
    after = fabric.locator("line.link").evaluate_all("lines => lines.map(line => line.getAttribute('stroke'))")
    assert before != after
    flows = results.to_polars("flows").filter(scheme="TCP", load=0.3)
    worst = flows.sort("slowdown", descending=True).row(0, named=True)
    fabric.get_by_label("Flow", exact=True).focus()
    page.keyboard.press("ArrowDown")
    name = f"Flow {worst['flow_id']}: host{worst['src']} to host{worst['dst']}"
    expect(fabric.locator("> .readout")).to_contain_text(name)
    same_leaf = worst["src"] // 4 == worst["dst"] // 4
    expect(fabric.locator("line.on-path")).to_have_count(2 if same_leaf else 1 + 4 + 4 + 1)
    fabric.get_by_label("Case").select_option(label="NDP, load 0.6, seed 1")
    expect(fabric.locator("line.on-path")).to_have_count(0)


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1440, True), (390, False), (390, True)])
def test_it_fits_and_nothing_overlaps(report: Path, open_page: Open, width: int, dark: bool) -> None:
    """The pictures are for the eye; what can be checked without one is."""
    page = open_page(report, width=width, dark=dark)
    for section in page.locator("section[data-chart]").all():
        section.scroll_into_view_if_needed()
        section.locator(".panel svg").first.wait_for()
        assert section.locator(".plot").evaluate(OVERLAPS) == []
        assert section.locator(".plot").evaluate(TICKS) == []
    fabric_of(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    hints = page.locator(".wide.scrolls:visible")
    assert hints.count() > 0 or width > 1000
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"report-{width}-{'dark' if dark else 'light'}.png", full_page=True)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_flows_over_time_are_those_of_the_samples(flows: Results, open_page: Open, width: int, dark: bool) -> None:
    """Small multiples of window, rate, round-trip time and losses, over one and the same time."""
    page = open_page(packetloom.report(flows, flows.path / "report.html"), width=width, dark=dark)
    section = chart(page, "flows-over-time")
    assert section.locator(".plot").evaluate(OVERLAPS) == []
    assert section.locator(".plot").evaluate(TICKS) == []
    panels = section.locator(".panel")
    expected = [title for title in ORDER if title != SENT]  # all their senders are told what arrived
    assert panels.locator("figcaption").all_inner_texts() == expected
    last_ticks = [panel.locator(".x-tick").last.text_content() for panel in panels.all()]
    assert len(set(last_ticks)) == 1
    samples = flows.to_polars("flow_series")
    columns = {"window (KB)": ("window_bytes", 1e3), "rate (Gb/s)": ("rate_gbps", 1.0), "RTT (us)": ("rtt_ns", 1e3)}
    columns["sent again (packets)"] = ("retransmissions", 1.0)
    shown = numbers(page, "flows-over-time")
    for row in shown:
        if row["panel"] in columns:
            column, scale = columns[row["panel"]]
            scheme, flow = re.fullmatch(r"(\w+), flow (\d)", row["series"]).groups()  # type: ignore[union-attr]
            at = float(row["time (ms)"]) * 1e6
            taken = samples.filter((pl.col("time_ns") - at).abs() < 1, scheme=scheme, flow_id=int(flow))
            assert float(row["value"]) == pytest.approx(taken[column][0] / scale, rel=1e-9)
    assert {row["panel"] for row in shown} == set(expected)
    PICTURES.mkdir(parents=True, exist_ok=True)
    section.screenshot(path=PICTURES / f"flows-{width}-{'dark' if dark else 'light'}.png")


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two flows that share a link, under three schemes."""
    lossless = {"kind": "shared-buffer", "ecn_min": "5KB", "ecn_max": "200KB", "ecn_probability": 0.01}
    scenario = {
        "topology": {"kind": "rack", "hosts": 3, "link": {"rate": "10Gbps", "delay": "5us"}},
        "workload": [
            {
                "sizes": {"kind": "constant", "size": "2MB"},
                "arrivals": "at-once",
                "pattern": {"kind": "incast", "fan_in": 2, "receiver": 0},
                "flows": 2,
            }
        ],
        "scheme": [
            {"name": "TCP", "transport": "tcp", "queue": {"kind": "drop-tail", "capacity": "100KB"}},
            {
                "name": "DCTCP",
                "transport": "dctcp",
                "queue": {"kind": "ecn", "capacity": "225KB", "mark_above": "30KB"},
            },
            {"name": "DCQCN", "transport": "dcqcn", "queue": lossless},
        ],
        "measure": {"flows": [0, 1]},
    }
    return packetloom.run(scenario, tmp_path_factory.mktemp("flows") / "out", progress=False)


OVERLAPS = """plot => {
  const box = (text) => text.getBoundingClientRect(), whole = box(plot), found = [];
  for (const panel of plot.querySelectorAll(".panel")) for (const kind of [".x-tick", ".y-tick", ".value"]) {
    const boxes = [...panel.querySelectorAll(kind)].map(box);
    boxes.forEach((one, at) => boxes.slice(at + 1).forEach((other) => {
      const beside = one.right <= other.left || other.right <= one.left;
      const above = one.bottom <= other.top + 1 || other.bottom <= one.top + 1;
      if (!beside && !above) found.push([one.x, one.y, other.x, other.y]);
    }));
  }
  for (const text of plot.querySelectorAll("text")) {
    const one = box(text);
    if (one.left < whole.left - 1 || one.right > whole.right + 1) found.push(text.textContent);
  }
  return found;
}"""
TICKS = """plot => [...plot.querySelectorAll(".panel")].flatMap((panel) => [".x-tick", ".y-tick"].map(
  (kind) => [kind, [...panel.querySelectorAll(kind)].map((tick) => tick.textContent)])).filter(
  ([kind, texts]) => (texts.length < 2 && kind === ".x-tick") || new Set(texts).size < texts.length)"""
"""No axis has one tick, and no two of its ticks read the same. (A column of names may have one.)"""


def test_numbers_that_read_the_same_are_drawn_at_the_same_place(page: Page) -> None:
    texts = """values => {
      const axis = scale(domain(values, false), false, [0, 400], "", 4);
      return axis.ticks.map(axis.text);
    }"""
    assert page.evaluate(texts, [0.99999, 1]) == ["0", "0.5", "1"]
    assert page.evaluate(texts, [0.96, 1]) == ["0", "0.5", "1"]
    assert page.evaluate(texts, [0.9, 1])[0] == "0.9"


def test_ticks_close_together_are_told_apart(page: Page) -> None:
    texts = """span => {
      const axis = scale(span, false, [0, 400], "time (ms)", 4);
      return axis.ticks.map(axis.text);
    }"""
    assert page.evaluate(texts, [20_000, 20_002]) == ["20k", "20.0005k", "20.001k", "20.0015k", "20.002k"]


@pytest.mark.parametrize("width", [1440, 390])
def test_contents_stay_in_view_and_lead_there(report: Path, open_page: Open, width: int) -> None:
    page = open_page(report, width=width)
    chart(page, "fairness")
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    contents = page.get_by_text("Contents", exact=True)
    expect(contents).to_be_in_viewport()
    if width < 1000:
        contents.click()
    page.get_by_role("navigation").get_by_role("link", name="Slowdown by flow size").click()
    expect(page.get_by_role("heading", name="Slowdown by flow size")).to_be_in_viewport()


def test_it_can_be_printed(report: Path, open_page: Open) -> None:
    page = open_page(report, dark=True)
    page.evaluate("window.addEventListener('beforeprint', () => { window.printed = [theme().text, drawnWidth()]; })")
    page.evaluate("window.drawnWidth = () => charts[0].plot.clientWidth")
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    text, width = page.evaluate("window.printed")
    assert text == "#1c1f23"  # on paper, whatever the screen shows
    assert width <= 720
    assert page.evaluate("document.documentElement.className") == "dark"
    page.emulate_media(media="print")
    expect(page.locator("aside")).to_be_hidden()
    expect(page.get_by_role("button", name="as CSV").first).to_be_hidden()
    assert page.locator("section[data-chart]").count() == page.locator("section[data-chart]:has(.panel svg)").count()
    assert page.locator("#fabric line.link").count() > 0


EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
SHORTER = {"classes": 1000, "deadlines": 1000, "own-scheme": 300, "faults": 150} | dict.fromkeys(
    ("demo", "buffer-size", "balancing", "leaf-spine-oversubscribed"), 60
)
"""Flows of examples that take a while: their pages say the same kinds of things."""
SMALLER = {
    "all-reduce-256": ["workload.arrivals.size=10MB"],
    "central-control": ["run.duration=3ms", "run.warm_up=500us"],
    "ecmp-collisions": ["workload.arrivals.ranks=[4, 16]", "workload.arrivals.size=16MB", "run.seeds=2"],
    "gpt-16k": [
        "topology.servers=8",
        "topology.servers_per_rail_switch=4",
        "topology.spines=[4, 1]",
        "workload.arrivals.pipeline=2",
        "workload.arrivals.data=4",
        "workload.arrivals.layers=4",
        "workload.arrivals.microbatches=2",
    ],
    "planes": ["workload.arrivals.size=4MB"],
    "rails": ["workload.arrivals.size=1MB"],
    "receivers-and-senders": ["run.duration=300us", "run.warm_up=0us", "run.seeds=2", "topology.hosts_per_leaf=13"],
    "senders-in-time": ["run.duration=400ms", "run.seeds=3"],
    "training": ["workload.arrivals.gradients=2MB", "workload.arrivals.activations=400KB"],
}
"""The same of what has no number of flows."""


def ran(example: Path, folder: Path, *settings: str) -> Results:
    """An example's results, of fewer flows than its own, or smaller ones."""
    shorter = SMALLER.get(example.stem, [])
    if example.stem in SHORTER:
        shorter = [f"run.flows={SHORTER[example.stem]}", "run.warm_up=0us", "run.cool_down=0us"]
    return packetloom.run(example, folder, overrides=[*shorter, *settings], progress=False)


COMPARED = [example for example in EXAMPLES if example.stem not in ("tuning", "dctcp-bottlenecks")]
"""But those that have a single scheme at a single load: `packetloom tune` compares one with its own changes, and in the
other flows are compared."""


@pytest.mark.parametrize("example", COMPARED, ids=lambda path: path.stem)
def test_the_first_screen_answers(example: Path, tmp_path: Path, open_page: Open) -> None:
    """What was compared, what is best, by how much, how sure: in the first 900 pixels."""
    if example.stem == "own-scheme":
        pytest.importorskip("numba")
    results = ran(example, tmp_path / "out")
    page = open_page(packetloom.report(results, tmp_path / "report.html"))
    texts = {}
    for answer in ("compared", "best", "sure"):
        told = page.locator(f"[data-answer={answer}]").first
        box = told.bounding_box()
        assert box
        assert box["y"] + box["height"] <= 900
        texts[answer] = told.inner_text()
    schemes = {row.scheme for row in results.rows()}
    named = [scheme for scheme in schemes if scheme in texts["compared"]]
    assert len(named) >= min(2, len(schemes))
    assert re.search(r" (is|are) best| (lowest|highest) with |shown to be best|called best|are alike", texts["best"])
    assert any(scheme in texts["best"] for scheme in schemes)
    assert re.search(r"\d+ times that|points lower|fewer|are alike, within 1 %", texts["best"])
    seeds = {row.seed for row in results.rows()}
    assert re.match(rf"(All )?{len(seeds)} seeds" if len(seeds) > 1 else "How sure", texts["sure"])
    figure = page.locator("[data-chart] .panel svg").first.bounding_box()
    assert figure
    assert figure["y"] < 900
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_a_band_beside_an_estimate(tmp_path: Path, open_page: Open) -> None:
    found = tmp_path / "found.json"
    error = {"scheme": "DCTCP", "rung": "flows", "statistic": "mean", "error": -0.2, "low": -0.25, "high": -0.1}
    found.write_text(json.dumps([{**error, "bin": bin, "load": 0.3} for bin in ("all", "(0, 100KB]")]))
    scheme = {"name": "DCTCP", "transport": "dctcp", "queue": "ecn"}
    estimates = run(
        tmp_path / "flows", scheme=[scheme], run={"loads": [0.3, 0.6], "flows": 500, "fidelity": "flows"}, measure={}
    )
    page = open_page(packetloom.report(estimates, tmp_path / "page.html", errors=found))
    section = chart(page, "slowdown-by-load")
    bands, points = section.locator("line.band"), section.locator("path.point")
    assert bands.count() == points.count() == 2  # each load has one: the error is that of the nearest
    section.locator(".panel svg").first.screenshot(path=PICTURES / "band.png")
    points.first.hover(force=True)
    expect(section.locator(".tip")).to_contain_text("packets would be: ")
    expect(section).to_contain_text("Shaded beside an estimate")
    # Packets are 1 / 0.9 to 1 / 0.75 times the estimate, so all of the band is above the point.
    top, bottom = (float(bands.first.get_attribute(end) or "nan") for end in ("y2", "y1"))
    place = re.search(r"translate\(([\d.]+),([\d.]+)\)", points.first.get_attribute("transform") or "")
    assert place
    assert top < bottom < float(place[2]) + 6


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Three seeds of three schemes."""
    three = [{"name": name, "queue": "drop-tail"} | EVERY_SCHEME[name] for name in ("TCP", "DCTCP", "MinTCP")]
    load = {"loads": [0.3, 0.6], "flows": 300, "seeds": 3}
    return run(tmp_path_factory.mktemp("seeds") / "seeds", scheme=three, run=load, workload=[{"sizes": "web-search"}])


def test_sentences_say_what_the_flows_say_and_lead_to_tables(seeds: Results, tmp_path: Path, open_page: Open) -> None:
    page = open_page(packetloom.report(seeds, tmp_path / "report.html"))
    flows = finished_flows(seeds).filter(pl.col("load") == 0.6)
    means = {
        name: [flows.filter(scheme=name, seed=seed)["slowdown"].to_numpy().mean() for seed in (1, 2, 3)]
        for name in ("TCP", "DCTCP", "MinTCP")
    }
    best, *_, worst = sorted(means, key=lambda name: float(np.mean(means[name])))
    logs = np.log(means[worst]) - np.log(means[best])
    half = float(stats.t.ppf(0.975, 2) * stats.sem(logs))
    ratio, low, high = (float(np.exp(np.mean(logs) + one)) for one in (0.0, -half, half))
    said = page.locator("[data-answer=best]").inner_text()
    assert said.startswith(
        f"At load 0.6, as at load 0.3, {best} is best: the mean slowdown of all flows is {np.mean(means[best]):.2f} ±"
    )
    assert f"worst is {worst} with {significant(ratio, 3)} times that" in said
    assert f"({significant(low, 3)} to {significant(high, 3)})." in said
    links = page.locator("a.number")
    assert links.count() > 8
    for link in links.all():
        link.click()
        row = page.locator("tr:target")
        expect(row).to_be_in_viewport()
        number = link.inner_text()
        cells = row.locator("td").all_inner_texts()
        assert any(number in cell for cell in cells), (number, cells)
    # What is no link is a load, a size or a statistic's name, not a result.
    rest = page.locator("[data-answer=best], [data-answer=more]").evaluate_all(
        "all => all.flatMap(one => [...one.childNodes].filter(part => part.nodeType === 3).map(part => part.data))"
    )
    # How far a case drifts stands in the table of what is steady.
    others = re.sub(r"drifts by [\d.]+ %", "", " ".join(rest))
    assert set(re.findall(r"\d+(?:\.\d+)?", others)) <= {"0.3", "0.6", "99", "100", "10"}


def test_what_was_left_unfinished_leads_to_its_row(tmp_path: Path, open_page: Open) -> None:
    two = [{"name": name, "queue": "drop-tail"} | EVERY_SCHEME[name] for name in ("TCP", "DCTCP")]
    large = [{"sizes": {"kind": "uniform", "minimum": "100B", "maximum": "400KB"}}]
    cut_short = {"loads": [0.6], "flows": 300, "max_time": "2ms", "seeds": 2}
    results = run(tmp_path / "out", scheme=two, workload=large, run=cut_short)
    page = open_page(packetloom.report(results, tmp_path / "report.html"))
    told = page.locator("[data-answer=sure]").filter(has_text="Not every flow finished")
    name, share = told.locator("b").inner_text(), told.locator("a.number")
    flows = results.to_polars("flows").filter("measured", scheme=name)
    left = flows.group_by("seed").agg(pl.col("fct_ns").is_nan().mean())["fct_ns"].to_numpy().mean()
    assert float(share.inner_text()) == pytest.approx(100 * left, rel=0.005)
    share.click()
    row = page.locator("tr:target")
    expect(row).to_be_in_viewport()
    assert f"{share.inner_text()}%" in row.locator("td").all_inner_texts()


def test_the_best_of_each_column_is_marked(seeds: Results, tmp_path: Path, open_page: Open) -> None:
    page = open_page(packetloom.report(seeds, tmp_path / "report.html"))
    table = page.locator("h2:has-text('Table of slowdown') + .wide table")
    lines = [line.split("\t") for line in table.locator("tbody").inner_text().strip().splitlines()]
    marked = table.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.classList.contains('best')))"
    )
    assert table.locator("thead th").last.inner_text().strip() == "steady"
    for column in range(2, len(lines[0]) - 1):
        for load in ("0.3", "0.6"):
            here = [(number_in(line[column]), marked[at][column]) for at, line in enumerate(lines) if line[0] == load]
            assert {number for number, is_best in here if is_best} == {min(here)[0]}


def number_in(cell: str) -> float:
    """What stands before ±."""
    return float(cell.split("±")[0].replace(",", ""))


def test_one_click_leads_to_a_fault(tmp_path: Path, open_page: Open) -> None:
    example = ROOT / "examples" / "faults.toml"
    results = ran(example, tmp_path / "out", "run.seeds=1", "measure.series_interval=100us")
    page = open_page(packetloom.report(results, tmp_path / "report.html"))
    fabric = fabric_of(page)
    fabric.get_by_role("button", name="1 ms on: link down: edge0 – aggregation0").click()
    expect(fabric.locator("output")).to_have_text("1 ms")
    expect(fabric.locator("line.link.faulty")).to_have_count(2)
    fabric.get_by_role("button", name="4 ms to 5 ms: switch down: core5").click()
    expect(fabric.locator("output")).to_have_text("4 ms")
    expect(fabric.locator("circle.node.faulty")).to_have_count(1)
    fabric.get_by_label("Colour of links").select_option("lost")
    ports = results.to_polars("ports").filter(scheme="TCP").sort("port")
    lost = ports.select(pl.sum_horizontal("drops", "lost", "corrupted")).to_series().to_list()
    titles = fabric.locator("line.target title").all_text_contents()
    shown = [int(re.search(r"run ([\d,]+) packets$", title)[1].replace(",", "")) for title in titles]  # type: ignore[index]
    assert shown == lost


def test_the_timeline_of_ranks(tmp_path: Path, open_page: Open) -> None:
    """Bars for what took time, the critical path over them; a click enlarges, and what is pointed at is named."""
    topology = {"kind": "rack", "hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}}
    experts = {"kind": "moe", "experts": 4, "tokens": 64, "bytes_per_token": "4KB", "compute": "20us", "layers": 2}
    scheme = {"name": "DCTCP", "transport": "dctcp", "queue": "ecn"}
    scenario = {
        "topology": topology,
        "workload": [{"arrivals": experts}],
        "scheme": [scheme],
        "measure": {"operations": True},
    }
    results = packetloom.run(scenario, tmp_path / "ranks")
    operations = results.to_polars("operations").filter(pl.col("end_ns") > pl.col("begin_ns"))
    page = open_page(packetloom.report(results, tmp_path / "ranks.html"))
    section = page.locator("#ranks")
    assert section.locator(".bar").count() == operations.height
    assert section.locator("path.path").get_attribute("d")
    section.locator(".bar").first.hover()
    expect(section.locator(".readout")).to_contain_text("rank 0: ")
    whole = section.get_by_role("button", name="Whole repetition")
    expect(whole).to_be_hidden()
    ticks = section.locator(".x-tick").all_text_contents()
    section.locator(".bar").last.click()
    expect(whole).to_be_visible()
    assert section.locator(".x-tick").all_text_contents() != ticks
    whole.click()
    assert section.locator(".x-tick").all_text_contents() == ticks


def test_a_large_network_is_folded_into_racks(tmp_path: Path, open_page: Open) -> None:
    large = {"kind": "leaf-spine", "spines": 2, "leaves": 14, "hosts_per_leaf": 16}
    one = [{"name": "DCTCP", "transport": "dctcp", "queue": "ecn"}]
    results = run(tmp_path / "out", topology=large, scheme=one, run={"loads": [0.3], "flows": 100})
    page = open_page(packetloom.report(results, tmp_path / "report.html"))
    fabric = fabric_of(page)
    assert fabric.locator("circle.node").count() == 14 + 14 + 2
    assert fabric.locator("line.link").count() == 2 * (14 + 2 * 14)
    ports = results.to_polars("ports")
    used = ports.filter(pl.col("peer") == "leaf3", pl.col("node").str.starts_with("host"))
    fabric.get_by_label("Link", exact=True).select_option(label="rack of 16 hosts at leaf3 to leaf3")
    share = float(re.search(r"16 links: .* mean utilisation ([\d.]+) %", fabric.locator("> .readout").inner_text())[1])  # type: ignore[index]
    assert share == pytest.approx(100 * used["utilisation"].to_numpy().mean(), abs=0.02)
    names = fabric.get_by_label("Flow", exact=True).locator("option").all_inner_texts()
    ends = [[int(host) // 16 for host in re.findall(r"host(\d+)", name)] for name in names]
    apart = next(at for at, racks in enumerate(ends) if len(set(racks)) == 2)
    fabric.get_by_label("Flow", exact=True).select_option(index=apart)
    expect(fabric.locator("line.on-path")).to_have_count(1 + 2 + 2 + 1)


def test_results_with_little_in_them(tmp_path: Path, open_page: Open) -> None:
    one_scheme = [{"name": "TCP", "transport": "tcp", "queue": "drop-tail"}]
    alone = run(tmp_path / "alone", scheme=one_scheme, run={"loads": [0.5], "flows": 1}, measure={"queues": True})
    page = open_page(packetloom.report(alone, tmp_path / "alone.html"))
    for section in page.locator("section[data-chart]").all():
        section.scroll_into_view_if_needed()
        section.locator(".panel svg").first.wait_for()
        assert section.locator(".plot").evaluate("plot => plot.data.length") > 0
    expect(fabric_of(page).get_by_role("slider")).to_have_count(0)

    large = [{"sizes": {"kind": "constant", "size": "1MB"}}]
    cut_short = {"loads": [0.5], "flows": 100, "max_time": "500us"}
    never = run(tmp_path / "never", scheme=one_scheme, workload=large, run=cut_short)
    assert never.flows.num_rows > 0
    page = open_page(packetloom.report(never, tmp_path / "never.html"))
    expect(page.get_by_text("No measured flow has finished, so there are no completion times to show")).to_be_visible()
    expect(page.get_by_role("heading", name="Slowdown by load", exact=True)).to_have_count(0)
    page.get_by_text("Figures that these results have no numbers for").click()
    expect(page.get_by_text("Slowdown by load: no measured flow has finished")).to_be_visible()

    for file in (never.path / "flows.parquet").glob("*.parquet"):
        file.unlink()
    page = open_page(packetloom.report(Results(never.path), tmp_path / "empty.html"))
    expect(page.get_by_text("No case is finished yet")).to_be_visible()
    expect(page.locator("section")).to_have_count(0)


def test_figures_of_papers(tmp_path: Path, open_page: Open) -> None:
    page = report_page_of_panels(tmp_path / "paper.html")
    shown = open_page(page)
    section = shown.locator("section[data-chart]")
    section.locator(".panel").first.wait_for()
    assert panels_of(section) == 3
    section.get_by_text("Table", exact=True).click()
    cells = [row.split("\t") for row in section.locator("tbody").inner_text().strip().splitlines()]
    numbers_of_stack, numbers_of_heat = ([row[3] for row in cells if row[0] == title] for title in ("stack", "heat"))
    assert numbers_of_stack == ["3", "4", "5", "6"]
    assert numbers_of_heat == ["7", "8", "9", "10"]


def report_page_of_panels(path: Path) -> Path:
    """A page as `reproduce` writes it: a curve, a stack and a heat map."""
    panels = [
        Panel(
            "curve", "load", "FCT, ms", [Curve("TCP", style_at(0), [0.1, 0.2], [1.0, 2.0], [0.5, None], [1.5, None])]
        ),
        Panel("stack", "core switch", "packets", [Stack([1, 2], [[3, 4], [5, 6]])]),
        Panel("heat", "to server", "from server", [HeatMap([[7, 8], [9, 10]], "flows")]),
    ]
    page = PaperPage("A paper")
    page.chart({"name": "figure-1", "title": "1", "panels": [panel_json(panel) for panel in panels], "columns": 3})
    page.write(path)
    return path


def test_following_a_run(tmp_path: Path, open_page: Open, seen: Seen) -> None:
    schemes = [{"name": name, "transport": "tcp", "queue": "drop-tail"} for name in ("one", "other")]
    results = run(tmp_path / "out", scheme=schemes, run={"loads": [0.5], "flows": 100})
    last = results.path / "flows.parquet" / f"{results.rows()[-1].case_id}.parquet"
    kept = last.read_bytes()
    last.unlink()
    with server([Results(results.path)], 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{running.server_port}/"
        page = open_page(here)
        expect(page.get_by_text("1 of 2 cases finished").first).to_be_visible()
        choose_statistic(page, "p95")
        chart(page, "fct-cdf").get_by_text("Table", exact=True).click()
        fabric_of(page).get_by_label("Link", exact=True).select_option("3")
        last.write_bytes(kept)
        expect(page.get_by_text("2 of 2 cases finished")).to_be_visible()
        section = chart(page, "slowdown-by-load")
        expect(section.locator("text.y-tick")).to_have_text(["one", "other"])
        expect(page.get_by_label("Statistic")).to_have_value("p95")
        expect(chart(page, "fct-cdf").locator("tbody")).to_contain_text("other")
        expect(fabric_of(page).get_by_label("Link", exact=True)).to_have_value("3")
        expect(fabric_of(page).get_by_label("Case").locator("option")).to_have_count(2)
        page.close()  # it would go on asking
        running.shutdown()
    assert all(url.startswith(here) for url in seen.requests)
