"""`--set` with keys and values that nobody should write: what is wrong, and what there is."""

import json
from pathlib import Path

import pytest

from conftest import SCENARIO
from packetloom.errors import PacketloomError
from packetloom.scenario.overrides import override
from packetloom.scenario.plan import read_plan

pytestmark = pytest.mark.unaudited

ONE_SCHEME = """\
[topology]
kind = "rack"
hosts = 3

[[workload]]
sizes = "web-search"

[[scheme]]
name = "TCP"
transport = "tcp"
queue = "drop-tail"

[run]
loads = [0.5]
flows = 3
"""


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("run.seeds", "write it as key=value"),
        ("=5", "write it as key=value"),
        ("run..seeds=5", "the key has an empty part"),
        (".run.seeds=5", "the key has an empty part"),
        ("run.=5", "the key has an empty part"),
        ("..=5", "the key has an empty part"),
        ("scheme.NOPE.queue.capacity=1KB", "'NOPE' is none of TCP, DCTCP; or "),
        ("scheme.NOPE.x=1", "'NOPE' is none of TCP, DCTCP"),
        ("scheme.NOPE=1", "'NOPE' is none of TCP, DCTCP"),
        ("scheme..queue=1", "'' is none of TCP, DCTCP"),
        ("scheme.TCP=1", r"names no key of TCP; write it as TCP\.KEY=VALUE"),
        ("scheme.1=1", "names no key of 1"),
        ("scheme.*=1", r"names no key of \*"),
        ("scheme.2.queue=1", "'2' is none of TCP, DCTCP"),
        ("scheme.-1.queue=1", "'-1' is none of TCP, DCTCP"),
        ("scheme.².queue=1", "'²' is none of TCP, DCTCP"),
        (f"scheme.{'9' * 5000}.queue=1", "is none of TCP, DCTCP"),
        ("workload.3.sizes=1", "'3' is none of 0; or "),
        ("run.seeds.x=1", "x is not inside a table"),
        ("run.seeds=5\nflows=7", "letter 12 is '\\\\n'; write printable text in one line"),
        ("run.seeds=5\r", "letter 12 is '\\\\r'"),
        ("run.\x1b[31m=5", "letter 5 is '\\\\x1b'"),
        ("run.seeds=\x00", "letter 11"),
        ("run.seeds=\u2028", "letter 11"),
        ("run.seeds=\udc80", "letter 11"),
        ("run.seeds=[1, 2", "is not a TOML value"),
        ("run.seeds=" + "[" * 5000, "too deep|not a TOML value"),
        ("run.seeds=" + "9" * 5000, "too deep, or its number too long"),
        ("run.flows=" + "9" * 30, "run.flows"),
        ("run.loads=nan", "run.loads|finite"),
        ("run.loads=[inf]", "run.loads|finite"),
        ("run.flows=2020-01-01", "run.flows"),
        ("run.flows={}", "run.flows"),
        ("run.größe=1", "run.größe: unknown key"),
        ("größe=1", "größe: unknown key"),
    ],
)
def test_mistakes(setting: str, message: str, as_json: bool, tmp_path: Path) -> None:
    file = tmp_path / ("small.json" if as_json else "small.toml")
    if as_json:
        import tomllib

        file.write_text(json.dumps(tomllib.loads(SCENARIO)))
    else:
        file.write_text(SCENARIO)
    with pytest.raises(PacketloomError, match=message) as raised:
        read_plan(file, [setting])
    assert "--set" in str(raised.value)


def test_with_one_scheme_its_keys_need_no_name(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(ONE_SCHEME)
    for setting in ("scheme.routing=spray-random", "scheme.TCP.nic=drop-tail", "scheme.queue.capacity=50KB"):
        changed, (as_written,) = read_plan(file, [setting]).cases, read_plan(file).cases
        assert len(changed) == 1
        assert changed[0].id != as_written.id, f"{setting} changed nothing"
    with pytest.raises(PacketloomError, match="'NOPE' is none of TCP"):
        read_plan(file, ["scheme.NOPE.x=1"])


def test_names_may_hold_dots_and_brackets() -> None:
    text = SCENARIO.replace('"TCP"', '"v1..2 [x]"')
    assert 'name = "b"' in override(text, "toml", ["scheme.v1..2 [x].name=b"])


def test_a_json_key_that_is_there_twice() -> None:
    with pytest.raises(PacketloomError, match="seeds: is there twice; write it once"):
        override('{"run": {"seeds": 1, "seeds": 2}}', "json", ["run.flows=3"])


def test_toml_of_the_newest_version(tmp_path: Path) -> None:
    """TOML 1.1, which the simulator reads, has line breaks in inline tables."""
    file = tmp_path / "new.toml"
    file.write_text(ONE_SCHEME.replace('queue = "drop-tail"', 'queue = {\n  kind = "drop-tail",\n}'))
    assert len(read_plan(file, ["run.seeds=3"]).cases) == 3 * len(read_plan(file).cases)


def test_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "marked.toml"
    file.write_text(ONE_SCHEME, encoding="utf-8-sig")
    assert len(read_plan(file, ["run.seeds=2"]).cases) == 2


def test_what_the_writer_cannot_read() -> None:
    with pytest.raises(PacketloomError, match=r"--set: this file cannot be changed: .* line 1"):
        override("é = 1", "toml", ["run.seeds=1"])
