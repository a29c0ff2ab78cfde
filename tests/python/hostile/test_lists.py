"""Files that a scenario names: lists of flows, and distributions of flow sizes."""

from pathlib import Path

import pytest

from hostile.harness import Worker

SCENARIO = """\
[topology]
kind = "rack"
hosts = 4

[[workload]]
{workload}

[[scheme]]
name = "TCP"
transport = "tcp"
queue = "drop-tail"

[run]
{run}
"""
HEAD = b"src,dst,size_bytes,start_ns\n"
HUGE = b"9" * 400

FLOWS: list[tuple[str, bytes, str]] = [
    ("empty", b"", "flows.csv:1"),
    ("only-a-heading", HEAD, "flows.csv"),
    ("only-comments", b"# nothing\n\n", "flows.csv:1"),
    ("no-heading", b"0,1,1000,0\n", "flows.csv:1"),
    ("a-column-missing", b"src,dst,size_bytes\n0,1,1000\n", "start_ns"),
    ("a-column-twice", b"src,dst,size_bytes,start_ns,src\n0,1,1000,0,0\n", "src"),
    ("an-unknown-column", b"src,dst,size_bytes,start_ns,colour\n0,1,1000,0,red\n", "colour"),
    ("other-separators", b"src;dst;size_bytes;start_ns\n0;1;1000;0\n", "flows.csv:1"),
    ("tabs", b"src\tdst\tsize_bytes\tstart_ns\n0\t1\t1000\t0\n", "flows.csv:1"),
    ("quotes", b'"src","dst","size_bytes","start_ns"\n0,1,1000,0\n', "flows.csv:1"),
    ("a-field-too-few", HEAD + b"0,1,1000\n", "flows.csv:2"),
    ("a-field-too-many", HEAD + b"0,1,1000,0,0\n", "flows.csv:2"),
    ("an-empty-field", HEAD + b"0,,1000,0\n", "flows.csv:2"),
    ("to-itself", HEAD + b"1,1,1000,0\n", "flows.csv:2"),
    ("no-such-host", HEAD + b"0,4,1000,0\n", "flows.csv:2"),
    ("a-negative-host", HEAD + b"-1,2,1000,0\n", "flows.csv:2"),
    ("a-host-of-33-bits", HEAD + b"4294967296,1,1000,0\n", "flows.csv:2"),
    ("a-host-by-name", HEAD + b"host0,1,1000,0\n", "flows.csv:2"),
    ("no-bytes", HEAD + b"0,1,0,0\n", "flows.csv:2"),
    ("negative-bytes", HEAD + b"0,1,-1,0\n", "flows.csv:2"),
    ("half-a-byte", HEAD + b"0,1,0.5,0\n", "flows.csv:2"),
    ("bytes-with-a-unit", HEAD + b"0,1,1KB,0\n", "flows.csv:2"),
    ("bytes-as-a-power", HEAD + b"0,1,1e3,0\n", "flows.csv:2"),
    ("many-digits", HEAD + b"0,1," + HUGE + b",0\n", "flows.csv:2"),
    ("other-digits", HEAD + "0,1,١٠٠,0\n".encode(), "flows.csv:2"),
    ("before-the-beginning", HEAD + b"0,1,1000,-5\n", "flows.csv:2"),
    ("at-no-time", HEAD + b"0,1,1000,nan\n", "flows.csv:2"),
    ("never", HEAD + b"0,1,1000,inf\n", "flows.csv:2"),
    ("after-the-end-of-time", HEAD + b"0,1,1000,1e300\n", "flows.csv:2"),
    ("a-nul", HEAD + b"0,1,1000,0\x00\n", "flows.csv:2"),
    ("not-utf-8", HEAD + b"0,1,1000,\xff\n", "not UTF-8"),
    ("utf-16", (HEAD + b"0,1,1000,0\n").decode().encode("utf-16"), "not UTF-8"),
    ("a-page", b"<!DOCTYPE html><html></html>", "flows.csv:1"),
    ("late-in-the-file", HEAD + b"0,1,1000,0\n" * 5_000 + b"0,1,1000,x\n", "flows.csv:5002"),
    ("a-long-line", HEAD + b"0," * 500_000, "flows.csv:2"),
    ("a-deadline-of-nothing", b"src,dst,size_bytes,start_ns,deadline_ns\n0,1,1000,0,-1\n", "flows.csv:2"),
    ("a-class-of-300", b"src,dst,size_bytes,start_ns,class\n0,1,1000,0,300\n", "flows.csv:2"),
]


