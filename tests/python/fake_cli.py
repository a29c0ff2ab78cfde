"""The command line on the stand-in simulator, for tests that need a process of their own."""

import conftest  # noqa: F401 puts the stand-in in place
from packetloom.cli import main

main()
