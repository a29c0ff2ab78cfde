"""`packetloom doctor`: a congestion control of one's own in a fixed set of situations, beside DCTCP and TCP.

`situations` has the networks, traffic and faults; `readings` takes numbers from what came of them; `questions` asks
what is asked of each, with thresholds; `examination` runs it all, `page` draws it, and `command` is the command.
"""

from packetloom.doctor.examination import Answer, Examination, examine

__all__ = ["Answer", "Examination", "examine"]
