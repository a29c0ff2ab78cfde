"""What solves each exercise of the course, and a mistake that its checker must notice; by notebook and cell."""

SOLUTIONS = {
    "1-queues": {
        "predicted-wait": "wait_at_95 = 0.95 / 0.05 / 2 * 12",
        "waiting": """
def waiting(load, mean, second_moment):
    return load / mean * second_moment / (2 * (1 - load))
""",
        "backlog": """
def backlog(flows, duration_ns):
    return (flows["fct_ns"] - flows["best_fct_ns"]).sum() / duration_ns
""",
        "load-for-tail": "greatest_load = 0.71",
    },
    "2-congestion-control": {
        "buffer": "enough = 1e9 * 231e-6 / 8",
        "utilisation": """
def utilisation(b):
    # Sums over w: time below one BDP, then w RTTs for each step.
    idle_time = 1 - (1 + b) / 2
    busy_time = ((1 + b) ** 2 - 1) / 2
    sent = (1 - ((1 + b) / 2) ** 2) / 2 + busy_time
    return sent / (idle_time + busy_time)
""",
        "fairness": """
def aimd_round(x, y):
    return (x / 2, y / 2) if x + y > 1 else (x + 0.01, y + 0.01)
""",
        "threshold": """
def marking_threshold(rate_bps, rtt_s):
    return rate_bps * rtt_s / 8 / 7
""",
        "dctcp": """
def next_window(window, alpha, marked):
    alpha = (1 - 1 / 16) * alpha + marked / 16
    return window * (1 - alpha / 2)
""",
    },
    "3-scheduling": {
        "sharing": "slowdown_at_90 = 1 / (1 - 0.9)",
        "fcfs": """
def fcfs(starts, services):
    ends, free = [], 0
    for start, service in zip(starts, services):
        free = max(free, start) + service
        ends.append(free)
    return ends
""",
        "srpt": """
def srpt(jobs):
    # In steps of one unit of time: the numbers are whole.
    left = [takes for _, takes in jobs]
    ends = [0] * len(jobs)
    now = 0
    while any(left):
        here = [job for job in range(len(jobs)) if left[job] and jobs[job][0] <= now]
        now += 1
        if here:
            job = min(here, key=lambda job: left[job])
            left[job] -= 1
            ends[job] = now
    return sum(end - arrival for end, (arrival, _) in zip(ends, jobs)) / len(jobs)
""",
        "losers": """
def losers(shortest, shared):
    both = shortest.join(shared, on=["seed", "flow_id"])
    return (both["fct_ns"] > both["fct_ns_right"]).mean()
""",
        "overload": "jobs = [(10, 9), (1, 10), (1, 10)]",
    },
    "4-incast-and-fabrics": {
        "first-windows": "windows = 150_000 // 15_000",
        "goodput": """
def goodput_with_timeout(senders, size, rate, timeout):
    bits = 8 * senders * size
    return bits / (bits / rate + timeout)
""",
        "idle-share": """
def idle_share(paths, flows):
    return (1 - 1 / paths) ** flows
""",
        "uplink-load": """
def uplink_load(load, leaves, hosts_per_leaf, spines, host_gbps, uplink_gbps):
    others = leaves * hosts_per_leaf - 1
    elsewhere = (leaves - 1) * hosts_per_leaf
    return load * hosts_per_leaf * host_gbps * elsewhere / others / (spines * uplink_gbps)
""",
        "fat-tree": """
def fat_tree(k):
    return k**3 // 4, k * k + (k // 2) ** 2, (k // 2) ** 2
""",
        "all-reduce": "least_ms = 2 * 15 / 16 * 64e6 / 100e9 * 1e3",
    },
    "5-rdma": {
        "innocent": "innocent_gbps = 100 / 4",
        "headroom": """
def headroom(rate_bps, delay_s, packet_bytes):
    return 2 * rate_bps / 8 * delay_s + 3 * packet_bytes + 64
""",
        "dcqcn": "rate_after_three = 12.5",
        "hpcc": """
def utilisation(before, now, sent, seconds, rate_bps, base_rtt_s):
    return min(before, now) * 8 / (rate_bps * base_rtt_s) + sent * 8 / (seconds * rate_bps)
""",
        "go-back-n": """
def packets_sent(loss, window):
    return 1 + loss * window
""",
    },
    "6-lab": {
        "first-to-lose": "hosts = 11",
        "delay": """
def delay(buffer, rate):
    return buffer * 8 / rate
""",
        "threshold": "least_k = 1e9 * 231e-6 / 8 / 7",
        "all-apart": """
def all_apart(flows, paths):
    chance = 1
    for drawn in range(flows):
        chance *= (paths - drawn) / paths
    return chance
""",
    },
}

