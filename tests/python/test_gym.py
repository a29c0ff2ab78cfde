"""The environment of Gymnasium: its interface, its determinism, what is seen and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packetloom.errors import ArgumentError, PacketloomError

pytestmark = pytest.mark.unaudited

FABRIC: dict[str, Any] = {
    "topology": {"kind": "rack", "hosts": 9, "link": {"rate": "100Gbps", "delay": "1us"}},
    "scheme": [
        {
            "name": "DCTCP",
            "transport": "dctcp",
            "queue": {"kind": "ecn", "capacity": "500KB", "mark_above": "65KB"},
        }
    ],
}
VARY = {"transport.g": "0.01..1.0:log", "queue.mark_above": "5KB..400KB:log"}


@pytest.fixture
def gym() -> Any:
    """It takes Gymnasium, which need not be there."""
    pytest.importorskip("gymnasium", reason="an environment needs Gymnasium")
    import packetloom.gym

    return packetloom.gym


def test_the_pages_example_runs(gym: Any, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs/gym.md").read_text()
    (piece,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(piece, {})
    assert "KB of queue, in " in capsys.readouterr().out
    assert [name for name in gym.OBSERVED if f"`{name}`" not in page] == []
    assert [name for name in gym.REWARDS if f'`"{name}"`' not in page] == []


def environment(gym: Any, **changes: Any) -> Any:
    given: dict[str, Any] = {"interval_ns": 50_000, "steps": 20, "reward": "queue"}
    given |= changes
    traffic = given.pop("traffic", None) or gym.incast(8, 400_000, 500_000, 2)
    return gym.NetworkEnv(given.pop("scenario", FABRIC), traffic, given.pop("vary", VARY), **given)


def episode(env: Any, action: float, seed: int = 3) -> tuple[list[list[float]], list[float], bool]:
    env.reset(seed=seed)
    seen, rewards = [], []
    while True:
        found, reward, terminated, truncated, _ = env.step(np.full(len(VARY), action, dtype=np.float32))
        seen.append(found.tolist())
        rewards.append(reward)
        if terminated or truncated:
            return seen, rewards, terminated


def test_it_passes_gymnasiums_check(gym: Any) -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that observations have no upper bound
        check_env(environment(gym), skip_render_check=True)


def test_the_same_seed_and_actions_give_the_same_episode(gym: Any) -> None:
    env = environment(gym)
    first = episode(env, 0.3)
    assert episode(env, 0.3) == first
    assert episode(environment(gym), 0.3) == first
    few = environment(gym, traffic=gym.incast(5, 400_000, 500_000, 2))
    assert episode(few, 0.3, seed=3) != episode(few, 0.3, seed=4)
    assert episode(env, -0.9) != first
    assert first[2]


def test_lower_thresholds_mean_shorter_queues(gym: Any) -> None:
    env = environment(gym)
    low, high = (np.mean(episode(env, action)[1]) for action in (-1.0, 1.0))
    assert 0 > low > 2 * high


def test_what_is_seen_is_what_happened(gym: Any) -> None:
    env = environment(gym, traffic=gym.incast(8, 400_000, 500_000, 1))
    seen, _, terminated = episode(env, 0.0)
    of = {name: [one[place] for one in seen] for place, name in enumerate(gym.OBSERVED)}
    assert terminated
    # All bytes arrive, and the receiver's link bounds how fast.
    assert sum(of["throughput_gbps"]) * 50_000 / 8 == pytest.approx(8 * 400_000)
    assert max(of["throughput_gbps"]) <= 100.5
    assert of["open_messages"][0] == 8
    assert of["open_messages"][-1] == 0
    assert max(of["marks"]) > 0
    assert 4 < max(of["rtt_us"]) < 200
    assert max(of["window_kb"]) > 0
    assert max(of["fct_us"]) > 8 * 400_000 * 8 / 100e3 * 0.5


def test_one_sender_is_set_and_seen(gym: Any) -> None:
    env = environment(gym, hosts=[1], traffic=gym.incast(8, 400_000, 500_000, 1), vary={"transport.g": "0.01..1.0"})
    env.reset(seed=1)
    seen, *_ = env.step(np.zeros(1, dtype=np.float32))
    assert seen[list(gym.OBSERVED).index("open_messages")] == 1


def test_an_episode_is_cut_after_its_steps_and_rewards_are_ones_own(gym: Any) -> None:
    env = environment(gym, steps=2, reward=lambda seen: seen.open_messages, traffic=gym.poisson(2e6, 1e5, 1e6))
    env.reset(seed=1)
    action = np.zeros(2, dtype=np.float32)
    _, reward, terminated, truncated, info = env.step(action)
    assert (terminated, truncated) == (False, False)
    assert reward == info["observation"].open_messages > 0
    assert info["parameters"] == {"transport.g": 0.1, "queue.mark_above": "44.7KB"}
    assert info["now_ns"] == 50_000
    assert env.step(action)[2:4] == (False, True)


def test_dcqcn_has_its_constants_set(gym: Any) -> None:
    scheme = {
        "name": "DCQCN",
        "transport": {"kind": "dcqcn", "preset": "deployed"},
        "queue": {"kind": "shared-buffer", "buffer": "8MB", "ecn_min": "100KB", "ecn_max": "400KB"},
    }
    vary = {"transport.gain": "0.001..0.5:log", "transport.increase_interval": "5us..500us:log"}
    env = environment(gym, scenario=FABRIC | {"scheme": [scheme]}, vary=vary, reward="throughput")
    slow, fast = (episode(env, action)[0] for action in (1.0, -1.0))
    assert slow != fast
    assert max(one[list(gym.OBSERVED).index("rate_gbps")] for one in slow) > 0


def test_a_balancer_has_its_gap_set(gym: Any) -> None:
    leaf_spine = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 8, "spines": 4}
    scenario = {"topology": leaf_spine, "scheme": [FABRIC["scheme"][0] | {"routing": "letflow"}]}
    traffic = gym.poisson(1e6, 300_000, 200_000)
    env = environment(gym, scenario=scenario, traffic=traffic, vary={"routing.flowlet_gap": "0.5us..100us:log"})

    def seen(action: float) -> list[float]:
        env.reset(seed=3)
        *_, info = [env.step(np.full(1, action, dtype=np.float32)) for _ in range(10)][-1]
        assert info["parameters"] == {"routing.flowlet_gap": "0.5us" if action < 0 else "100us"}
        return list(astuple(info["observation"]))

    assert seen(-1.0) != seen(1.0) == seen(1.0)


def test_several_run_in_processes(gym: Any) -> None:
    envs = gym.vector([FABRIC, FABRIC], gym.incast(8, 400_000, 500_000, 1), VARY, interval_ns=50_000, reward="queue")
    try:
        found, _ = envs.reset(seed=[3, 4])
        assert found.shape == (2, len(gym.OBSERVED))
        for _ in range(2):
            found, rewards, *_ = envs.step(np.zeros((2, 2), dtype=np.float32))
    finally:
        envs.close()
    alone = environment(gym, traffic=gym.incast(8, 400_000, 500_000, 1))
    alone.reset(seed=4)
    for _ in range(2):
        one, reward, *_ = alone.step(np.zeros(2, dtype=np.float32))
    assert found[1].tolist() == one.tolist()
    assert rewards[1] == reward


def test_what_is_no_environment_is_refused(gym: Any) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"vary": {"transport.gg": "0.1..0.2"}}, "did you mean"),
        ({"vary": {"queue.mark_above": "5us..10us"}}, "queue.mark_above"),
        ({"vary": {"transport.g": "0.2..0.1"}}, "the smaller end first"),
        ({"vary": {"transport.g": "0.1|0.2"}}, "has choices"),
        ({"vary": {}}, "vary"),
        ({"reward": "speed"}, "there is no reward 'speed'"),
        ({"reward": 3}, "reward is 3"),
        ({"interval_ns": 0}, "interval_ns is 0"),
        ({"steps": 0}, "steps is from 1"),
        ({"hosts": [9]}, "there is no host 9"),
        ({"scenario": FABRIC | {"workload": []}}, "workload"),
    ]
    for changes, message in cases:
        with pytest.raises(PacketloomError, match=message):
            environment(gym, **changes)
    env = environment(gym)
    with pytest.raises(ArgumentError, match="call reset"):
        env.step(np.zeros(2))
    env.reset(seed=1)
    with pytest.raises(ArgumentError, match="give 2, one for each key"):
        env.step(np.zeros(3))
    with pytest.raises(ArgumentError, match="does not fit 9 hosts"):
        environment(gym, traffic=gym.incast(20, 1, 1.0, 1)).reset(seed=1)


def test_the_example_trains_and_compares(gym: Any, tmp_path: Path) -> None:
    pytest.importorskip("cmaes", reason="the example needs cmaes")
    example, drawn = Path(__file__).parents[2] / "examples/train_marking.py", tmp_path / "curve.png"
    small = ["--generations", "1", "--episodes", "1", "--held-out", "2", "-o", str(drawn)]
    done = subprocess.run([sys.executable, str(example), *small], capture_output=True, text=True, check=True)
    assert "generation 1: " in done.stdout
    said = re.findall(r"time in the network against .*: [+-][\d.]+% \(.* to .*\): (\w+)", done.stdout)
    assert len(said) == 2
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_without_gymnasium_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("packetloom.gym", "gymnasium"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match="pip install 'gymnasium>=1'"):
        import packetloom.gym  # noqa: F401
