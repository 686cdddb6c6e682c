"""Runs the command line with `python -m socialapi`."""

from socialapi.cli import main

if __name__ == "__main__":
    main()
