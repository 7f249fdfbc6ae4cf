"""What makes a text fit for the corpus."""

from __future__ import annotations

from synsetmine.errors import DataError
from synsetmine.text import nfc


def sound_text(text: str) -> str:
    """A text that was checked, in Unicode's form NFC."""
    check_text(text)
    return nfc(text)


def check_text(text: str) -> None:
    """Refuse a text that is blank, or that cannot be stored."""
    if not text or text.isspace():
        raise DataError("the document is empty")
    if "\0" in text:
        raise DataError("the text holds a NUL character", value=_around(text, text.index("\0")))
    check_unicode(text)


def check_unicode(text: str) -> None:
    """Refuse halves of characters, which JSON can write (`\\ud800`) but no file can hold."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError("not valid Unicode", value=_around(text, error.start)) from None


def _around(text: str, place: int) -> str:
    return text[max(place - 40, 0) : place + 40]