MISTAKES = {
    "1-queues": {
        "predicted-wait": ["wait_at_95 = 0.95 / 0.05 * 12", "wait_at_95 = 'long'", "wait_at_95 = float('nan')"],
        "waiting": ["def waiting(load, mean, second_moment): return load / (1 - load) * mean / 2"],
        "backlog": ["def backlog(flows, duration_ns): return flows['fct_ns'].sum() / duration_ns"],
        "load-for-tail": ["greatest_load = 0.5", "greatest_load = 0.9", "greatest_load = 80"],
    },
    "2-congestion-control": {
        "buffer": ["enough = 1e9 * 231e-6"],
        "utilisation": ["def utilisation(b): return min(1, 0.75 + b / 4)"],
        "fairness": [
            "def aimd_round(x, y): return (x - 0.05, y - 0.05) if x + y > 1 else (x + 0.01, y + 0.01)",
            "def aimd_round(x, y): return (x / 2, y / 2)",
            "def aimd_round(x, y): return x + y",
        ],
        "threshold": ["def marking_threshold(rate_bps, rtt_s): return rate_bps * rtt_s / 7"],
        "dctcp": ["def next_window(window, alpha, marked): return window * (1 - alpha / 2)"],
    },
    "3-scheduling": {
        "sharing": ["slowdown_at_90 = 0.9 / (1 - 0.9)"],
        "fcfs": [
            "def fcfs(starts, services): return [a + b for a, b in zip(starts, services)]",
            "def fcfs(starts, services): return 3",
        ],
        "srpt": ["def srpt(jobs): return sum(takes for _, takes in jobs) / len(jobs)"],
        "losers": ["def losers(shortest, shared): return (shortest['fct_ns'] > shared['fct_ns']).mean()"],
        "overload": ["jobs = [(1, 10), (2, 10)]", "jobs = []", "jobs = [1, 2]"],
    },
    "4-incast-and-fabrics": {
        "first-windows": ["windows = 100"],
        "goodput": ["def goodput_with_timeout(senders, size, rate, timeout): return senders * size / timeout"],
        "idle-share": ["def idle_share(paths, flows): return 1 / paths"],
        "uplink-load": ["def uplink_load(load, *fabric): return load"],
        "fat-tree": ["def fat_tree(k): return k**3, k * k, k"],
        "all-reduce": ["least_ms = 8e6 * 8 / 100e9 * 1e3"],
    },
    "5-rdma": {
        "innocent": ["innocent_gbps = 100"],
        "headroom": ["def headroom(rate_bps, delay_s, packet_bytes): return 2 * rate_bps * delay_s / 8"],
        "dcqcn": ["rate_after_three = 100 * 0.75**3"],
        "hpcc": [
            "def utilisation(before, now, sent, seconds, rate_bps, base_rtt_s): return sent * 8 / seconds / rate_bps"
        ],
        "go-back-n": ["def packets_sent(loss, window): return 1 + loss"],
    },
    "6-lab": {
        "first-to-lose": ["hosts = 10", "hosts = 100"],
        "delay": ["def delay(buffer, rate): return buffer / rate"],
        "threshold": ["least_k = 1e9 * 231e-6 / 8"],
        "all-apart": ["def all_apart(flows, paths): return 1 / paths ** flows"],
    },
}

