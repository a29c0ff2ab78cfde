"""Rate controls that packetloom has built in, written in Python: they give the same bits."""

from packetloom.schemes import (
    Answer,
    Clock,
    Pace,
    RateControl,
    Route,
    Sent,
    TelemetryControl,
    number,
    rate,
    size,
    time,
)

HYPER_AFTER = 5
FAST_RECOVERY = 5
HOPS = 5


class LineRate(RateControl):
    """RoCE without congestion control."""


class Timely(RateControl):
    """TIMELY with every acknowledgement (eRPC's form)."""

    ewma = number(0.02, least=0.0, most=1.0, doc="The weight of a new difference.")
    beta = number(0.8, least=0.0, most=1.0, doc="How strongly the rate is cut.")
    t_low = time("50us", doc="Below this round-trip time the rate rises.")
    t_high = time("1ms", doc="Above this one it falls.")
    step = rate("40Mbps", doc="A step of increase.")
    hyper = rate("200Mbps", doc="A step after five in a row.")
    min_rate = rate("40Mbps", doc="The least rate.")

    last_rtt: int = 0
    difference: float = 0.0
    in_a_row: int = 0
    set_at: int = 0

    def answered(self, answer: Answer, pace: Pace) -> None:
        rtt = answer.rtt_ps
        if self.last_rtt == 0:
            self.last_rtt = rtt
        self.in_a_row = self.in_a_row + 1 if rtt < self.last_rtt else 0
        self.difference = (1.0 - self.ewma) * self.difference + self.ewma * (float(rtt) - float(self.last_rtt))
        gradient = self.difference / pace.base_rtt_ps
        part = min((answer.now_ps - self.set_at) / pace.base_rtt_ps, 1.0)
        beta = self.beta * part
        before = pace.rate_bps
        if rtt < self.t_low:
            new = before + self.step * part
        elif rtt > self.t_high:
            new = before * (1.0 - beta * (1.0 - self.t_high / rtt))
        elif gradient <= 0.0:
            new = before + (self.hyper if self.in_a_row >= HYPER_AFTER else self.step) * part
        else:
            new = before * (1.0 - beta * gradient)
        self.last_rtt = rtt
        self.set_at = answer.now_ps
        least = float(self.min_rate)
        pace.rate_bps = min(max(float(int(max(new, before * 0.5))), least), pace.line_rate_bps)


class Hpcc(TelemetryControl):
    """HPCC's algorithm 1 (SIGCOMM 2019)."""

    moves_pending = True
    eta = number(0.95, least=0.01, most=1.0, doc="How much of each link is to be in use.")
    min_rate = rate("1Gbps", doc="The least rate.")

    last_link: list[int] = [0] * HOPS
    last_at: list[int] = [0] * HOPS
    last_sent: list[int] = [0] * HOPS
    last_queue: list[int] = [0] * HOPS
    last_count: int = 0
    in_use: float = 1.0
    stage: int = 0
    window: float = 0.0
    reference: float = 0.0
    round_ends: int = 0
    bdp: int = 0

    def start(self, route: Route, pace: Pace) -> None:
        self.bdp = route.bdp_bytes
        self.window = self.window_at(pace.rate_bps, pace)
        self.reference = self.window
        pace.window_bytes = max(int(self.window), 1)

    def window_at(self, rate_bps: float, pace: Pace) -> float:
        return rate_bps * (pace.base_rtt_ps / 8e12)

    def answered(self, answer: Answer, pace: Pace) -> None:
        is_round = answer.acked_bytes > self.round_ends
        if self.round_ends == 0:
            self.round_ends = answer.sent_bytes
            self.keep(pace)
            return
        fullest = -1.0
        over = 0.0
        for hop in range(min(self.last_count, pace.hop_count)):
            tau = pace.hop_time_ps(hop) - self.last_at[hop]
            if pace.hop_link(hop) == self.last_link[hop] and tau > 0:
                capacity = float(pace.hop_rate_bps(hop))
                sent = float((pace.hop_sent_bytes(hop) - self.last_sent[hop]) * 8)
                queue = float(min(pace.hop_queue_bytes(hop), self.last_queue[hop]))
                use = sent / (tau / 1e12) / capacity + queue * pace.line_rate_bps / capacity / self.bdp
                if use > fullest:
                    fullest = use
                    over = float(tau)
        if fullest >= 0.0:
            self.react(fullest, over, is_round, pace)
        self.keep(pace)
        if is_round:
            self.round_ends = max(self.round_ends, answer.sent_bytes)

    def react(self, fullest: float, over: float, is_round: bool, pace: Pace) -> None:
        base = float(pace.base_rtt_ps)
        tau = min(over, base)
        self.in_use = (self.in_use * (base - tau) + fullest * tau) / base
        excess = self.in_use / self.eta
        divisor = 1.0
        stage = self.stage + 1
        if excess >= 1.0 or self.stage >= 5:
            divisor = excess
            stage = 0
        least = self.window_at(float(min(self.min_rate, int(pace.line_rate_bps))), pace)
        most = self.window_at(pace.line_rate_bps, pace)
        self.window = min(max(self.reference / divisor + 80.0, least), most)
        pace.window_bytes = max(int(self.window), 1)
        pace.rate_bps = min(float(max(int(self.window * 8e12 / base), 1)), pace.line_rate_bps)
        if is_round:
            self.stage = stage
            self.reference = self.window

    def keep(self, pace: Pace) -> None:
        self.last_count = pace.hop_count
        for hop in range(min(pace.hop_count, HOPS)):
            self.last_link[hop] = pace.hop_link(hop)
            self.last_at[hop] = pace.hop_time_ps(hop)
            self.last_sent[hop] = pace.hop_sent_bytes(hop)
            self.last_queue[hop] = pace.hop_queue_bytes(hop)


