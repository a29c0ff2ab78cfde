#!/bin/sh
# Builds SimAI with packetloom: build/bin/SimAI_Packetloom beside this file. Arguments go to CMake.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
cmake -S "$here" -B "$here/build" "$@"
cmake --build "$here/build" --parallel "${JOBS:-$(nproc)}"
