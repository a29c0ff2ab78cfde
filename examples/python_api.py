"""The same power from Python: an experiment from objects, its results as tables, a figure of one's own.

.venv/bin/python examples/python_api.py
"""

import packetloom
import polars as pl

scenario = packetloom.Scenario(
    topology={"kind": "leaf-spine", "spines": 4, "leaves": 4, "hosts_per_leaf": 4},
    workload=[{"sizes": {"kind": "exponential", "mean": "100KB"}}],
    schemes=[
        packetloom.Scheme(
            name="DCTCP",
            transport={"kind": "dctcp", "min_rto": "200us", "fast_retransmit": False},
            queue={"kind": "ecn", "capacity": "225KB", "mark_above": "22.5KB"},
            routing="spray-round-robin",
        ),
        packetloom.Scheme(name="MinTCP+pFabric", transport="min-tcp", queue="pfabric", routing="spray-round-robin"),
        packetloom.Scheme(name="Ideal", transport="ideal"),
    ],
    run={"loads": [0.2, 0.4, 0.6], "seeds": 3, "flows": 5000, "warm_up": "5ms"},
)

if __name__ == "__main__":
    results = packetloom.run(scenario)

    # Statistics with their 95 % confidence intervals over seeds, a row each.
    statistics = packetloom.summary(results)
    tail = (pl.col("metric") == "slowdown") & (pl.col("statistic") == "p99") & (pl.col("bin") == "all")
    print(statistics.filter(tail).select("label", "load", "value", "low", "high"))

    # Every flow, as an Arrow table or a polars or pandas frame.
    flows = results.to_polars("flows")
    print(flows.group_by("scheme", "load", maintain_order=True).agg(pl.col("slowdown").median()))

    # Figures are matplotlib axes: change them as you like.
    axes = packetloom.plot("slowdown-by-load", results, statistic="p99")
    axes.set_title("exponential sizes, mean 100 KB")
    axes.figure.savefig("slowdown.png")
    print("wrote slowdown.png")
