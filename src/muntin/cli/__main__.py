"""``python -m muntin.cli`` is ``muntin``."""

from muntin.cli.main import main

if __name__ == "__main__":
    main()