class Dcqcn(RateControl):
    """DCQCN as its paper has it (SIGCOMM 2015)."""

    ecn = True
    gain = number(0.00390625, least=0.0, most=1.0, doc="The weight of a step of alpha.")
    interval = time("55us", doc="The time between steps of alpha, and between steps of increase.")
    counter = size("10MB", doc="The bytes between steps of increase.")
    additive = rate("40Mbps", doc="A step of additive increase.")
    hyper = rate("400Mbps", doc="A step of hyper increase.")
    min_rate = rate("40Mbps", doc="The least rate.")

    target: float = 0.0
    alpha: float = 1.0
    by_time: int = 0
    by_bytes: int = 0
    sent_bytes: int = 0
    is_limited: bool = False
    alpha_at: int = 0
    increase_at: int = 0

    def start(self, route: Route, pace: Pace) -> None:
        self.target = pace.rate_bps

    def answered(self, answer: Answer, pace: Pace) -> None:
        if not answer.marked:
            return
        self.target = pace.rate_bps
        cut = float(int(pace.rate_bps * (1.0 - self.alpha / 2.0)))
        pace.rate_bps = min(max(cut, float(self.min_rate)), pace.line_rate_bps)
        self.alpha = (1.0 - self.gain) * self.alpha + self.gain
        self.by_time = 0
        self.by_bytes = 0
        self.sent_bytes = 0
        self.is_limited = True
        self.alpha_at = answer.now_ps + self.interval
        self.increase_at = self.alpha_at

    def passed(self, clock: Clock, pace: Pace) -> None:
        while self.is_limited and self.alpha_at <= clock.now_ps:
            self.alpha *= 1.0 - self.gain
            self.alpha_at += self.interval
        while self.is_limited and self.increase_at <= clock.now_ps:
            self.increase(pace)
            self.by_time += 1
            self.increase_at += self.interval

    def sent(self, sent: Sent, pace: Pace) -> None:
        if self.is_limited:
            self.sent_bytes += sent.size_bytes
            while self.sent_bytes >= self.counter:
                self.sent_bytes -= self.counter
                self.increase(pace)
                self.by_bytes += 1

    def increase(self, pace: Pace) -> None:
        least = min(self.by_time, self.by_bytes)
        step = 0
        if least > FAST_RECOVERY:
            step = self.hyper * (least - FAST_RECOVERY + 1)
        elif max(self.by_time, self.by_bytes) >= FAST_RECOVERY:
            step = self.additive
        self.target = min(self.target + step, pace.line_rate_bps)
        pace.rate_bps = float(max(int(pace.rate_bps) // 2 + int(self.target) // 2, 1))
