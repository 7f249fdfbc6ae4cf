"""Pages of documents, for links."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.corpus.citations import document_page
from synsetmine.errors import DataError
from synsetmine.pipeline.settings import ReportSettings


@pytest.mark.parametrize(
    ("document", "prefix", "page"),
    [
        ("PMID:1", "", "https://pubmed.ncbi.nlm.nih.gov/1"),
        ("1", "PMID", "https://pubmed.ncbi.nlm.nih.gov/1"),
        ("1", "", ""),
        ("d1", "PMID", ""),
        ("10.1000/x", "", "https://doi.org/10.1000/x"),
        ("https://a.org/b?c=1", "PMID", "https://a.org/b?c=1"),
        ('https://a.org/"><script>', "", "https://a.org/%22%3E%3Cscript%3E"),
        ("GEO:GSE1", "", ""),
        ("javascript:alert(1)", "", ""),
        ("data:text/html,x", "", ""),
    ],
)
def test_pages_of_documents(document: str, prefix: str, page: str) -> None:
    assert document_page(document, prefix) == page


@given(st.text(), st.sampled_from(["", "PMID", "javascript", "data", "https"]))
def test_a_page_is_a_safe_link(document: str, prefix: str) -> None:
    page = document_page(document, prefix)
    assert not page or urlsplit(page).scheme in ("http", "https")
    assert not set(page) & set("<>\"' \n\t")


def test_a_wrong_prefix_is_refused() -> None:
    with pytest.raises(DataError, match="expected a prefix"):
        ReportSettings(document_prefix="a b")
