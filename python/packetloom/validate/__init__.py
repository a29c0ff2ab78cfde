"""`packetloom validate`: theory and other simulators, held against what packetloom computes.

`theory` and `peers` are packages of comparisons; `comparison` runs them and says what holds; `docs/validation.md` tells
what comes out and why.
"""
