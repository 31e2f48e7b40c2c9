"""How a card knows a prompt again. Torch-free."""

from __future__ import annotations

import hashlib


def text_hash(text: str) -> str:
    """16 hex digits of a prompt's text: enough to know it again, not to read it."""
    return hashlib.sha256(text.strip().encode()).hexdigest()[:16]
