"""Scenario files: one mistake each, in TOML and in JSON."""

from pathlib import Path

import pytest

from hostile.harness import Worker

SCENARIO = """\
name = "hostile"

[topology]
kind = "leaf-spine"
spines = 2
leaves = 2
hosts_per_leaf = 2
link = { rate = "10Gbps", delay = "1us" }

[[workload]]
sizes = { kind = "uniform", minimum = "1KB", maximum = "9KB" }
arrivals = { kind = "poisson" }
pattern = { kind = "incast", fan_in = 2 }
deadlines = { kind = "fixed", after = "1ms" }
share = 0.5

[[workload]]
sizes = "web-search"
share = 0.5

[[fault]]
kind = "link-down"
between = ["host0", "leaf0"]
at = "1ms"

[[scheme]]
name = "TCP"
transport = { kind = "tcp", initial_window = 10 }
queue = { kind = "drop-tail", capacity = "100KB" }
routing = "ecmp"

[run]
loads = [0.5]
seeds = 1
flows = 20
max_time = "10ms"

[measure]
queues = true
"""

# What is replaced, by what, and what has to be named beside the file's name.
MISTAKES = [
    # Kinds of values
    ('name = "hostile"', "name = 5", "name"),
    ('name = "hostile"', 'name = ["a", "b"]', "name"),
    ("spines = 2", "spines = -2", "topology.spines"),
    ("spines = 2", "spines = 2.5", "topology.spines"),
    ("spines = 2", 'spines = "two"', "topology.spines"),
    ("spines = 2", "spines = true", "topology.spines"),
    ("spines = 2", "spines = 2000-01-01", "topology.spines"),
    ("spines = 2", "spines = {}", "topology.spines"),
    ("spines = 2", "spines = []", "topology.spines"),
    ("spines = 2", "spines = [[2]]", "topology.spines"),
    ("spines = 2", "spines = nan", "topology.spines"),
    ("spines = 2", "spines = -inf", "topology.spines"),
    ("spines = 2", "spines = 9223372036854775807", "topology"),
    ("spines = 2", "spines = 4294967297", "topology"),
    ("leaves = 2\n", "leaves = 4000000\n", "topology"),
    ("hosts_per_leaf = 2", "hosts_per_leaf = 4000000000", "topology"),
    ("leaves = 2\nhosts_per_leaf = 2", "leaves = 65536\nhosts_per_leaf = 65536", "topology"),
    ("hosts_per_leaf = 2", "hosts_per_leaf = 0", "topology.hosts_per_leaf"),
    ('kind = "leaf-spine"', 'kind = "leafspine"', 'did you mean "leaf-spine"'),
    ('kind = "leaf-spine"', 'kind = ["leaf-spine", "ring"]', "topology"),
    ('kind = "leaf-spine"', "kind = {}", "topology"),
    ('kind = "leaf-spine"\n', "", "topology"),
    ("spines = 2", "k = 4", "topology.k: unknown key"),
    # Quantities
    ('rate = "10Gbps"', 'rate = "10"', "topology.link.rate"),
    ('rate = "10Gbps"', "rate = 10", "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = "10GBps"', "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = "10 gigabits"', "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = "0Gbps"', "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = "-10Gbps"', "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = "infGbps"', "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = "nanGbps"', "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = "1e400Gbps"', "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = "1e-400Gbps"', "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = "1bps"', "rate"),
    ('rate = "10Gbps"', 'rate = "99999999999Tbps"', "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = "１０Gbps"', "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = "10e0Gbps"', "topology.link.rate"),
    ('rate = "10Gbps"', 'rate = ""', "topology.link.rate"),
    ('delay = "1us"', 'delay = "1 fortnight"', "topology.link.delay"),
    ('delay = "1us"', 'delay = "-1us"', "topology.link.delay"),
    ('delay = "1us"', 'delay = "99999999999999999999s"', "topology.link.delay"),
    ('delay = "1us"', 'delay = "0.0000001ps"', "topology.link.delay"),
    ('delay = "1us"', 'delay = "1us1us"', "topology.link.delay"),
    ('capacity = "100KB"', 'capacity = "100"', "queue.capacity"),
    ('capacity = "100KB"', 'capacity = "100KiloBytes"', "queue.capacity"),
    ('capacity = "100KB"', 'capacity = "-5packets"', "queue.capacity"),
    ('capacity = "100KB"', 'capacity = "0B"', "queue.capacity"),
    ('capacity = "100KB"', 'capacity = "99999999999999999999packets"', "queue.capacity"),
    ('maximum = "9KB"', 'maximum = "0KB"', "maximum"),
    ('maximum = "9KB"', 'maximum = "500B"', "maximum"),
    ('maximum = "9KB"', 'maximum = "9223372036854775807KB"', "maximum"),
    # Grids
    ("initial_window = 10", "initial_window = [1, 1]", "initial_window"),
    ("seeds = 1", "seeds = 9999999999", "run.seeds"),
    ("seeds = 1", "seeds = 0", "run.seeds"),
    ("seeds = 1", "seeds = -1", "run.seeds"),
    ("seeds = 1", "seeds = []", "run.seeds"),
    ("seeds = 1", "seeds = [1, 1]", "run.seeds"),
    ("seeds = 1", "seeds = [1.5]", "run.seeds"),
    ("loads = [0.5]", "loads = []", "run.loads"),
    ("loads = [0.5]", "loads = [0.5, 0.5]", "run.loads"),
    ("loads = [0.5]", "loads = [-0.5]", "run.loads"),
    ("loads = [0.5]", "loads = [nan]", "run.loads"),
    ("loads = [0.5]", "loads = [11]", "run.loads"),
    ("loads = [0.5]", "loads = [0]", "load"),
    ("loads = [0.5]", 'loads = "high"', "run.loads"),
    ("loads = [0.5]", "loads = 0.5\nloads = 0.6", "loads"),
    ("flows = 20", "flows = 0", "run.flows"),
    ("flows = 20", "flows = 18446744073709551616", "flows"),
    ("flows = 20", "flows = 1e30", "run.flows"),
    ("flows = 20", 'warm_up = "1ms"', "run"),
    ('max_time = "10ms"', 'max_time = "0ms"', "run.max_time"),
    ('max_time = "10ms"', 'warm_up = "9999999s"', "run"),
    # What has to fit together
    ("fan_in = 2", "fan_in = 0", "fan_in"),
    ("fan_in = 2", "fan_in = 4", "fan_in"),
    ("fan_in = 2", "fan_in = 2, receiver = 4", "receiver"),
    ("fan_in = 2", "fan_in = 2, receiver = 18446744073709551615", "receiver"),
    ('kind = "incast", fan_in = 2', 'kind = "pair", src = 1, dst = 1', "pattern"),
    ('kind = "incast", fan_in = 2', 'kind = "pair", src = 1, dst = 99', "dst"),
    ("share = 0.5\n\n[[workload]]", "share = 0.9\n\n[[workload]]", "share"),
    ('between = ["host0", "leaf0"]', 'between = ["host0"]', "fault[0].between"),
    ('between = ["host0", "leaf0"]', 'between = ["host0", "host1"]', "fault[0].between"),
    ('between = ["host0", "leaf0"]', 'between = ["host0", "leaf9"]', "fault[0].between"),
    ('between = ["host0", "leaf0"]', 'between = ["host0", "leaf0", "leaf1"]', "fault[0].between"),
    ('between = ["host0", "leaf0"]', 'between = ["", ""]', "fault[0].between"),
    ('between = ["host0", "leaf0"]', "between = [0, 1]", "fault[0].between"),
    ('at = "1ms"', 'at = "1ms"\nuntil = "1us"', "fault[0].until"),
    ('kind = "link-down"', 'kind = "meteorite"', "fault"),
    # Schemes and sections
    ('name = "TCP"', 'name = ""', "scheme[0].name"),
    ('name = "TCP"', "name = 5", "scheme[0].name"),
    ('name = "TCP"\n', "", "scheme[0]"),
    ('name = "TCP"', 'name = "a\\nb"', "scheme[0].name"),
    ('name = "TCP"', 'name = "a\\u001b[31mb"', "scheme[0].name"),
    ('name = "TCP"', 'name = "a\\tb"', "scheme[0].name"),
    ('name = "TCP"', 'name = "\\u0000"', "scheme[0].name"),
    ('kind = "tcp"', 'kind = "quic"', "transport"),
    ('kind = "tcp"', 'kind = ""', "transport"),
    ("initial_window = 10", "initial_window = 0", "initial_window"),
    ("initial_window = 10", "initial_windw = 10", 'did you mean "initial_window"'),
    ("initial_window = 10", 'mss = "0B"', "mss"),
    ("initial_window = 10", 'mss = "9000000000KB"', "mss"),
    ("initial_window = 10", 'min_rto = "2s", max_rto = "1s"', "rto"),
    ('kind = "drop-tail", capacity = "100KB"', 'kind = "classes", weights = []', "weights"),
    ('kind = "drop-tail", capacity = "100KB"', 'kind = "classes", weights = [0]', "weights"),
    ('kind = "drop-tail", capacity = "100KB"', 'kind = "red", min = "200KB", max = "5KB"', "min"),
    ('routing = "ecmp"', 'routing = "valiant"', "routing"),
    ('routing = "ecmp"', "routing = []", "routing"),
    ("[run]", "[rnu]", 'did you mean "run"'),
    ("[measure]", "[run.measure]", "run.measure"),
    ("[topology]", "[[topology]]", "topology"),
    ("queues = true", 'queues = "yes"', "measure.queues"),
    ("queues = true", 'series_interval = "1ps"', "series_interval"),
    ("queues = true", 'series_interval = "0us"', "series_interval"),
    ("queues = true", 'capture = ["host99 to leaf0"]', "capture"),
    ("queues = true", "by_class = true", "by_class"),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[f"{new[:40]!a}" for _, new, _ in MISTAKES])
def test_a_mistake(old: str, new: str, message: str, worker: Worker, tmp_path: Path) -> None:
    text = SCENARIO.replace(old, new, 1)
    assert text != SCENARIO
    (tmp_path / "hostile.toml").write_text(text)
    worker.command(tmp_path, "check", "hostile.toml").must_refuse("hostile.toml", message)


def nested(levels: int) -> str:
    return "a = " + "[" * levels + "]" * levels


TEXTS: list[tuple[str, bytes, str]] = [
    ("empty.toml", b"", "topology"),
    ("spaces.toml", b" \n\t\n", "topology"),
    ("marked.toml", b"\xef\xbb\xbf", "topology"),
    ("nul.toml", b"a = 1\x00", "nul.toml"),
    ("latin.toml", 'name = "größe"'.encode("latin-1"), "byte 10 is not UTF-8"),
    ("utf16.toml", 'name = "x"'.encode("utf-16"), "not UTF-8"),
    ("deep.toml", nested(100_000).encode(), "deep.toml"),
    ("tables.toml", b"[" + b"a." * 50_000 + b"a]", "tables.toml"),
    ("long.toml", b"a = " + b"9" * 1_000_000, "long.toml"),
    ("string.toml", b'a = "' + b"x" * 1_000_000, "string.toml:1"),
    (
        "keys.toml",
        b"".join(b"k%d = 1\n" % key for key in range(20_000)),
        "keys.toml: there are more mistakes; mend these first",
    ),
    ("twice.toml", b"[run]\nseeds = 1\n[run]\nflows = 2\n", "twice.toml:3"),
    ("both.toml", b"run = 1\n[run]\nseeds = 1\n", "both.toml:2"),
    ("python.toml", b"import os\n", "python.toml:1"),
    ("gzip.toml", b"\x1f\x8b\x08\x00", "not UTF-8"),
    ("bidi.toml", '"\u202ename" = 1'.encode(), "unknown key"),
    ("empty.json", b"", "empty.json"),
    ("list.json", b"[]", "list.json"),
    ("null.json", b"null", "null.json"),
    ("number.json", b"1e999", "number.json"),
    ("text.json", b'"topology"', "text.json"),
    ("half.json", b'{"run": {"seeds": 1', "half.json"),
    ("more.json", b"{} {}", "more.json"),
    ("comma.json", b'{"run": {"seeds": 1,}}', "comma.json"),
    ("nan.json", b'{"run": {"loads": [NaN]}}', "nan.json"),
    ("comment.json", b'{"run": {}} // a comment', "comment.json"),
    ("twice.json", b'{"run": {"seeds": 1, "seeds": 2}}', "seeds"),
    ("topology-twice.json", b'{"topology": {"kind": "rack"}, "topology": {"kind": "fat-tree"}}', "topology"),
    ("surrogate.json", b'{"name": "\\ud800"}', "surrogate.json"),
    ("deep.json", b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deep.json"),
    ("null-inside.json", b'{"topology": null, "workload": null, "scheme": null}', "topology"),
]


@pytest.mark.parametrize(("name", "content", "message"), TEXTS, ids=[name for name, _, _ in TEXTS])
def test_no_scenario_at_all(name: str, content: bytes, message: str, worker: Worker, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    worker.command(tmp_path, "check", name).must_refuse(name, message)
    # What can't be read is refused before anything is set in it.
    worker.command(tmp_path, "run", name, "--set", "run.flows=3").must_refuse(name, message)


RIGHT = [
    ('name = "TCP"', 'name = "TCP [fast] $x_1$ :bug: </script> ∞ 日本"'),
    ('name = "TCP"', f'name = "{"x" * 200}"'),  # as long as a name may be; tests/python/test_names.py has longer ones
    ('name = "hostile"', 'name = "[/x]"'),
    ("spines = 2", "spines = 2_0"),
    ("spines = 2", "spines = 0x2"),
    ("seeds = 1", "seeds = [9223372036854775807]"),
    ("loads = [0.5]", "loads = [1e-3]"),
    ('delay = "1us"', 'delay = "0us"'),
    ('rate = "10Gbps"', 'rate = "10.0Gbps"'),
    ("[measure]\nqueues = true\n", ""),
]


@pytest.mark.parametrize(("old", "new"), RIGHT, ids=[f"{new[:40]!a}" for _, new in RIGHT])
def test_strange_but_right(old: str, new: str, worker: Worker, tmp_path: Path) -> None:
    text = SCENARIO.replace(old, new, 1)
    assert text != SCENARIO
    (tmp_path / "right.toml").write_text(text)
    worker.command(tmp_path, "check", "right.toml").must_accept("1 case, no mistakes")
    answer = worker.command(tmp_path, "run", "right.toml", "-o", "out", "--workers", "1")
    answer.must_be_sound()
    assert answer.code in (0, 3)
