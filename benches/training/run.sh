#!/bin/sh
# Runs what a profile-guided build is trained on. `packetloom` is the instrumented build.
set -eu
cd "$(dirname "$0")"
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
for scenario in controllers permutation web-search; do
    packetloom run $scenario.toml --workers 1 --no-cache -o "$results/$scenario"
done
packetloom run two-threads.toml --workers 2 --no-cache -o "$results/two-threads"
