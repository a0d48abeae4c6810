"""Types in the signatures that `help()` shows.

Annotations are text in the sources: those of a function within another would be evaluated at each call of the other one.
"""

from __future__ import annotations

import inspect
import typing
from types import ModuleType


def evaluate(module: ModuleType) -> None:
    """Gives the functions of a module, when it is imported, the types that their annotations name."""
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if not name.startswith("_") and function.__module__.startswith(f"{__package__}."):
            function.__annotations__ = typing.get_type_hints(function)
