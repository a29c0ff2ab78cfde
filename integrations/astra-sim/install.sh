#!/bin/sh
# Puts packetloom's front end into a checkout of ASTRA-sim: install.sh CHECKOUT
# Then CHECKOUT/build/astra_packetloom/build.sh builds it. `make library` comes first.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
library=${PACKETLOOM_LIBRARY:-$here/../../target/library}

[ $# -eq 1 ] || { echo "usage: $0 CHECKOUT" >&2; exit 2; }
[ -f "$1/astra-sim/common/AstraNetworkAPI.hh" ] || { echo "$1 is no checkout of ASTRA-sim" >&2; exit 2; }
[ -f "$library/lib/libpacketloom.so" ] || { echo "$library has no library: run \`make library\`" >&2; exit 2; }

front_end="$1/astra-sim/network_frontend/packetloom"
build="$1/build/astra_packetloom"
back_end="$1/extern/network_backend/packetloom"
mkdir -p "$front_end" "$build" "$back_end"
cp -p "$here"/*.cc "$here"/*.hh "$here/CMakeLists.txt" "$here"/../common/* "$front_end/"
cp -p "$here"/build/* "$build/"
cp -Rp "$library/include" "$library/lib" "$back_end/"
echo "$build/build.sh"
