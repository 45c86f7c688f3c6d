"""Parts of a package that load on first use, so that a command imports only what it needs.

A package imports such parts as a type checker reads them; when one is asked for, it loads:

    if TYPE_CHECKING:
        from pappi.store.migration import migrate
    else:
        __getattr__ = lazy_imports(__name__)
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


def lazy_imports(package: str) -> Callable[[str], object]:
    """The `__getattr__` of a package (PEP 562): what it imports under `if TYPE_CHECKING:`."""

    @cache
    def homes() -> dict[str, tuple[str, str]]:
        file = Path(str(sys.modules[package].__file__))
        return imports_for_types(file.read_text(encoding="utf-8"))

    def load(name: str) -> object:
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = homes()[name]
        return getattr(import_module(module), original)

    return load


def imports_for_types(source: str) -> dict[str, tuple[str, str]]:
    """Each name imported under `if TYPE_CHECKING:`, with its module and its name there.

    >>> imports_for_types("if TYPE_CHECKING:\\n    from json.decoder import JSONDecoder as Reader")
    {'Reader': ('json.decoder', 'JSONDecoder')}
    """
    return {
        alias.asname or alias.name: (statement.module, alias.name)
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    }
