"""`python -m packetloom`."""

from packetloom.cli import main

main()
