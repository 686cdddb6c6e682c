"""`python -m socialapi` is the command line."""

from socialapi.cli import main

if __name__ == "__main__":
    main()
