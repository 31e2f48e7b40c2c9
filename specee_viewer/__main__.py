"""`python -m specee_viewer`."""

import sys

from specee_viewer import main

if __name__ == "__main__":
    sys.exit(main())
