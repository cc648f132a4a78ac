"""``python -m dynreg_core`` is ``dynreg``."""

from dynreg_core.cli import main

if __name__ == "__main__":
    main()
