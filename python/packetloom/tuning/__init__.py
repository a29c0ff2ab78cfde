"""`packetloom tune`: which values of a few keys serve best, what of them mattered, and whether that holds elsewhere."""