def check_flows(content: bytes, folder: Path) -> None:
    (folder / "flows.csv").write_bytes(content)
    workload = 'arrivals = { kind = "list", file = "flows.csv" }'
    (folder / "hostile.toml").write_text(SCENARIO.format(workload=workload, run=""))


@pytest.mark.parametrize(("content", "message"), [one[1:] for one in FLOWS], ids=[name for name, _, _ in FLOWS])
def test_flows(content: bytes, message: str, worker: Worker, tmp_path: Path) -> None:
    check_flows(content, tmp_path)
    worker.command(tmp_path, "check", "hostile.toml").must_refuse("arrivals.file", "flows.csv", message)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + HEAD + b"0,1,1000,0\n",
        (HEAD + b"0,1,1000,0\n").replace(b"\n", b"\r\n"),
        b"start_ns,size_bytes,dst,src\n0,1000,1,0\n",
        b" src , dst , size_bytes , start_ns \n 0 , 1 , 1000 , 0 \n",
        b"# a comment\n\n" + HEAD + b"\n# another\n0,1,1000,0",
    ],
    ids=["marked", "of-windows", "in-another-order", "with-spaces", "with-comments"],
)
def test_right_flows(content: bytes, worker: Worker, tmp_path: Path) -> None:
    check_flows(content, tmp_path)
    worker.command(tmp_path, "run", "hostile.toml", "-o", "out", "--workers", "1").must_accept("Slowdown")


SIZES: list[tuple[str, bytes, str]] = [
    ("empty", b"", "sizes.csv"),
    ("falling-shares", b"1000,0.5\n2000,0.4\n3000,1\n", "sizes.csv"),
    ("falling-sizes", b"2000,0\n1000,1\n", "sizes.csv"),
    ("short-of-one", b"1000,0\n2000,0.5\n", "sizes.csv"),
    ("beyond-one", b"1000,0\n2000,2\n", "sizes.csv"),
    ("negative-shares", b"1000,-0.5\n2000,1\n", "sizes.csv"),
    ("negative-sizes", b"-1000,0\n2000,1\n", "sizes.csv"),
    ("no-numbers", b"a,b\nc,d\ne,f\n", "sizes.csv"),
    ("nan", b"1000,nan\n2000,1\n", "sizes.csv"),
    ("infinite", b"1000,0\ninf,1\n", "sizes.csv"),
    ("many-digits", b"1000,0\n" + HUGE + b",1\n", "sizes.csv"),
    ("five-columns", b"1,2,3,4,5\n", "sizes.csv"),
    ("one-column", b"1000\n-2000\n", "sizes.csv"),
    ("nul", b"1000,0\x00\n2000,1\n", "sizes.csv"),
    ("not-utf-8", b"\xff\xfe1000,0\n2000,1\n", "not UTF-8"),
    ("too-many-points", b"".join(b"%d,%.9f\n" % (size, size / 300_000) for size in range(1, 300_001)), "MiB"),
]


@pytest.mark.parametrize(("content", "message"), [one[1:] for one in SIZES], ids=[name for name, _, _ in SIZES])
def test_sizes(content: bytes, message: str, worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_bytes(content)
    text = SCENARIO.format(workload='sizes = "sizes.csv"', run="loads = [0.5]\nflows = 3")
    (tmp_path / "hostile.toml").write_text(text)
    worker.command(tmp_path, "check", "hostile.toml").must_refuse("hostile.toml", "workload[0].sizes", message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.csv", "nowhere.csv"),
        (".", "it is a folder"),
        ("/", "it is a folder"),
        ("../../../../../../etc/shadow-of-nothing", "shadow-of-nothing"),
        ("a" * 5_000 + ".csv", "File name too long"),
        ("a\\u0000b.csv", "sizes"),
        ("web-serch", 'did you mean "web-search"'),
        ("", "sizes"),
        ("/dev/zero", "it is a device"),
        ("/proc/self/mem", "sizes"),
    ],
    ids=["nowhere", "here", "root", "far-away", "long", "nul", "misspelt", "nothing", "device", "memory"],
)
def test_names_of_files(name: str, message: str, worker: Worker, tmp_path: Path) -> None:
    text = SCENARIO.format(workload=f'sizes = "{name}"', run="loads = [0.5]\nflows = 3")
    (tmp_path / "hostile.toml").write_text(text)
    worker.command(tmp_path, "check", "hostile.toml").must_refuse("hostile.toml", "workload[0].sizes", message)
