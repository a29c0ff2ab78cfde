"""The stand-in simulator takes the compiled one's place until that is there."""

import sys
from pathlib import Path

import fake_core
import pytest

sys.modules["packetloom._core"] = fake_core

SCENARIO = """\
[topology]
kind = "rack"

[[workload]]
sizes = "web-search"

[[scheme]]
name = "TCP"
transport = "tcp"
queue = "drop-tail"

[[scheme]]
name = "DCTCP"
transport = "dctcp"
queue = { kind = "ecn", capacity = "225KB" }

[run]
loads = [0.2, 0.8]
seeds = 2
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return path
