"""`packetloom fabric-bench`: the IETF drafts' tests of AI fabrics, as scenarios that ship with packetloom.

`catalogue` says which tests there are, and of which scenarios each is made; `running` runs them as campaigns; `cases`
and `measures` read what came out, `tables` lays it out as the drafts do, `comparability` says what a number holds for.
"""
