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
