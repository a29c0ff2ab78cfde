"""Every figure: the numbers of those that need a setting of their own, and how they are printed."""

import math
import re
import shutil
import subprocess
import threading
from pathlib import Path
from urllib.request import urlopen

import matplotlib as mpl
import matplotlib.pyplot as plt
import polars as pl
import pytest
from matplotlib.figure import Figure

import commands
import packetloom
from packetloom.errors import PacketloomError
from packetloom.pages.fabric_view import fabric_view, topology
from packetloom.pages.figures import FIGURES, chart
from packetloom.pages.first_screen import lead_panels, looks_of
from packetloom.pages.measures import question_of
from packetloom.pages.network_folding import fold
from packetloom.pages.one_page import write_one_page
from packetloom.pages.panels import Curve, Dots, Mark, Panel, Stack, apart, panel_json
from packetloom.pages.plots import PRINT, Sheet, _legend_above, _of_schemes, _printed, draw, plot_panels, save_figure
from packetloom.pages.server import server
from packetloom.stats import curves
from packetloom.stats.curves import style_at
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

POINTS_PER_INCH = 72


@pytest.fixture(scope="module")
def incast(tmp_path_factory: pytest.TempPathFactory) -> Results:
    scenario = {
        "topology": {"kind": "rack", "hosts": 12},
        "workload": [
            {
                "sizes": {"kind": "constant", "size": "30KB"},
                "arrivals": {"kind": "periodic", "interval": "5ms"},
                "pattern": {"kind": "incast", "receiver": 0, "fan_in": [2, 4, 8]},
            }
        ],
        "scheme": [
            {"name": "DCTCP", "transport": "dctcp", "queue": "ecn"},
            {"name": "pFabric", "transport": "min-tcp", "queue": "pfabric"},
        ],
        "run": {"duration": "20ms", "seeds": 2},
    }
    return packetloom.run(scenario, tmp_path_factory.mktemp("incast") / "out", progress=False)


def test_incast_has_a_line_for_each_scheme_over_the_number_of_senders(incast: Results) -> None:
    drawn = chart("incast-by-fan-in", incast)
    lines = [mark for mark in drawn.panel({"statistic": "mean"}).marks if isinstance(mark, Curve)]
    assert [line.label for line in lines] == ["DCTCP", "pFabric"]
    flows = incast.to_polars("flows").with_columns(pl.col("workload.pattern.fan_in").cast(pl.Float64).alias("senders"))
    per_seed = flows.group_by("scheme", "senders", "seed").agg(pl.col("fct_ns").mean() / 1e6)
    expected = {key: float(own["fct_ns"].to_numpy().mean()) for key, own in per_seed.group_by("scheme", "senders")}
    for line in lines:
        assert list(line.x) == [2.0, 4.0, 8.0]
        assert list(line.y) == pytest.approx([expected[line.label, senders] for senders in line.x])
    looks = curves.styles(incast)
    assert drawn.looks["pFabric"].colour == looks["pFabric, pattern.fan_in 2"].colour


def test_what_a_figure_cannot_show_it_says(incast: Results) -> None:
    with pytest.raises(PacketloomError, match="give a workload `deadlines`"):
        chart("deadlines-met", incast)
    with pytest.raises(PacketloomError, match="no switch has several links"):
        chart("link-imbalance", incast)
    with pytest.raises(PacketloomError, match="there is no statistic 'p42'; there are 'mean', 'p50'"):
        packetloom.plot("fct-by-load", incast, statistic="p42")


