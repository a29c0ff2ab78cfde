"""`python -m packetloom`."""

from packetloom.start import main

if __name__ == "__main__":
    main()
