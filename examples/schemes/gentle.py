"""Rates of RDMA in Python: docs/your-own-scheme.md."""

from packetloom.schemes import Answer, Drop, Pace, RateControl, number, time


class Gentle(RateControl):
    """Rises by steps while round trips are short, else falls."""

    target = time("30us", doc="The round-trip time that it aims at.")
    step = number(0.005, least=0.0, most=1.0, doc="A step, as a share of the link.")
    cut = number(0.8, least=0.01, most=1.0, doc="What is left of the rate when round trips are longer.")

    cut_at: int = 0

    def answered(self, answer: Answer, pace: Pace) -> None:
        if answer.rtt_ps < self.target:
            pace.rate_bps = min(pace.rate_bps + self.step * pace.line_rate_bps, pace.line_rate_bps)
        elif answer.now_ps > self.cut_at + answer.rtt_ps:
            self.fall(pace)
            self.cut_at = answer.now_ps

    def lost(self, drop: Drop, pace: Pace) -> None:
        self.fall(pace)

    def fall(self, pace: Pace) -> None:
        pace.rate_bps = max(self.cut * pace.rate_bps, 0.001 * pace.line_rate_bps)
