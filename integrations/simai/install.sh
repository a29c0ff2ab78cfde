#!/bin/sh
# Puts packetloom's front end into a checkout of SimAI: install.sh CHECKOUT
# Then CHECKOUT/astra-sim-alibabacloud/build/simai_packetloom/build.sh builds it. `make library` comes first.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
library=${PACKETLOOM_LIBRARY:-$here/../../target/library}

[ $# -eq 1 ] || { echo "usage: $0 CHECKOUT" >&2; exit 2; }
astra_sim="$1/astra-sim-alibabacloud"
[ -f "$astra_sim/astra-sim/system/AstraNetworkAPI.hh" ] || { echo "$1 is no checkout of SimAI" >&2; exit 2; }
[ -f "$library/lib/libpacketloom.so" ] || { echo "$library has no library: run \`make library\`" >&2; exit 2; }

front_end="$astra_sim/astra-sim/network_frontend/packetloom"
build="$astra_sim/build/simai_packetloom"
back_end="$astra_sim/extern/network_backend/packetloom"
mkdir -p "$front_end" "$build" "$back_end"
cp -p "$here"/*.cc "$here"/*.hh "$here"/../common/* "$front_end/"
cp -Rp "$here/ns3" "$front_end/"
cp -p "$here/CMakeLists.txt" "$here/build.sh" "$build/"
cp -Rp "$library/include" "$library/lib" "$back_end/"
echo "$build/build.sh"
