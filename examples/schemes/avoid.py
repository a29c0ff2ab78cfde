"""Choice of paths in Python: docs/your-own-scheme.md."""

from packetloom.schemes import Fate, Outgoing, PathChoice, Paths


class Avoid(PathChoice):
    """Leaves a path on which a packet was marked, trimmed or lost."""

    path: int = 0

    def choose(self, outgoing: Outgoing, paths: Paths) -> int:
        if outgoing.number == 0:
            self.path = paths.random(paths.count)
        return self.path

    def judged(self, fate: Fate, paths: Paths) -> None:
        if fate.path == self.path and (fate.marked or fate.trimmed or fate.lost):
            self.path = paths.random(paths.count)
