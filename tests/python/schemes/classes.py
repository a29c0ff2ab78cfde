"""packetloom's own window-based congestion controls, written as a user would: they must give the same bits."""

from packetloom.schemes import Ack, CongestionControl, Data, Flow, Labels, Loss, Window, cbrt, flag, number, size

ONE = 1 << 20
PICOSECONDS = 1e12


class NewReno(CongestionControl):
    """TCP NewReno."""

    def acknowledged(self, ack: Ack, window: Window) -> None:
        if ack.advanced:
            window.grow()

    def lost(self, loss: Loss, window: Window) -> None:
        window.halve_ssthresh(loss.in_flight, 2)
        window.cwnd = window.ssthresh

    def timed_out(self, loss: Loss, window: Window) -> None:
        if not loss.again:
            window.halve_ssthresh(loss.in_flight, 2)
        window.restart()


class Default(CongestionControl):
    """What happens where nothing is defined."""


class Dctcp(CongestionControl):
    """DCTCP (RFC 8257)."""

    ecn = True
    g = number(0.0625, least=0.000001, most=1.0, doc="The weight of a new share of marks.", source="RFC 8257 §4.2")

    alpha: int = ONE
    acked: int = 0
    marked: int = 0
    observed_until: int = 0
    reduced_until: int = 0

    def resumed(self, flow: Flow, window: Window) -> None:
        self.acked = 0
        self.marked = 0
        self.observed_until = 0
        self.reduced_until = 0

    def acknowledged(self, ack: Ack, window: Window) -> None:
        self.count(ack)
        if not ack.marked:
            if ack.advanced:
                window.grow()
        elif ack.una > self.reduced_until:
            window.shrink((self.alpha // 2) / ONE)
            self.reduced_until = ack.next

    def acknowledged_in_recovery(self, ack: Ack, window: Window) -> None:
        self.count(ack)

    def count(self, ack: Ack) -> None:
        self.acked += ack.packets
        self.marked += ack.packets if ack.marked else 0
        if ack.una > self.observed_until:
            g = int(self.g * ONE)
            share = ONE * self.marked // max(self.acked, 1)
            self.alpha = self.alpha - self.alpha * g // ONE + share * g // ONE
            self.acked, self.marked = 0, 0
            self.observed_until = ack.next


class Cubic(CongestionControl):
    """CUBIC (RFC 9438)."""

    c = number(0.4, least=0.001, doc="How steep the cubic function is, in packets per cubic second.")
    beta = number(0.7, least=0.1, most=0.9, doc="What is left of the window after a loss.")
    fast_convergence = flag(True, doc="Give way where the window is reduced below where it was.")

    w_max: float = 0.0
    cwnd_prior: float = 0.0
    in_stage: bool = False
    since_ps: int = 0
    plateau: float = 0.0
    k: float = 0.0
    w_est: float = 0.0

    def acknowledged(self, ack: Ack, window: Window) -> None:
        if not ack.advanced:
            return
        if window.in_slow_start:
            window.grow()
        else:
            window.cwnd = max(window.cwnd, self.avoid_congestion(ack, window.cwnd))

    def avoid_congestion(self, ack: Ack, cwnd: float) -> float:
        if not self.in_stage:
            self.plateau = max(self.w_max, cwnd)
            self.k = cbrt((self.plateau - cwnd) / self.c)
            self.since_ps = ack.now_ps
            self.w_est = cwnd
            self.in_stage = True
        alpha = 3.0 * (1.0 - self.beta) / (1.0 + self.beta) if self.w_est < self.cwnd_prior else 1.0
        self.w_est += alpha * ack.packets / cwnd
        elapsed = ack.now_ps - self.since_ps
        if self.cubic(elapsed) < self.w_est:
            return self.w_est
        target = min(max(self.cubic(elapsed + ack.rtt_ps), cwnd), 1.5 * cwnd)
        return cwnd + (target - cwnd) / cwnd

    def cubic(self, elapsed_ps: int) -> float:
        away = elapsed_ps / PICOSECONDS - self.k
        return float(self.c * away * away * away + self.plateau)

    def lost(self, loss: Loss, window: Window) -> None:
        cwnd = window.cwnd
        gives_way = self.fast_convergence and cwnd < self.w_max
        self.w_max = cwnd * (1.0 + self.beta) / 2.0 if gives_way else cwnd
        self.reduce(loss, window)
        window.cwnd = window.ssthresh

    def timed_out(self, loss: Loss, window: Window) -> None:
        if not loss.again:
            self.reduce(loss, window)
        self.w_max = 0.0
        window.restart()

    def reduce(self, loss: Loss, window: Window) -> None:
        self.cwnd_prior = window.cwnd
        self.in_stage = False
        left = int(loss.in_flight * self.beta * ONE + 0.5)
        window.ssthresh = max(left / ONE, 2.0)


class Stops(CongestionControl):
    """Keeps its window at one packet from the end of its first recovery on."""

    is_over: bool = False

    def acknowledged(self, ack: Ack, window: Window) -> None:
        if self.is_over:
            window.cwnd = 1.0
        elif ack.advanced:
            window.grow()

    def recovered(self, window: Window) -> None:
        self.is_over = True
        window.cwnd = 1.0


class Young(CongestionControl):
    """TCP whose packets are of a lower class once their flow has sent much."""

    classes = 2
    old = size("100KB", doc="From when on a flow is old.")

    def label(self, data: Data, labels: Labels) -> None:
        labels.traffic_class = 1 if data.sent_bytes > self.old else 0


class Vegas(CongestionControl):
    """TCP Vegas, Linux's."""

    alpha = number(2.0, least=0.0, doc="Fewer packets in the queue let the window grow.")
    beta = number(4.0, least=0.0, doc="More packets in the queue shrink it.")
    gamma = number(1.0, least=0.0, doc="More packets in the queue end slow start.")

    base: int = 0
    round_rtt: int = 0
    samples: int = 0
    round_end: int = 0
    # 0: Vegas decides; 1: a loss is being repaired; 2: it has been; 3: after a timeout; 4: until all is sent again.
    phase: int = 0
    until: int = 0

    def acknowledged(self, ack: Ack, window: Window) -> None:
        self.measure(ack)
        if self.phase == 3:
            self.phase, self.until = 4, ack.next
        elif self.phase == 2 or (self.phase == 4 and ack.una >= self.until):
            self.phase = 0
            self.begin_round(ack.next)
        if not ack.advanced:
            return
        if self.phase != 0:
            window.grow()
        elif ack.una > self.round_end:
            if self.samples <= 2:
                window.grow()
            else:
                self.adjust(window)
            self.begin_round(ack.next)
        elif window.in_slow_start:
            window.grow()

    def acknowledged_in_recovery(self, ack: Ack, window: Window) -> None:
        self.measure(ack)

    def lost(self, loss: Loss, window: Window) -> None:
        self.phase = 1
        window.halve_ssthresh(loss.in_flight, 2)
        window.cwnd = window.ssthresh

    def recovered(self, window: Window) -> None:
        self.phase = 2

    def timed_out(self, loss: Loss, window: Window) -> None:
        self.phase = 3
        if not loss.again:
            window.halve_ssthresh(loss.in_flight, 2)
        window.restart()

    def measure(self, ack: Ack) -> None:
        rtt = ack.rtt_sample_ps
        if rtt > 0:
            self.base = rtt if self.base == 0 else min(self.base, rtt)
            self.round_rtt = rtt if self.round_rtt == 0 else min(self.round_rtt, rtt)
            self.samples += 1

    def begin_round(self, next_packet: int) -> None:
        self.round_end = next_packet
        self.round_rtt = 0
        self.samples = 0

    def adjust(self, window: Window) -> None:
        packets = int(window.cwnd)
        queued = packets * (self.round_rtt - self.base) // self.base
        if window.in_slow_start:
            if queued > self.gamma:
                window.cwnd = max(min(window.cwnd, 1.0 * (packets * self.base // self.round_rtt + 1)), 2.0)
                window.ssthresh = max(window.cwnd, 2.0)
            else:
                window.grow()
        elif queued > self.beta:
            window.cwnd = max(window.cwnd - 1.0, 2.0)
            window.ssthresh = max(window.cwnd, 2.0)
        elif queued < self.alpha:
            window.cwnd += 1.0


class Steady(CongestionControl):
    """Paces at a rate, whatever happens."""

    pace_bps = number(1e9, least=1e6, doc="The rate, in bits of payload per second.")

    least_limit: int = 9

    def start(self, flow: Flow, window: Window) -> None:
        window.cwnd = 1000.0
        window.pacing_rate_bps = self.pace_bps

    def acknowledged(self, ack: Ack, window: Window) -> None:
        self.least_limit = ack.limited_by
