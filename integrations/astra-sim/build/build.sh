#!/bin/sh
# Builds ASTRA-sim with packetloom: build/bin/AstraSim_Packetloom beside this file. Arguments go to CMake.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
schema="$here/../../extern/graph_frontend/chakra/schema/protobuf"

[ -f "$schema/et_def.pb.cc" ] || protoc --proto_path="$schema" --cpp_out="$schema" et_def.proto
cmake -S "$here" -B "$here/build" "$@"
cmake --build "$here/build" --target AstraSim_Packetloom --parallel "${JOBS:-$(nproc)}"
