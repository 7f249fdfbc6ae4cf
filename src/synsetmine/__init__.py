"""Entity synonym sets: groups of terms that name the same thing.

Names are imported on first use, so `import synsetmine` is fast; `__init__.pyi` lists them.
"""

import ast
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
_HOME_OF = {
    alias.name: imported.module or ""
    for imported in _STUB.body
    if isinstance(imported, ast.ImportFrom)
    for alias in imported.names
}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'synsetmine' has no attribute {name!r}")
    try:
        home = import_module(_HOME_OF[name])
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        problem = f"synsetmine.{name} needs the extra: pip install 'synsetmine[torch]'"
        raise ImportError(problem) from None
    return getattr(home, name)


def __dir__() -> list[str]:
    return __all__
