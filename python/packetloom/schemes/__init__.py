"""Schemes of your own: a congestion control, a rate control, a queue's rule or a choice of paths is a Python class in a
file beside the scenario.

    from packetloom.schemes import CongestionControl, Loss, Window, number

    class Gentle(CongestionControl):
        \"\"\"TCP that keeps more than half of its window at a loss.\"\"\"

        keep = number(0.7, least=0.5, most=1.0, doc="What is left of the window after a loss.")

        def lost(self, loss: Loss, window: Window) -> None:
            window.shrink(1.0 - self.keep)

A scenario names it: `transport = { kind = "python", file = "gentle.py", class = "Gentle", keep = 0.8 }`. numba compiles
the class when the scenario is read. docs/your-own-scheme.md is the guide.

`declaration` has what a class is made of, `roles` what methods share with the simulator, `translate` turns methods into
functions that numba knows, `compiler` compiles these, `loader` finds the file and says what is wrong with it. What a
file may not hold is in `source` and `statements`.
"""

from packetloom.schemes.declaration import (
    Ack,
    Answer,
    Arrival,
    Clock,
    CongestionControl,
    Data,
    Departure,
    Drop,
    Fate,
    Flow,
    Labels,
    Loss,
    Outgoing,
    Pace,
    PathChoice,
    Paths,
    Queue,
    QueueRule,
    RateControl,
    Route,
    Sent,
    TelemetryControl,
    Window,
    cbrt,
    count,
    flag,
    number,
    rate,
    size,
    time,
)

__all__ = [
    "Ack",
    "Answer",
    "Arrival",
    "Clock",
    "CongestionControl",
    "Data",
    "Departure",
    "Drop",
    "Fate",
    "Flow",
    "Labels",
    "Loss",
    "Outgoing",
    "Pace",
    "PathChoice",
    "Paths",
    "Queue",
    "QueueRule",
    "RateControl",
    "Route",
    "Sent",
    "TelemetryControl",
    "Window",
    "cbrt",
    "count",
    "flag",
    "number",
    "rate",
    "size",
    "time",
]
