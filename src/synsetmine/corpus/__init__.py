"""The corpus: readers of text, records, PubTator files and wiki dumps, and its stored form."""

from synsetmine.corpus.documents import batch_of, documents_of, read_batches, write_documents
from synsetmine.corpus.mediawiki import Page, page_document, read_pages
from synsetmine.corpus.readers import corpus_files, read_corpus

__all__ = [
    "Page",
    "batch_of",
    "corpus_files",
    "documents_of",
    "page_document",
    "read_batches",
    "read_corpus",
    "read_pages",
    "write_documents",
]
