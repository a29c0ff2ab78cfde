"""Text files that a user names. Only regular files are read, and only up to a size, as the simulator does: a pipe could
be waited for, and a device read, forever."""

from __future__ import annotations

import stat
from pathlib import Path

from packetloom.errors import PacketloomError

MOST_SCENARIO_BYTES = 4 << 20
MOST_LIST_BYTES = 1 << 30
PIECE_BYTES = 1 << 20

KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def read_text(path: Path, most_bytes: int, missing: str = "there is no such file") -> str:
    """What a text file holds; raises `PacketloomError` with the file and what is wrong."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            kind = KINDS.get(stat.S_IFMT(about.st_mode), "a device")
            raise PacketloomError(f"{path}: it is {kind}, not a regular file")
        content = b"" if about.st_size > most_bytes else _beginning(path, most_bytes + 1)
    except FileNotFoundError:
        raise PacketloomError(f"{path}: {missing}") from None
    except OSError as error:
        raise PacketloomError(f"{path}: {error.strerror}") from None
    if max(about.st_size, len(content)) > most_bytes:
        raise PacketloomError(f"{path}: it is larger than {most_bytes >> 20} MiB, the most that is read")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PacketloomError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from None


def _beginning(path: Path, most_bytes: int) -> bytes:
    """Piece by piece: reading at once would allocate the largest size."""
    content = bytearray()
    with path.open("rb") as file:
        while len(content) < most_bytes and (piece := file.read(PIECE_BYTES)):
            content += piece
    return bytes(content)
