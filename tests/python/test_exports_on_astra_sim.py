"""Exported jobs on ASTRA-sim, which passes over packetloom's own attributes: what it takes of them is what packetloom
takes of them without these.

Its figures are of revision 518bd513 with the analytical network 599a0473 and Chakra f37c2bb, congestion unaware:
FullyConnected, 50 GiB/s, 500 ns, rings, one split, endpoint-delay 1, `local-mem-bw` 1e9. It read the files and the
groups that `export` wrote, unedited.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

import packetloom
from packetloom.exchange import export
from packetloom.validate.peers.jobs.astra_sim import _mesh
from packetloom.validate.peers.jobs.replay import job_on

OWN = b"packetloom_"
# The degrees of tensor, data and pipeline parallelism, microbatches, and when ASTRA-sim's last rank is done, in ns.
JOBS = {
    "tensors-and-data": ((4, 2, 1, 2), 11_403_841),
    "data-and-stages": ((1, 2, 2, 4), 8_297_077),
    "all": ((2, 2, 2, 4), 12_118_437),
}


def number(data: bytes, at: int) -> tuple[int, int]:
    """A base-128 number, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def as_bytes(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Each field's number, and all of it; there are base-128 numbers and texts."""
    at = 0
    while at < len(message):
        begin = at
        tag, at = number(message, at)
        value, at = number(message, at)
        at += value if tag & 7 == 2 else 0
        yield tag >> 3, message[begin:at]


def without_own_attributes(trace: bytes) -> bytes:
    out, at = b"", 0
    while at < len(trace):
        attributes = 10 if at else 2  # of a node, of the file
        size, at = number(trace, at)
        found = fields(trace[at : at + size])
        left = b"".join(field for which, field in found if which != attributes or OWN not in field)
        out, at = out + as_bytes(len(left)) + left, at + size
    return out


def last_done_ns(results: packetloom.Results) -> float:
    iterations = results.to_polars("iterations")
    last = (iterations["start_ns"] + iterations["jct_ns"]).max()
    assert isinstance(last, float)
    return last


@pytest.mark.parametrize("name", JOBS)
def test_an_exported_job_takes_on_astra_sim_what_it_takes_here_without_own_attributes(
    tmp_path: Path, name: str
) -> None:
    (tensor, data, pipeline, microbatches), theirs = JOBS[name]
    training = {
        "kind": "training",
        "tensor": tensor,
        "data": data,
        "pipeline": pipeline,
        "layers": 4,
        "microbatches": microbatches,
        "forward": "200us",
        "activations": "4MB",
        "gradients": "50MB",
    }
    network = _mesh(tensor * data * pipeline, "FullyConnected", tmp_path)
    scenario = job_on(network, training) | {"measure": {"operations": True}}
    first = packetloom.run(scenario, tmp_path / "first", progress=False)
    written = export(first, "chakra", tmp_path / "traces")
    traces = [file for file in written if file.suffix == ".et"]
    arrivals = {"kind": "chakra", "files": str(traces[0]).removesuffix(".0.et")}
    (groups,) = (file for file in written if file.suffix == ".json")
    arrivals["groups"] = str(groups)
    again = packetloom.run(job_on(network, arrivals), tmp_path / "again", progress=False)
    assert last_done_ns(again) == last_done_ns(first)

    for file in traces:
        file.write_bytes(without_own_attributes(file.read_bytes()))
    # ASTRA-sim does not mind what nothing depends on.
    bare = packetloom.run(job_on(network, arrivals | {"repair": "keep"}), tmp_path / "bare", progress=False)
    assert last_done_ns(bare) == pytest.approx(theirs, rel=3e-4)
    assert last_done_ns(bare) > 1.05 * last_done_ns(first), "streams of its own are lost"
