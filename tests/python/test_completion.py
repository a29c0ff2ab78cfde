"""`packetloom` alone, and the Tab key in the shells that there are: what real bash, zsh and fish offer."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.unaudited

SECONDS = 30


def shell(name: str) -> str:
    """Where the shell is; CI has all three (.ci/run installs them)."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name}: apt install {name}")
    return found


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One in which `packetloom` is this one, and no user's settings are read."""
    command = tmp_path / "bin/packetloom"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m packetloom "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "HOME": str(tmp_path), "TERM": "dumb", "XDG_CONFIG_HOME": str(tmp_path)}


def printed(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=SECONDS)
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_alone_prints_its_help() -> None:
    done = subprocess.run([sys.executable, "-m", "packetloom"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Usage: packetloom [OPTIONS] COMMAND" in done.stdout + done.stderr
    assert "reproduce" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def in_bash(line: str, environment: dict[str, str]) -> list[str]:
    """What bash offers at the end of the line."""
    script = (
        'eval "$(_PACKETLOOM_COMPLETE=source_bash packetloom)"\n'
        'COMP_WORDS=($1) COMP_LINE=$1 COMP_POINT=${#1}\n[[ $1 == *" " ]] && COMP_WORDS+=("")\n'
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
        "_packetloom_completion packetloom\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    return printed([shell("bash"), "--norc", "-c", script, "bash", line], environment).split()


def in_fish(line: str, environment: dict[str, str]) -> list[str]:
    """What fish offers at the end of the line; after a tab, it explains."""
    script = '_PACKETLOOM_COMPLETE=source_fish packetloom | source; complete --do-complete "$argv[1]"'
    offered = printed([shell("fish"), "--no-config", "-c", script, line], environment)
    return [one.partition("\t")[0] for one in offered.splitlines()]


def in_zsh(line: str, environment: dict[str, str]) -> str:
    """What the line is once Tab was pressed in an interactive zsh."""
    process, terminal = pty.fork()
    if process == 0:
        os.execve(shell("zsh"), ["zsh", "-f", "-i"], environment)
    setup = (
        "PS1=; autoload -Uz compinit && compinit -u -D; unsetopt zle_bracketed_paste\n"
        'eval "$(_PACKETLOOM_COMPLETE=source_zsh packetloom)"\n'
        'show() { print -r -- "<<$BUFFER>>" }; zle -N show; bindkey "^G" show; print "REA""DY"\n'
    )
    try:
        os.write(terminal, setup.encode())
        until(terminal, "READY")
        os.write(terminal, f"{line}\t\x07".encode())
        return until(terminal, ">>").rpartition("<<")[2].partition(">>")[0]
    finally:
        os.close(terminal)
        os.kill(process, 9)
        os.waitpid(process, 0)


def until(terminal: int, end: str) -> str:
    """What the terminal shows up to these letters."""
    shown, deadline = "", time.monotonic() + SECONDS
    while end not in shown:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([terminal], [], [], max(left, 0))
        assert ready, f"no {end!r} in {shown!r}"
        shown += os.read(terminal, 65536).decode(errors="replace")
    return shown


def test_bash(environment: dict[str, str]) -> None:
    assert in_bash("packetloom r", environment) == ["run", "report", "reproduce"]
    assert "new" in in_bash("packetloom ", environment)
    assert in_bash("packetloom plot slowdown-by-s", environment) == ["slowdown-by-size"]
    assert "transport" in in_bash("packetloom list ", environment)
    assert in_bash("packetloom tune a.toml --minimise flows.slowdown.p", environment) == ["flows.slowdown.p99"]


def test_fish(environment: dict[str, str]) -> None:
    assert set(in_fish("packetloom r", environment)) == {"run", "report", "reproduce"}
    assert "new" in in_fish("packetloom ", environment)


def test_zsh(environment: dict[str, str]) -> None:
    shell("zsh")
    assert in_zsh("packetloom repr", environment) == "packetloom reproduce "
