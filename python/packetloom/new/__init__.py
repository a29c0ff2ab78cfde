"""`packetloom new`: a first scenario, from flags or from a few answers."""
