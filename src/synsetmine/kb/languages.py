"""Which names of a knowledge base are in the language that is asked for."""

from __future__ import annotations


def accepts(language: str, tag: str | None) -> bool:
    """Whether a language tag suits: `en` takes `en`, `en-GB` and no tag at all; `*` takes any.

    >>> accepts("en", "en-GB"), accepts("en-GB", "en"), accepts("en", "enm"), accepts("de", None)
    (True, False, False, True)
    """
    if not tag or language == "*":
        return True
    tag, language = tag.lower(), language.lower()
    return tag == language or tag.startswith(f"{language}-")
