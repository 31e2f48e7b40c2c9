"""`python -m app`: the same program as `specee-viewer`, from a checkout."""

import sys

from app.cli import main

if __name__ == "__main__":
    sys.exit(main())
