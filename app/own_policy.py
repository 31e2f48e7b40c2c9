"""A look at a Python file that is to hold an exit policy, without running it."""

from __future__ import annotations

import ast
from pathlib import Path

from core.errors import UserError

METHOD = "look"
"""The one method that every policy must write."""


def class_in(path: Path) -> str:
    """The class that most likely is the policy: the first that defines `look`, or else the first.

    Raises:
        UserError: the file cannot be read, is no Python, or has no class.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}); choose another file.") from error
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{path} is not valid Python ({error}); mend it or choose another file.") from error
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if not classes:
        raise UserError(f"{path} defines no class; write your exit policy as one.")
    return next((one.name for one in classes if _defines(one, METHOD)), classes[0].name)


def _defines(node: ast.ClassDef, name: str) -> bool:
    return any(isinstance(item, ast.FunctionDef) and item.name == name for item in node.body)
