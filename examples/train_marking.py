"""Does an agent that sets the marking threshold of a switch every 20 us beat DCTCP's fixed one?

    pip install 'packetloom[rl]'
    python examples/train_marking.py

Sixteen hosts send to one: a few long flows, and again and again a burst of short ones; how many of each is drawn. The
agent's policy is a weighted sum of what it sees. CMA-ES (Hansen and Ostermeier, 2001) learns it from whole episodes. It
begins as its rival, DCTCP with K = 65 packets, which its paper has for 10 Gb/s. A second rival has the fixed threshold
that was best on training episodes. All three are compared on episodes that none has seen. The curve goes to
train-marking.png.

The learner is `cmaes`: 73 kB beside NumPy. Learners by gradients, such as Stable-Baselines3, bring PyTorch along, which
is 540 MB; ten weights do not need them. Any of them can take the same environment.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from scipy import stats

import packetloom.gym

RECEIVER, HOSTS = 0, 17
FABRIC = {
    "topology": {"kind": "rack", "hosts": HOSTS, "link": {"rate": "100Gbps", "delay": "1us"}},
    "scheme": [
        {"name": "DCTCP", "transport": "dctcp", "queue": {"kind": "ecn", "capacity": "500KB", "mark_above": "97KB"}}
    ],
}
LOW_KB, HIGH_KB = 5.0, 400.0
DCTCP_KB = 97.5
"""65 packets of 1,500 B (SIGCOMM 2010, section 3.4)."""
FIXED_KB = (10, 20, 40, 65, 97.5, 150, 250)
TRAINING, VALIDATION, HELD_OUT = 0, 1_000_000, 2_000_000
"""Where the seeds of each begin."""

Vector = NDArray[np.float64]
Policy = Callable[[Vector], float]


def traffic(random: np.random.Generator, hosts: int) -> packetloom.gym.Flows:
    """Long flows of 3 MB from the first, and every 100 us a burst of 20 KB each."""
    others = np.delete(np.arange(hosts), RECEIVER)
    sends: list[tuple[NDArray[np.int64], int, float]] = []
    sends.append((random.choice(others, int(random.integers(1, 9)), replace=False), 3_000_000, 0.0))
    for burst in range(12):
        senders = random.choice(others, int(random.integers(2, 16)), replace=False)
        sends.append((senders, 20_000, 100e3 * (burst + 1)))
    src = np.concatenate([senders for senders, *_ in sends])
    counts = [len(senders) for senders, *_ in sends]
    size_bytes = np.repeat([size for _, size, _ in sends], counts)
    start_ns = np.repeat([start for *_, start in sends], counts)
    return packetloom.gym.Flows(src, np.full(len(src), RECEIVER), size_bytes, start_ns)


def environment() -> packetloom.gym.NetworkEnv:
    """The reward is minus the open messages: over an episode, minus all their time in the network."""
    vary = {"queue.mark_above": f"{LOW_KB}KB..{HIGH_KB}KB:log"}
    return packetloom.gym.NetworkEnv(FABRIC, traffic, vary, interval_ns=20_000, reward="open", steps=400)


def action_of(threshold_kb: float) -> float:
    """The action that sets this threshold."""
    return float(2 * np.log(threshold_kb / LOW_KB) / np.log(HIGH_KB / LOW_KB) - 1)


def fixed(threshold_kb: float) -> Policy:
    """This threshold, whatever is seen."""
    return lambda _: action_of(threshold_kb)


def linear(weights: Vector) -> Policy:
    """A weighted sum of the logarithms of what is seen, and a bias."""
    return lambda seen: float(np.tanh(weights[:-1] @ np.log1p(seen) / 4 + weights[-1]))


def total(env: packetloom.gym.NetworkEnv, policy: Policy, seed: int) -> float:
    """The reward of an episode."""
    seen, _ = env.reset(seed=seed)
    reward, is_over = 0.0, False
    while not is_over:
        action = np.array([policy(seen.astype(np.float64))], dtype=np.float32)
        seen, one, terminated, truncated, _ = env.step(action)
        reward, is_over = reward + one, terminated or truncated
    return reward


def totals(env: packetloom.gym.NetworkEnv, policy: Policy, seeds: Sequence[int]) -> Vector:
    """Those of several."""
    return np.array([total(env, policy, seed) for seed in seeds])


def train(env: packetloom.gym.NetworkEnv, generations: int, episodes: int) -> tuple[Vector, list[float], list[float]]:
    """The weights in the end; and after each generation, the mean reward on validation seeds of its mean weights, and
    of DCTCP."""
    from cmaes import CMA

    as_dctcp = np.array([0.0] * len(packetloom.gym.OBSERVED) + [np.arctanh(action_of(DCTCP_KB))])
    learner = CMA(mean=as_dctcp, sigma=0.3, seed=1)
    validation = range(VALIDATION, VALIDATION + episodes)
    of_dctcp = float(totals(env, fixed(DCTCP_KB), validation).mean())
    curve = [float(totals(env, linear(learner.mean), validation).mean())]
    for generation in range(generations):
        # All candidates of a generation have the same episodes, and the next one's has others.
        seeds = range(TRAINING + generation * episodes, TRAINING + (generation + 1) * episodes)
        asked = [learner.ask() for _ in range(learner.population_size)]
        learner.tell([(one, -float(totals(env, linear(one), seeds).mean())) for one in asked])
        curve.append(float(totals(env, linear(learner.mean), validation).mean()))
        print(f"generation {generation + 1}: {curve[-1]:.1f}; DCTCP {of_dctcp:.1f}", flush=True)
    return learner.mean, curve, [of_dctcp] * len(curve)


def best_fixed(env: packetloom.gym.NetworkEnv, episodes: int) -> float:
    """The best threshold of a few, on so many training seeds."""
    seeds = range(TRAINING, TRAINING + episodes)
    return max(FIXED_KB, key=lambda threshold: totals(env, fixed(threshold), seeds).mean())


def compared(name: str, change: Vector) -> str:
    """By how much the time in the network changes, seed by seed, with a 95 % interval."""
    mean, half = change.mean(), stats.t.ppf(0.975, len(change) - 1) * stats.sem(change)
    is_chance = mean - half <= 0 <= mean + half
    word = "no difference is shown" if is_chance else "less" if mean < 0 else "more"
    return f"time in the network against {name}: {mean:+.1%} ({mean - half:+.1%} to {mean + half:+.1%}): {word}"


def draw(curve: Sequence[float], of_dctcp: Sequence[float], file: Path) -> None:
    """The curve of training."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes.plot(of_dctcp, color="0.5", linestyle="--", label=f"DCTCP, {DCTCP_KB:g} KB")
    axes.plot(curve, color="tab:blue", marker=".", label="agent")
    axes.set(xlabel="generation", ylabel="reward on validation seeds", title="An agent learns a marking threshold")
    axes.legend(frameon=False)
    figure.savefig(file, dpi=150)


def main() -> None:
    """Trains, compares on held-out seeds, and draws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=30)
    parser.add_argument("--episodes", type=int, default=8, help="of each candidate")
    parser.add_argument("--held-out", type=int, default=40, help="episodes of the comparison")
    parser.add_argument("-o", "--output", type=Path, default=Path("train-marking.png"))
    given = parser.parse_args()
    env = environment()
    weights, curve, of_dctcp = train(env, given.generations, given.episodes)
    fixed_kb = best_fixed(env, 10 * given.episodes)
    seeds = range(HELD_OUT, HELD_OUT + given.held_out)
    of_agent = totals(env, linear(weights), seeds)
    for name, threshold in (("DCTCP", DCTCP_KB), ("the best fixed threshold", fixed_kb)):
        print(compared(f"{name} ({threshold:g} KB)", of_agent / totals(env, fixed(threshold), seeds) - 1))
    named = zip((*packetloom.gym.OBSERVED, "bias"), weights, strict=True)
    print("weights: " + ", ".join(f"{name} {weight:+.2f}" for name, weight in named))
    draw(curve, of_dctcp, given.output)
    print(f"wrote {given.output}")


if __name__ == "__main__":
    main()