CLAIMS = {
    "1-queues": """
waited = busy.to_polars("flows").select(us=(pl.col("fct_ns") - pl.col("best_fct_ns")) / 1e3)["us"]
assert (waited < 0.001).mean() < 0.06 and 70 < waited.median() < 85 and 250 < waited.quantile(0.9) < 290
assert 9 < mean_wait[0.9] / mean_wait[0.5] < 11
assert all(abs(mean_wait[load] / (load / (1 - load) * 6) - 1) < 0.12 for load in loads)
for mean, square, wait in varied.select("mean_us", "second_moment", "wait_us").iter_rows():
    assert abs(waiting(0.7, mean, square) / wait - 1) < 0.15
assert longest > 5 * shortest
assert (little["at_the_port"] / little["from_the_flows"] - 1).abs().max() < 0.001
assert (tail["p99"] / tail["mean"]).min() > 4
""",
    "2-congestion-control": """
assert large["queue_bytes"].max() == 60_000
assert 14_000 < large.filter(pl.col("time_ns").is_between(25e6, 150e6))["queue_bytes"].min() < 20_000
assert share_of[30_000] > 0.999
assert all(abs(share_of[size] - utilisation(size / bdp)) < 0.03 for size in share_of if size <= bdp)
assert 43_000 < one.to_polars("flow_series").filter(pl.col("time_ns") > 25e6)["window_bytes"].min() < 46_000
assert all(0.45 < rate < 0.55 for rate in rates)
assert full <= 1e9 * 1e-3 / 8 / 7 and by_threshold["tx_bytes"].min() < 0.99
assert by_threshold["queue_bytes"].is_sorted()
assert slowdown["TCP"] > 2.5 * slowdown["DCTCP"]
""",
    "3-scheduling": """
large_ones = orders.to_polars("flows").filter(pl.col("size_bytes") > 1e7)
large_ones = dict(large_ones.group_by("scheme").agg(pl.col("slowdown").mean()).iter_rows())
assert large_ones["SRPT"] < large_ones["PS"]
groups = by_size(flows)
assert groups.filter(scheme="FCFS")["slowdown"].max() > 1000
assert groups.filter(scheme="PS")["slowdown"].is_between(4, 6.5).all()
assert means["SRPT"] < 1.3
assert slower < 0.02 and large["slowdown"].mean() < large["slowdown_shared"].mean()
assert mean["Ideal"] < mean["pFabric"] < mean["PIAS"] < mean["DCTCP"]
assert mean["Ideal"] < mean["Homa"] < mean["PIAS"]
assert all(share["EDF", load] > share["SRPT", load] for load in (0.4, 0.6, 0.8, 0.95))
""",
    "4-incast-and-fabrics": """
took_ms = dict(first.to_polars("flows").group_by(fan_in).agg(pl.col("fct_ns").mean() / 1e6).iter_rows())
assert 0.18 < took_ms[4] < 0.22 and took_ms[8] > 200 * took_ms[4]
assert gbps["TCP, at least 200ms", 4] > 9 and gbps["TCP, at least 200ms", 8] < 0.1
for name, seconds in (("200ms", 0.2), ("10ms", 0.01)):
    for n in (8, 16, 40):
        assert abs(gbps[f"TCP, at least {name}", n] * 1e9 / goodput_with_timeout(n, 60e3, 10e9, seconds) - 1) < 0.15
assert gbps["DCTCP, at least 200ms", 8] > 9 and gbps["DCTCP, at least 200ms", 24] < 0.1
assert all(gbps["NDP", n] > 8 for n in (1, 8, 40))
assert abs(idle - idle_share(8, crossing)) < 0.06
assert uplinks.filter(pl.col("scheme") != names[0])["tx_bytes"].min() > 3e6
for load, busy in table.select("load", "utilisation").iter_rows():
    assert abs(busy / uplink_load(load, 4, 8, 4, 10, 10) - 1) < 0.05
took = {(window, algorithm): ms for window, algorithm, ms in jobs.select(*axes[1:], "ms").iter_rows()}
assert took[400, "ring"] < took[None, "ring"] < 1.5
assert took[10, "ring"] > 2.5 and took[400, "halving-doubling"] > 2.5
assert jobs["ms"].min() > least_ms
""",
    "5-rdma": """
alone = dict(five.to_polars("flows").select("flow_id", "goodput_gbps").iter_rows())
assert 20 < alone[1] < alone[0] < 30
assert rate["PFC alone"] < 30 and rate["DCQCN"] > 90 and rate["HPCC"] > 80
assert set(paused["scheme"]) == {"PFC alone", "TIMELY", "HPCC", "DCQCN"}
assert table.sort("all done (ms)")["scheme"][0] == "PFC alone"
assert set(table.filter(pl.col("pauses") == 0)["scheme"]) == {"DCQCN", "HPCC"}
assert table.sort("longest queue (KB)")["scheme"][0] == "HPCC"
for name, chance, sent in cost.select("scheme", loss, "sent").iter_rows():
    assert abs(sent - (packets_sent(chance, 101) if name == "go-back-N" else 1)) < 0.05
assert at_worst["go-back-N"] < at_worst["IRN"] < 60
""",
    "6-lab": """
took = {(scheme, hosts, size // 1000): ms for _, scheme, hosts, size, ms in done.iter_rows()}
assert took["TCP", 2, 150] < 1 < 9 < took["TCP", 12, 150] and took["DCTCP", 24, 150] > 9
first = {
    scheme: [min((n for n in senders if took[scheme, n, size] > 9), default=99) for size in (50, 150, 500)]
    for scheme in ("TCP", "DCTCP")
}
assert all(one == sorted(set(one)) for one in first.values()), first
assert first["DCTCP"][0] == first["TCP"][0] and all(a > b for a, b in zip(first["DCTCP"][1:], first["TCP"][1:]))


def share(pictures, at):
    return float(pictures[at].said.split(": ")[1].split("%")[0]) / 100


assert share(buffered, (18, 1)) < 0.999 <= share(buffered, (30, 1))
assert all(share(buffered, (size, 4)) >= share(buffered, (size, 1)) - 0.01 for size in sizes)
assert share(marked, (1.5, 4)) < 0.98 and share(marked, (6, 4)) >= 0.999 and share(marked, (1.5, 1)) > 0.999
by_draw = {(name, seed): value for name, seed, value, _ in slowest.iter_rows()}
ecmp, flowlets, sprayed = routings
assert max(by_draw[ecmp, draw] for draw in draws) < min(by_draw[sprayed, draw] for draw in draws)
assert all(by_draw[flowlets, draw] < by_draw[sprayed, draw] for draw in draws)
assert least_k < 4500 and share(marked, (4.5, 4)) > 0.99
""",
}
"""What the notebooks' sentences say, in their own variables, after all cells have run with the solutions."""
