"""Entity synonym sets: groups of terms that name the same thing.

Names are imported on first use, so `import synsetmine` is fast; `__init__.pyi` lists them.
"""

from importlib import import_module

__version__ = "0.1.0"

# Lines are `from MODULE import NAME as NAME`; `ast` and `pathlib` would take 10 ms to import.
with open(__file__.removesuffix("py") + "pyi", encoding="utf-8") as _stub:  # noqa: PTH123
    _HOME_OF = {words[3]: words[1] for words in map(str.split, _stub) if words[:1] == ["from"]}
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
