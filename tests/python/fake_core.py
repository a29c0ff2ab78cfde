"""A stand-in for the compiled simulator: cases that end at once, or as slowly as a test asks."""

import hashlib
import json
import re
import threading
import time
import tomllib
from typing import Any, Literal

import numpy as np


class ScenarioError(Exception):
    pass


KNOWN = {"topology", "workload", "scheme", "run", "measure"}


class Scenario:
    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree
        self.warnings = ["load 1.2 is above 1: the run will not settle"] if 1.2 in tree["run"]["loads"] else []

    @staticmethod
    def read(text: str, origin: str, format: Literal["toml", "json"]) -> "Scenario":
        tree = tomllib.loads(text) if format == "toml" else json.loads(text)
        for key in tree:
            if key not in KNOWN:
                line = next((n for n, row in enumerate(text.splitlines(), 1) if key in row), 1)
                raise ScenarioError(f"{origin or 'scenario'}:{line}: unknown key {key!r}; known: {sorted(KNOWN)}")
        return Scenario(tree)

    def cases(self) -> list["Case"]:
        run = self._tree["run"]
        cases = []
        own = {key: value for key, value in run.items() if key not in ("loads", "seeds")}
        for scheme in self._tree["scheme"]:
            queue = scheme.get("queue", {})
            capacity = queue.get("capacity") if isinstance(queue, dict) else None
            grid = capacity if isinstance(capacity, list) else [None]
            for value in grid:
                for load in run["loads"]:
                    for seed in range(1, run.get("seeds", 1) + 1):
                        parameters = {"scheme": scheme["name"], "load": load, "seed": seed}
                        if value is not None:
                            parameters["scheme.queue.capacity"] = value
                        cases.append(Case({"parameters": parameters, "run": own}))
        return cases


class Case:
    def __init__(self, content: dict[str, Any]) -> None:
        self.json = json.dumps(content, sort_keys=True)
        self.id = hashlib.sha256(self.json.encode()).hexdigest()[:32]
        self.parameters = content["parameters"]
        self.facts = [f"load {self.parameters['load']} implies 1,234 flows/s"]

    @staticmethod
    def from_json(text: str) -> "Case":
        return Case(json.loads(text))


class Simulation:
    def __init__(self, case: Case) -> None:
        content = json.loads(case.json)
        self._run = content["run"]
        self._parameters = content["parameters"]
        self._stopped = threading.Event()
        self._fraction = 0.0

    def run(self) -> "Outcome":
        seconds = float(self._run.get("fake_seconds", 0.0))
        if self._run.get("fake_bug") == self._parameters["scheme"]:
            raise RuntimeError("a bug in the simulator")
        began = time.monotonic()
        while time.monotonic() - began < seconds and not self._stopped.wait(0.01):
            self._fraction = (time.monotonic() - began) / seconds
        return Outcome(self._parameters, int(self._run.get("flows", 50)), self._stopped.is_set())

    def progress(self) -> tuple[float, int]:
        return self._fraction, int(self._fraction * 1e6)

    def cancel(self) -> None:
        self._stopped.set()


class Outcome:
    def __init__(self, parameters: dict[str, Any], count: int, cancelled: bool) -> None:
        self.cancelled = cancelled
        key = re.sub(r"\W", "", json.dumps(parameters))
        self.fingerprint = hashlib.sha256(key.encode()).hexdigest()[:16]
        self.warnings: list[str] = []
        self.counters = {
            "packet_hops": 1000 * count,
            "events": 900 * count,
            "drops": 3,
            "cpu_s": 0.1,
            "wall_s": 0.1,
        }
        draw = np.random.default_rng(int(self.fingerprint, 16))
        size = np.exp(draw.uniform(np.log(1e3), np.log(3e7), count)).astype(np.int64)
        best = 12_000 + size * 0.8
        slowdown = 1 + draw.exponential(5 * parameters["load"], count)
        slowdown[:2] = np.nan  # never finished
        deadline = np.where(np.arange(count) % 2 == 0, 3 * best, np.nan)
        self.flows: dict[str, Any] = {
            "flow_id": np.arange(count, dtype=np.uint32),
            "src": np.zeros(count, dtype=np.uint32),
            "dst": np.ones(count, dtype=np.uint32),
            "size_bytes": size,
            "start_ns": np.arange(count) * 1000.0,
            "fct_ns": slowdown * best,
            "best_fct_ns": best,
            "slowdown": slowdown,
            "goodput_gbps": size * 8 / (slowdown * best),
            "deadline_ns": deadline,
            "met_deadline": slowdown * best <= deadline,
            "measured": np.arange(count) >= 1,
        }
        tiers = ["host", "edge", "aggregation", "core"]
        self.ports: dict[str, Any] = {
            "node": [f"{tier}-0" for tier in tiers],
            "peer": ["edge-0", "host-0", "edge-0", "aggregation-0"],
            "tier": tiers,
            "tx_bytes": np.full(4, 10**6),
            "utilisation": np.full(4, float(parameters["load"])),
            "drops": np.arange(4),
            "queue_mean_bytes": np.arange(4) * 1000.0,
            "queue_p99_bytes": np.arange(4) * 5000.0,
            "queue_max_bytes": np.arange(4) * 9000.0,
        }
        self.series: dict[str, Any] = {}


def registry() -> str:
    return json.dumps(
        [
            {
                "section": "queue",
                "kind": "ecn",
                "doc": "Drop-tail that marks above a threshold.",
                "source": "DCTCP §3.1",
                "params": [
                    {
                        "name": "capacity",
                        "type": 'a buffer: "225KB" or "150packets"',
                        "required": False,
                        "default": "225KB",
                        "doc": "What it holds.",
                        "source": "pFabric §5",
                    },
                    {
                        "name": "mark_above",
                        "type": 'a buffer: "225KB" or "150packets"',
                        "required": True,
                        "default": None,
                        "doc": "Packets that arrive above this are marked.",
                        "source": "DCTCP §3.1",
                    },
                ],
            },
            {
                "section": "transport",
                "kind": "tcp",
                "doc": "TCP NewReno.",
                "source": "RFC 6582",
                "params": [],
            },
        ]
    )


def schema() -> str:
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"})


def column_meanings() -> dict[str, str]:
    return {
        "slowdown": "fct / best_fct",
        "fct_ns": "Flow completion time in nanoseconds; NaN if it never finished",
    }


def version() -> str:
    return "0.1.0"


def bench_names() -> list[str]:
    return ["fifo-k8", "pfabric-k6"]


def bench(name: str) -> dict[str, str | int | float]:
    return {"name": name, "packet_hops": 1_000_000, "events": 900_000, "cpu_s": 0.5}
