"""Writes python.ipynb, the tutorial in Python as a notebook: `make reference`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

TUTORIAL = Path(__file__).with_name("python.md")
NOTEBOOK = TUTORIAL.with_suffix(".ipynb")


def notebook() -> str:
    """The page as JSON: a cell of code for each Python block, other cells of text."""
    page = TUTORIAL.read_text("utf-8")
    page = re.sub(r"^```text\n.*?^```\n\n?", "", page, flags=re.M | re.S)  # outputs
    parts = re.split(r"^```python\n(.*?)^```\n", page, flags=re.M | re.S)
    cells = [
        _cell("code" if number % 2 else "markdown", text.strip("\n"), number)
        for number, text in enumerate(parts)
        if text.strip()
    ]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str, number: int) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": text.splitlines(keepends=True)}


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(), "utf-8")
