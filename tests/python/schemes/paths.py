"""Choices of paths that packetloom has built in, written in Python: they give the same bits."""

from packetloom.schemes import Fate, Outgoing, PathChoice, Paths, count, number, time


class Oblivious(PathChoice):
    """All numbers in turn, in an order that is scrambled anew for each round."""

    index: int = 0
    scramble: int = 0

    def choose(self, outgoing: Outgoing, paths: Paths) -> int:
        if outgoing.number == 0:
            self.scramble = paths.bits() & (paths.count - 1)
        chosen = self.index ^ self.scramble
        self.index = (self.index + 1) % paths.count
        if self.index == 0:
            self.scramble = paths.bits() & (paths.count - 1)
        return chosen


class Plb(PathChoice):
    """PLB (SIGCOMM 2022)."""

    keeps = True
    marked_above = number(0.5, least=0.0, most=1.0, doc="A round trip with more marks is congested.")
    rounds = count(3, least=1, doc="So many in a row move the flow.")
    suspend = time("60s", doc="How long no congestion moves it after a timeout.")

    path: int = 0
    answers: int = 0
    bad: int = 0
    congested: int = 0
    round_began: int = 0
    suspended_until: int = 0

    def choose(self, outgoing: Outgoing, paths: Paths) -> int:
        if outgoing.number == 0:
            self.path = paths.bits() & (paths.count - 1)
        return self.path

    def move(self, paths: Paths) -> None:
        self.congested = 0
        if paths.count > 1:
            self.path = (self.path + 1 + paths.random(paths.count - 1)) & (paths.count - 1)

    def judged(self, fate: Fate, paths: Paths) -> None:
        if fate.lost:
            if fate.path == self.path:
                self.suspended_until = fate.now_ps + self.suspend
                self.move(paths)
            return
        self.answers += 1
        if fate.marked or fate.trimmed:
            self.bad += 1
        if fate.sent_ps >= self.round_began:
            self.congested = self.congested + 1 if self.bad > self.marked_above * self.answers else 0
            self.answers = 0
            self.bad = 0
            self.round_began = fate.now_ps
            if self.congested >= self.rounds and fate.now_ps >= self.suspended_until:
                self.move(paths)


class Fixed(PathChoice):
    """Always the same number."""

    number = count(5, doc="Which.")

    def choose(self, outgoing: Outgoing, paths: Paths) -> int:
        return int(self.number)
