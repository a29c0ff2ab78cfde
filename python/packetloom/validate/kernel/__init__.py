"""`packetloom validate kernel`: Linux's own TCP through a slow link, and the same flows simulated.

`network` builds the link, `measure` and `endpoint` send flows through it, here or in a virtual machine (`guest` runs in
it, `virtual_machine` boots it); `comparisons` simulates the same `cases`. What runs there needs no more than Python.
"""
