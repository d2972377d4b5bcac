"""``python -m convqa``: the command line."""

from convqa.cli import main

if __name__ == "__main__":
    main()
