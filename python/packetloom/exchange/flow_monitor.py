"""A CSV file with ns-3's FlowMonitor's names, of what it has that is known here of flows as a whole."""

from __future__ import annotations

import polars as pl

SERVER_PORT = 5001
FIRST_CLIENT_PORT = 10_000
CLIENT_PORTS = 50_000
SERVER_PORTS = 4_999


def flow_monitor_text(flows: pl.DataFrame) -> str:
    """A row per flow. Times are in ns; those of flows that did not complete are empty."""
    end_ns = pl.col("start_ns") + pl.col("fct_ns")
    number = pl.col("flow_id")
    return flows.select(
        flowId=number + 1,
        sourceAddress=_address("src"),
        destinationAddress=_address("dst"),
        # As in captures: together the two ports identify a flow.
        sourcePort=FIRST_CLIENT_PORT + number % CLIENT_PORTS,
        destinationPort=SERVER_PORT + number // CLIENT_PORTS % SERVER_PORTS,
        timeFirstTxPacket=pl.col("start_ns"),
        timeLastRxPacket=end_ns.fill_nan(None),
        txPackets=pl.col("packets_sent"),
        rxBytes=pl.when(pl.col("fct_ns").is_not_nan()).then(pl.col("size_bytes")),
        retransmittedPackets=pl.col("retransmissions"),
    ).write_csv()


def _address(column: str) -> pl.Expr:
    """10.0.0.1 and on, as in captures."""
    host = pl.col(column).cast(pl.Int64) + 1
    parts = [pl.lit("10"), *(host // 256**power % 256 for power in (2, 1, 0))]
    return pl.concat_str(parts, separator=".")