def test_a_pdf_is_as_wide_as_a_column_and_has_its_fonts(incast: Results, tmp_path: Path) -> None:
    for name in ("first.pdf", "second.pdf"):
        save_figure("incast-by-fan-in", incast, tmp_path / name, {})
    pdf = (tmp_path / "first.pdf").read_bytes()
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ", pdf)
    assert box
    assert float(box[1]) == pytest.approx(3.33 * POINTS_PER_INCH, abs=0.1)
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert pdf == (tmp_path / "second.pdf").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plot", "pie", "-o", "x.pdf"], f"there is no figure 'pie'; there are: {', '.join(FIGURES)}"),
        (["plot", "fct-cdf", "-o", "x.docx"], "end the name in one of"),
        (["plot", "fct-cdf", "-o", "x.pdf", "--statistic", "p99"], "the figure fct-cdf has no option --statistic"),
        (["view", "--port", "99999999"], "there is no port 99999999: ports are from 0 to 65535"),
    ],
)
def test_mistakes(arguments: list[str], message: str, incast: Results, tmp_path: Path) -> None:
    done = commands.packetloom(*arguments, incast.path, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_port_that_is_taken(incast: Results) -> None:
    with (
        server([incast], 0) as running,
        pytest.raises(PacketloomError, match=f"cannot listen on port {running.server_port}: it is in use"),
    ):
        server([incast], running.server_port)


def test_a_damaged_case_is_told_to_who_looks(scenario: Path, tmp_path: Path) -> None:
    results = packetloom.run(scenario, tmp_path / "out", progress=False)
    damaged = next((results.path / "flows.parquet").glob("*.parquet"))
    damaged.write_bytes(b"not Parquet")
    (results.path / "cases.parquet").unlink()
    with server([results], 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        page = urlopen(f"http://127.0.0.1:{running.server_port}/").read().decode()
        assert f"passed over: {damaged}: is damaged, cut short or overwritten" in page
        assert "out: 7 of 8 cases finished" in page
        running.shutdown()


def test_layers_are_distances_from_hosts() -> None:
    links = [("host0", "leaf0"), ("host1", "leaf1"), ("leaf0", "spine0"), ("leaf1", "spine0")]
    both = [*links, *((there, here) for here, there in links)]
    found = topology(pl.DataFrame(both, schema=["node", "peer"], orient="row"))
    assert {node["name"]: node["layer"] for node in found["nodes"]} == {
        "host0": 0,
        "host1": 0,
        "leaf0": 1,
        "leaf1": 1,
        "spine0": 2,
    }
    names = [node["name"] for node in found["nodes"]]
    assert [(names[here], names[there]) for here, there in found["links"]] == both


def test_switches_inside_servers_are_below_hosts() -> None:
    inside = [("host0", "scale-up0"), ("host1", "scale-up0")]
    links = [("host0", "rail0"), ("host1", "rail1"), ("rail0", "spine0"), *inside]
    found = topology(pl.DataFrame(links, schema=["node", "peer"], orient="row"))
    assert {node["name"]: (node["kind"], node["layer"]) for node in found["nodes"]} == {
        "scale-up0": ("scale-up", 0),
        "host0": ("host", 1),
        "host1": ("host", 1),
        "rail0": ("rail", 2),
        "rail1": ("rail", 2),
        "spine0": ("spine", 3),
    }


def test_links_between_groups_of_a_dragonfly_count_for_three_hops() -> None:
    """Three groups of two routers; each router has a link to another group."""
    cables = [("host0", "router0"), ("router0", "router1"), ("router2", "router3"), ("router4", "router5")]
    between = [("router0", "router5"), ("router1", "router2"), ("router3", "router4")]
    both = [pair for here, there in [*cables, *between] for pair in ((here, there), (there, here))]
    found = topology(pl.DataFrame(both, schema=["node", "peer"], orient="row"))
    assert found["lengths"] == [1] * 8 + [3] * 6


def fat_tree_links(pods: int, racks: int, hosts: int) -> list[tuple[str, str]]:
    """Pods of racks below two aggregation switches each, and four cores above."""
    links = [
        (f"host{(pod * racks + rack) * hosts + host}", f"edge{pod * racks + rack}")
        for pod in range(pods)
        for rack in range(racks)
        for host in range(hosts)
    ]
    links += [
        (f"edge{pod * racks + rack}", f"aggregation{2 * pod + which}")
        for pod in range(pods)
        for rack in range(racks)
        for which in range(2)
    ]
    links += [(f"aggregation{2 * pod + core % 2}", f"core{core}") for pod in range(pods) for core in range(4)]
    return [*links, *((there, here) for here, there in links)]


def test_a_large_network_is_folded_into_racks_and_a_huge_one_into_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    links = fat_tree_links(pods=3, racks=4, hosts=20)
    whole = topology(pl.DataFrame(links, schema=["node", "peer"], orient="row"))
    shown, folded = fold(whole)
    kinds = [node["kind"] for node in shown["nodes"]]
    assert {kind: kinds.count(kind) for kind in kinds} == {"aggregation": 6, "core": 4, "edge": 12, "rack": 12}
    assert len(shown["links"]) == 2 * (12 + 24 + 12)
    assert shown["hosts"]["0"] == shown["hosts"]["19"] != shown["hosts"]["20"]
    up = shown["links"].index((shown["hosts"]["0"], shown["within"][whole["links"][0][1]]))
    assert folded.counts[up] == 20
    values = [float(place) for place in range(len(links))]
    assert folded.mean(values)[up] == round(sum(range(20)) / 20)
    assert folded.largest(values)[up] == 19
    assert folded.sum(values)[up] == sum(range(20))
    monkeypatch.setattr("packetloom.pages.network_folding.MOST_RACKS", 11)
    shown, folded = fold(whole)
    assert [node["name"] for node in shown["nodes"] if node["kind"] == "pod"] == ["pod 0", "pod 1", "pod 2"]
    assert len(shown["nodes"]) == 3 + 4
    assert len(shown["links"]) == 2 * 3 * 4


def test_a_small_network_is_shown_whole() -> None:
    links = fat_tree_links(pods=2, racks=2, hosts=2)
    whole = topology(pl.DataFrame(links, schema=["node", "peer"], orient="row"))
    shown, folded = fold(whole)
    assert shown["nodes"] == whole["nodes"]
    assert shown["links"] == whole["links"]
    assert folded.largest(range(len(links))) == list(range(len(links)))


def test_the_fabric_without_samples_is_the_whole_run(incast: Results) -> None:
    view = fabric_view(incast)
    assert view
    assert len(view["topologies"]) == 1
    assert [case["name"] for case in view["cases"]][:2] == [
        "DCTCP, pattern.fan_in 2, seed 1",
        "DCTCP, pattern.fan_in 4, seed 1",
    ]
    first = view["cases"][0]
    ports = incast.to_polars("ports").filter(pl.col("case_id") == incast.rows()[0].case_id)
    assert first["times_ms"] == []
    assert [share / 1e4 for share in first["utilisation"][0]] == pytest.approx(ports["utilisation"].to_list(), abs=5e-5)
    assert "queue" not in first  # not watched
    assert view["left_out"] == 0


def test_a_page_holds_only_so_many_links(incast: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packetloom.pages.fabric_view.MOST_LINKS", 2 * 24)  # twelve hosts on one switch
    view = fabric_view(incast)
    assert view
    assert (len(view["cases"]), view["left_out"]) == (2, 4)


@pytest.mark.parametrize(("columns", "lines"), [(2, [5]), (1, [3, 2])])
def test_a_legend_fills_its_lines_evenly(columns: int, lines: list[int]) -> None:
    names = ("TCP+DropTail", "DCTCP", "MinTCP+pFabric", "LineRate+pFabric", "Ideal")
    drawn = [Curve(name, curves.style_at(order), [0.1, 0.8], [1, 2]) for order, name in enumerate(names)]
    figure = plot_panels([Panel("slowdown", "load", "mean", drawn)] * columns, columns)
    figure.draw_without_rendering()
    heights = [round(text.get_window_extent().y0) for text in figure.legends[0].get_texts()]
    assert sorted((heights.count(height) for height in set(heights)), reverse=True) == lines


def test_layers_beyond_the_colours_are_told_apart() -> None:
    twelve = Stack([1, 2], [[1, 1]] * 12)
    ax = plot_panels([Panel("packets", "core switch", "packets", [twelve])], 1).axes[0]
    assert len({(bar.get_facecolor(), bar.get_hatch()) for bar in ax.patches}) == 12


@pytest.mark.parametrize("numbers", [(0.97, 1.6), (1.9, 2.1), (3.1, 3.9), (2.0, 30.0), (1.0, 1e6)])
def test_no_printed_axis_has_one_tick(numbers: tuple[float, float]) -> None:
    line = Curve("line", style_at(0), [1, 2], numbers)
    figure = plot_panels([Panel("", "load", "slowdown", [line], log_y=True)], 1)
    figure.canvas.draw()
    axis = figure.axes[0].yaxis
    low, high = axis.get_view_interval()
    texts = [tick.label1.get_text() for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert len(texts) >= 2
    assert len(set(texts)) == len(texts)


LONG = "DCQCN, topology.link.delay 5us, workload.0.arrivals.algorithm halving-doubling"


def test_long_names_leave_the_greater_part_of_a_printed_figure_to_its_numbers() -> None:
    names = [LONG, LONG.replace("5us", "1us"), "RoCE"]
    dots = [Dots(name, style_at(place), [name], [1.0 + place]) for place, name in enumerate(names)]
    with mpl.rc_context(PRINT):
        figure, ax = plt.subplots(figsize=(3.33, 2.0), layout="constrained")
        draw(Panel("", "", "operation time (ms)", dots), ax)
        figure.canvas.draw()
        assert ax.get_position().width > 0.5
        assert ax.get_xlabel() == "operation time (ms)"
        assert len({text.get_text() for text in ax.get_yticklabels()}) == 3
    plt.close(figure)


def test_a_logarithmic_axis_says_so_and_has_minor_ticks() -> None:
    line = Curve("line", style_at(0), [1, 10, 100], [2.0, 5.0, 30.0])
    ax = plot_panels([Panel("", "size", "slowdown", [line], log_x=True, log_y=True)], 1).axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("size, log scale", "slowdown, log scale")
    assert len(ax.get_yticks(minor=True)) > 5


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("kind", ["names", "lines"])
def test_a_small_difference_is_not_stretched_over_an_axis(kind: str, is_log: bool) -> None:
    """0.6 %: of whatever figure."""
    marks: list[Mark] = [Dots(name, style_at(0), [name], [value]) for name, value in (("A", 1.0), ("B", 1.006))]
    if kind == "lines":
        marks = [Curve("A", style_at(0), [1, 2], [1.0, 1.003]), Curve("B", style_at(1), [1, 2], [1.001, 1.006])]
    ax = plot_panels([Panel("", "", "slowdown", marks, log_y=is_log)], 1).axes[0]
    low, high = ax.get_xlim() if kind == "names" else ax.get_ylim()
    assert low == (pytest.approx(1 / 1.2) if is_log else 0.0)
    assert high > 1.1


def test_panels_of_one_quantity_have_one_scale(tmp_path: Path) -> None:
    """Or a cost of 1.02 in one panel would look as high as one of 2 in the next."""

    def panel(*y: float) -> Panel:
        return Panel("", "buffer", "slowdown", [Curve("A", style_at(0), [1, 2], y)])

    axes = _printed([panel(1.0, 1.2), panel(1.0, 2.0)], Sheet()).axes
    assert axes[0].get_ylim() == axes[1].get_ylim()
    assert axes[0].get_ylim()[1] > 2.0


def test_how_a_figure_is_printed_can_be_chosen(incast: Results, tmp_path: Path) -> None:
    def width(name: str, sheet: Sheet) -> float:
        save_figure("incast-by-fan-in", incast, tmp_path / f"{name}.svg", {}, sheet)
        found = re.search(r'width="([0-9.]+)pt"', (tmp_path / f"{name}.svg").read_text())
        assert found
        return float(found.group(1)) / POINTS_PER_INCH

    assert width("two", Sheet(columns=2)) == pytest.approx(7.0, abs=0.01)
    assert width("wide", Sheet(width_inches=5.0, font="serif", font_size=10)) == pytest.approx(5.0, abs=0.01)
    with pytest.raises(PacketloomError, match="there is no scheme 'UDP' in this figure; there are DCTCP, pFabric"):
        width("none", Sheet(schemes=("UDP",)))
    with pytest.raises(PacketloomError, match="there is no font 'Nonesuch Grotesk' here"):
        width("none", Sheet(font="Nonesuch Grotesk"))


def test_a_scheme_whose_name_begins_anothers_is_drawn_alone(tmp_path: Path) -> None:
    """Choosing "DCQCN" had drawn "DCQCN, windows", too."""
    curves = [Curve(label, style_at(0), [1, 2], [1.0, 1.0]) for label in ("A", "A, b", "A, load 0.5", "A, b, load 0.5")]
    panel, known = Panel("", "", "slowdown", curves), {"A", "A, b"}
    kept = {name: [mark.label for mark in _of_schemes(panel, [name], known).marks] for name in known}  # type: ignore[union-attr]
    assert kept == {"A": ["A", "A, load 0.5"], "A, b": ["A, b", "A, b, load 0.5"]}


PAPER = r"""\documentclass{article}
\usepackage{pgf}
\usepackage[strings]{underscore}
\def\mathdefault#1{#1}
\begin{document}
\input{figure.pgf}
\end{document}
"""


@pytest.mark.skipif(not shutil.which("xelatex"), reason="PGF is measured by LaTeX, and there is none")
def test_latex_reads_a_figure_whatever_schemes_are_called(tmp_path: Path) -> None:
    scheme = {"transport": "dctcp", "queue": "ecn"}
    results = packetloom.run(
        {
            "topology": {"kind": "rack", "hosts": 4},
            "workload": [{"sizes": {"kind": "constant", "size": "10KB"}}],
            "scheme": [{"name": r"_50 % & 3$ #1 {a}~b^c\d", **scheme}, {"name": "$x$", **scheme}],
            "run": {"loads": [0.4], "flows": 20},
        },
        tmp_path / "odd",
        progress=False,
    )
    save_figure("fct-cdf", results, tmp_path / "figure.pgf", {})
    (tmp_path / "paper.tex").write_text(PAPER)
    command = ["xelatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_without_latex_it_is_said_that_pgf_needs_it(incast: Results, tmp_path: Path) -> None:
    done = commands.packetloom("plot", "incast-by-fan-in", incast.path, "-o", "x.pgf", cwd=tmp_path, PATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("error: x.pgf: PGF is measured by LaTeX (xelatex): ")


def test_the_first_screen_is_on_one_sheet(incast: Results, tmp_path: Path) -> None:
    sheet = write_one_page([incast], tmp_path / "sheet.pdf").read_bytes()
    assert sheet.startswith(b"%PDF")
    assert sheet.count(b"/Type /Page\n") + sheet.count(b"/Type /Page ") == 1


def test_the_front_figure_has_every_condition(incast: Results) -> None:
    asked = question_of(incast)
    assert asked
    panels, left_out = lead_panels(asked, looks_of(asked, [incast]))
    assert not left_out
    lines = [mark for panel in panels for mark in panel.marks if isinstance(mark, Curve)]
    assert [(line.label, list(line.x)) for line in lines] == [("DCTCP", [2, 4, 8]), ("pFabric", [2, 4, 8])]


def test_lines_with_the_same_numbers_differ_in_their_dashes_so_that_the_lower_shows() -> None:
    looks = [style_at(place) for place in range(4)]
    x, same = [0.2, 0.8], [1.0, math.nan]
    marks = [
        Curve("A", looks[0], x, same),
        Curve("other", looks[1], x, [1.0, 2.0]),
        Curve("B", looks[2], x, list(same)),
        Curve("C", looks[3], x, list(same)),
    ]
    dashes = [mark.look.dash for mark in apart(marks) if isinstance(mark, Curve)]
    assert dashes == [0, 0, 1, 2]
    panel = Panel("", "load", "slowdown", marks)
    assert [mark["look"]["dash"] for mark in panel_json(panel)["marks"]] == dashes
    _, ax = plt.subplots()
    draw(panel, ax)
    drawn = {container.get_label(): container[0].get_linestyle() for container in ax.containers}
    assert drawn["A"] == drawn["other"] == "-"
    assert len({drawn[name] for name in "ABC"}) == 3


@pytest.mark.parametrize(
    ("marks", "log_x", "ticks"),
    [
        (
            [Curve("one", style_at(0), [1, 2], [3.0, 4.0]), Curve("other", style_at(1), [2, 8], [1.0, 1.0])],
            False,
            [1, 2, 8],
        ),
        ([Curve("one", style_at(0), [1, 2], [3.0, 4.0])], True, []),
        ([Curve("one", style_at(0), list(range(9)), [1.0] * 9)], False, []),
        ([Curve("a distribution", style_at(0), [1, 2], [0.5, 1.0], points=False)], False, []),
    ],
)
def test_few_values_of_an_axis_each_have_their_tick_in_print_and_on_the_page(
    marks: list[Curve], log_x: bool, ticks: list[float]
) -> None:
    panel = Panel("", "spines", "mean slowdown", marks, log_x)
    assert panel_json(panel)["x"]["ticks"] == ticks
    figure, axes = plt.subplots()
    draw(panel, axes)
    assert not ticks or list(axes.get_xticks()) == ticks
    plt.close(figure)


def test_a_legend_has_as_many_columns_as_its_labels_leave_room_for() -> None:
    """One long label of seven stood for all of them: a legend of seven lines took half of a figure."""
    labels = ["BFC", "ExpressPass", "SIRD", "dcPIM", "Homa", "NDP", "ExpressPass with Aeolus"]
    sheet = Figure(figsize=(3.33, 3.0))
    ax = sheet.subplots()
    for label in labels:
        ax.plot([0, 1], label=label)
    assert _legend_above(sheet, [ax], columns=2) == 4
    assert _legend_above(sheet, [ax], columns=1) == 7
