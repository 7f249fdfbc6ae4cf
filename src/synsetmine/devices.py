"""torch, which is an extra: whether it is installed, its device and its threads."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec

from synsetmine.errors import SynsetmineError


def require_torch(purpose: str, *, extra: str = "torch") -> None:
    """Raise an error that names the extra if torch is not installed."""
    if find_spec("torch") is None:
        raise SynsetmineError(f"{purpose} needs the extra: pip install 'synsetmine[{extra}]'")


def choose_device(name: str, *, uses_torch: bool = True) -> str:
    """The device for `auto`, `cpu` or `cuda`; `auto` is a GPU for work that uses torch."""
    if name == "cpu" or (name == "auto" and not (uses_torch and find_spec("torch"))):
        return "cpu"
    require_torch("device 'cuda'")
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if name == "cuda":
        raise SynsetmineError("cannot use device 'cuda': there is no CUDA device")
    return "cpu"


def limit_threads(threads: int) -> None:
    """Limit the threads of torch, where it is installed."""
    with suppress(ImportError):
        from torch import set_num_threads

        set_num_threads(threads)
