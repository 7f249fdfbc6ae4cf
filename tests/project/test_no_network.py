"""Files name addresses; reading them never asks anybody, on the network or on the disk."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from synsetmine.errors import DataError
from synsetmine.kb import read_kb

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
OWL = "http://www.w3.org/2002/07/owl#"
XML = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:rdfs="{LABEL[:-5]}" xmlns:owl="{OWL}">'
THING = '<rdf:Description rdf:about="http://e/a"><rdfs:label>heart</rdfs:label></rdf:Description>'
READ = {
    "imports.owl": f'{XML}<owl:Ontology rdf:about=""><owl:imports rdf:resource="URL"/>'
    f"</owl:Ontology>{THING}</rdf:RDF>",
    "imports.ttl": f'<> <{OWL}imports> <URL> . <http://e/a> <{LABEL}> "heart" .',
    "imports.obo": "format-version: 1.2\nimport: URL\n\n[Term]\nid: X:1\nname: heart\n",
    "type.rdf": f'<!DOCTYPE x SYSTEM "URL">{XML}{THING}</rdf:RDF>',
}
REFUSED = {
    "context.jsonld": f'{{"@context": "URL", "@id": "http://e/a", "{LABEL}": "heart"}}',
    "entity.rdf": f'<!DOCTYPE x [<!ENTITY a SYSTEM "URL">]>{XML}{THING}&a;</rdf:RDF>',
    "parameter.rdf": f'<!DOCTYPE x [<!ENTITY % a SYSTEM "URL"> %a;]>{XML}{THING}</rdf:RDF>',
    "dump.xml": '<!DOCTYPE x [<!ENTITY a SYSTEM "URL">]><mediawiki>&a;</mediawiki>',
}


@pytest.fixture(params=["http", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of something secret; a connection to it fails the test."""
    (tmp_path / "secret.ttl").write_text(f'<http://e/b> <{LABEL}> "secret" .')
    with socket.create_server(("127.0.0.1", 0)) as listening:
        if request.param == "file":
            yield (tmp_path / "secret.ttl").as_uri()
        else:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/secret.ttl"
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.mark.parametrize("name", READ)
def test_what_else_a_file_names_is_not_read(tmp_path: Path, url: str, name: str) -> None:
    (tmp_path / name).write_text(READ[name].replace("URL", url))
    found = read_kb(tmp_path / name)
    assert [found.name(entity) for entity in found] == ["heart"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_not_whole_without_another_is_refused(
    tmp_path: Path, url: str, name: str
) -> None:
    (tmp_path / name).write_text(REFUSED[name].replace("URL", url))
    with pytest.raises(DataError):
        read_kb(tmp_path / name)
