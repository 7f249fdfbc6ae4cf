"""A hook of mkdocs: README, CONTRIBUTING, SECURITY and CHANGELOG are pages of the site too.

They lie above `docs/`, where mkdocs does not look, and stand on the site under `project/`. Links
are written as they work in the repository; here those that cross the border are led to the page.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

OUTSIDE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
FOLDER = "project"
LINK = re.compile(r"(?<=\]\()(?!https?://|#)([^)#\s]+)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    root = Path(config.config_file_path).parent
    for name in OUTSIDE:
        path = str(root / name)
        files.append(File.generated(config, f"{FOLDER}/{name}", abs_src_path=path))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    del config, files
    here = page.file.src_uri
    return LINK.sub(lambda link: _on_site(link[1], here), markdown)


def _on_site(target: str, here: str) -> str:
    """A link of the repository as it is on the site, seen from the page `here`."""
    stands = here.removeprefix(f"{FOLDER}/") if here.startswith(f"{FOLDER}/") else f"docs/{here}"
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(stands), target))
    place = f"{FOLDER}/{meant}" if meant in OUTSIDE else meant.removeprefix("docs/")
    return posixpath.relpath(place, posixpath.dirname(here) or ".")
