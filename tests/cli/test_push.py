"""`synsetmine push` against a real server that speaks Elasticsearch's synonyms API."""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from synsetmine.cli import app
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.export.push import KEY, PASSWORD, USER, compare_rules
from synsetmine.io.sets import write_sets
from synsetmine.linking.service import certificates
from synsetmine.types import SynonymSets, Term
from tests.support.faultyserver import Fault
from tests.support.synonymsserver import LIMIT, SynonymsServer

pytestmark = pytest.mark.usefixtures("no_proxy")
OLD = {"P01": "sofa, couch", "P02": "wardrobe, armoire", "P09": "tv, television"}
GZIP = gzip.compress(b'{"count": 0, "synonyms_set": []}')
NEW = {"P01": "sofa, couch, settee", "P02": "wardrobe, armoire", "P03": "fridge, icebox"}


@pytest.fixture
def server() -> Iterator[SynonymsServer]:
    with SynonymsServer(("mined", dict(OLD))).start() as running:
        yield running


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (KEY, USER, PASSWORD):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    write(NEW)
    return tmp_path


def write(rules: dict[str, str], name: str = "synonyms.json") -> None:
    entries = [{"id": rule_id, "synonyms": rule} for rule_id, rule in rules.items()]
    Path(name).write_text(json.dumps({"synonyms_set": entries}))


def push(server: SynonymsServer, *options: str) -> None:
    arguments = ["push", "synonyms.json", "--url", server.root, "--set", "mined", *options]
    app(arguments, standalone_mode=False)


def methods(server: SynonymsServer) -> list[str]:
    return [f"{one.method} {one.path.rpartition('/')[2]}" for one in server.seen]


def test_the_difference_is_shown_and_the_set_replaced(
    server: SynonymsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    push(server, "--yes")
    shown, said = capsys.readouterr()
    assert shown.splitlines() == [
        "- P09: tv, television",
        "- P01: sofa, couch",
        "+ P01: sofa, couch, settee",
        "+ P03: fridge, icebox",
    ]
    assert "mined: 1 rule to add, 1 to change, 1 to remove, 1 unchanged" in said
    assert "mined: 3 rules sent" in said
    assert server.sets == {"mined": NEW}
    push(server, "--yes")
    assert "nothing to change" in capsys.readouterr().err
    assert methods(server).count("PUT mined") == 1


def test_an_own_synonyms_file_is_pushed_as_it_stands(
    server: SynonymsServer, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = ["sofa, couch", "i-pod => iPod", "couch, settee"]
    (place / "own.txt").write_text("\n".join(["# ours", *rules, ""]))
    arguments = ["push", "own.txt", "--url", server.root, "--set", "own", "--yes"]
    app(arguments, standalone_mode=False)
    assert [*server.sets["own"].values()] == rules
    (place / "own.txt").write_text("\n".join(["", *rules[::-1]]))
    app(arguments, standalone_mode=False)  # ids do not depend on the place of a rule
    assert "nothing to change" in capsys.readouterr().err
    (place / "own.txt").write_text("sofa, couch\nx1 => y1 => z1\n")
    with pytest.raises(DataError, match=r"own\.txt:2: more than one => in a rule"):
        app(arguments, standalone_mode=False)


def test_a_missing_set_is_made(server: SynonymsServer, capsys: pytest.CaptureFixture[str]) -> None:
    del server.sets["mined"]
    push(server, "--yes")
    said = capsys.readouterr().err
    assert "mined (a new set): 3 rules to add, 0 to change, 0 to remove, 0 unchanged" in said
    assert server.sets == {"mined": NEW}


def test_a_dry_run_and_a_push_without_a_person_send_nothing(
    server: SynonymsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    push(server, "--dry-run")
    assert "nothing sent: this is a dry run" in capsys.readouterr().err
    with pytest.raises(SynsetmineError, match="no terminal to ask on; give --yes"):
        push(server)
    assert server.sets == {"mined": OLD}
    assert {one.method for one in server.seen} == {"GET"}


@pytest.mark.parametrize("answer", [True, False])
def test_a_person_is_asked(
    server: SynonymsServer, monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    questions: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        questions.append(question)
        return answer

    monkeypatch.setattr("typer.confirm", confirm)
    if answer:
        push(server)
    else:
        with pytest.raises(SynsetmineError, match="nothing sent"):
            push(server)
    assert questions == ["replace mined?"]
    assert server.sets == {"mined": NEW if answer else OLD}


def test_large_sets_are_read_in_pages_and_parts_have_sets_of_their_own(
    server: SynonymsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = {f"s{number:05}": f"a{number}, b{number}" for number in range(LIMIT)}
    server.sets = {"mined": rules | {"s00000": "changed, rule"}, "mined-3": OLD}
    write(rules)
    write(NEW, "synonyms-2.json")
    push(server, "--yes", "--full")
    said = capsys.readouterr().err
    assert "mined: 0 rules to add, 1 to change, 0 to remove, 9,999 unchanged" in said
    assert "mined-3 with 3 rules is no part of this push; it stays" in said
    assert server.sets == {"mined": rules, "mined-2": NEW, "mined-3": OLD}
    assert methods(server).count("GET mined") == LIMIT // 1000


def test_long_differences_are_cut(
    server: SynonymsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    write({f"s{number}": f"a{number}, b{number}" for number in range(100)})
    push(server, "--dry-run")
    shown, said = capsys.readouterr()
    assert len(shown.splitlines()) == 40
    assert "… and 63 further lines; --full shows all" in said


def test_too_many_rules_are_not_sent(server: SynonymsServer) -> None:
    write({f"s{number}": "a, b" for number in range(LIMIT + 1)})
    with pytest.raises(DataError, match="10,001 rules; a set of Elasticsearch has 10,000 at most"):
        push(server, "--yes")
    assert server.seen == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("sofa, couch", r"synonyms\.json: not JSON \(.*`synsetmine export --format elasticsearch`"),
        ("[]", "expected an object with the list `synonyms_set`"),
        ('{"synonyms_set": []}', "no rules in this file"),
        ('{"synonyms_set": [{"synonyms": "a, b"}]}', "a rule needs the texts `id` and `synonyms`"),
        ('{"synonyms_set": [7]}', "a rule needs the texts `id` and `synonyms`: '7'"),
        (
            '{"synonyms_set": [{"id": "x", "synonyms": "a => b => c"}]}',
            "rule 'x': more than one =>",
        ),
        ('{"synonyms_set": [{"id": "x", "synonyms": "a, , b"}]}', "rule 'x': an empty term"),
        (
            '{"synonyms_set": [{"id": "x", "synonyms": "# a"}]}',
            "rule 'x' is empty, a comment or several lines: '# a'",
        ),
        (
            '{"synonyms_set": [{"id": "x", "synonyms": "a, b\\nc, d"}]}',
            "rule 'x' is empty, a comment or several lines",
        ),
        (
            '{"synonyms_set": [{"id": "x", "synonyms": "a, b"}, {"id": "x", "synonyms": "c, d"}]}',
            "two rules with one id: 'x'",
        ),
    ],
)
def test_files_that_cannot_be_sent(server: SynonymsServer, content: str, problem: str) -> None:
    Path("synonyms.json").write_text(content)
    with pytest.raises(DataError, match=problem):
        push(server, "--yes")
    assert server.seen == []


@pytest.mark.parametrize("name", ["", "a/b", "..", "a?b", "a b"])
def test_names_that_no_set_has(server: SynonymsServer, name: str) -> None:
    with pytest.raises(DataError, match="the name of a set must have letters, digits"):
        push(server, "--set", name)
    assert server.seen == []


def test_an_api_key_or_a_person(server: SynonymsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.access.key, server.access.person = "c2VjcmV0", ("ada", "sésame")
    with pytest.raises(SynsetmineError, match=f"401 .*missing authentication.*; set {KEY}, or"):
        push(server, "--yes")
    monkeypatch.setenv(KEY, "wrong-key")
    with pytest.raises(SynsetmineError, match="401") as caught:
        push(server, "--yes")
    assert "wrong-key" not in str(caught.value)
    monkeypatch.setenv(KEY, "c2VjcmV0")
    push(server, "--yes")
    assert server.sets["mined"] == NEW
    monkeypatch.delenv(KEY)
    monkeypatch.setenv(USER, "ada")
    with pytest.raises(SynsetmineError, match=f"{USER} and {PASSWORD} go together"):
        push(server)
    monkeypatch.setenv(PASSWORD, "sésame")
    push(server)
    monkeypatch.setenv(KEY, "c2VjcmV0")
    with pytest.raises(SynsetmineError, match="not both"):
        push(server)


def test_credentials_never_go_out_in_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["push", "synonyms.json", "--set", "mined", "--url"]
    with pytest.raises(DataError, match="must have no user and password") as caught:
        app([*command, "https://ada:sesame@example.org"], standalone_mode=False)
    assert "sesame" not in str(caught.value)
    monkeypatch.setenv(KEY, "c2VjcmV0")
    with pytest.raises(DataError, match="is sent over https only, or to this machine"):
        app([*command, "http://example.org:9200"], standalone_mode=False)


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_redirects_are_not_followed(
    server: SynonymsServer, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setenv(KEY, "c2VjcmV0")
    with SynonymsServer().start() as other:
        location = f"{other.root}/_synonyms/mined"
        server.faults[method, "mined"] = Fault(status=307, headers={"Location": location})
        with pytest.raises(SynsetmineError, match=r"307 .*redirects are not followed, this one to"):
            push(server, "--yes")
        assert other.seen == []
    assert server.sets["mined"] == OLD


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to sign a certificate")
def test_a_certificate_that_nobody_trusts_gets_no_credentials(
    server: SynonymsServer, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    made = ("openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", *names)
    subprocess.run([*made, "-keyout", "key.pem", "-out", "cert.pem"], check=True, cwd=place)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "cert.pem", place / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    monkeypatch.setenv(KEY, "c2VjcmV0")
    url = f"https://localhost:{server.server_port}"
    command = ["push", "synonyms.json", "--url", url, "--set", "mined", "--yes"]
    with pytest.raises(SynsetmineError, match=r"set mined: .*certificate verify failed"):
        app(command, standalone_mode=False)
    assert server.seen == []
    monkeypatch.setenv("SSL_CERT_FILE", str(place / "cert.pem"))
    certificates.cache_clear()  # a process reads them once
    try:
        app(command, standalone_mode=False)
    finally:
        certificates.cache_clear()
    assert server.sets["mined"] == NEW


def test_what_was_done_before_a_failure_is_said(
    server: SynonymsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    write({"x": "c, d"}, "synonyms-2.json")
    body = json.dumps({"error": {"type": "x", "reason": "disk full"}, "status": 500}).encode()
    server.faults["PUT", "mined-2"] = Fault(status=500, body=body)
    with pytest.raises(SynsetmineError, match=r"mined-2: 500 .*disk full; replaced before that: m"):
        push(server, "--yes")
    assert server.sets == {"mined": NEW}
    del server.faults["PUT", "mined-2"]
    push(server, "--yes")  # only what is missing goes out again
    assert server.sets == {"mined": NEW, "mined-2": {"x": "c, d"}}
    assert methods(server).count("PUT mined") == 1


def test_analyzers_that_did_not_load_the_rules_are_an_error(server: SynonymsServer) -> None:
    server.failed_shards = 2
    with pytest.raises(SynsetmineError, match="mined: 2 shards did not load the rules"):
        push(server, "--yes")
    assert server.sets["mined"] == NEW


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (Fault(status=403), "403 .*manage_search_synonyms"),
        (Fault(status=404, body=b"<html>"), "404 .*<html>"),
        (Fault(body=b"<html>", kind="text/html"), "not the JSON of Elasticsearch's synonyms API"),
        (Fault(body=b"[" * 100_000), "not the JSON of Elasticsearch's synonyms API"),
        (Fault(body=b"x" * 51_000_000), "not the JSON of Elasticsearch's synonyms API"),
        (Fault(headers={"Content-Encoding": "gzip"}, body=GZIP), "not the JSON of Elasticsearch"),
        (Fault(body=b"[]"), "not the JSON of Elasticsearch's synonyms API"),
        (Fault(body=b'{"count": 1}'), "not an answer of Elasticsearch's synonyms API"),
        (Fault(body=b'{"count": 9, "synonyms_set": []}'), "the set changed meanwhile"),
        (Fault(reset=True), "set mined: .+"),
        (Fault(cut=1), "set mined: .+"),
        (
            Fault(status=400, body=b'{"error": "no handler found for uri [/_synonyms/mined]"}'),
            "OpenSearch and Elasticsearch before 8.10 have no synonyms API: copy the file",
        ),
    ],
)
def test_servers_that_answer_something_else(
    server: SynonymsServer, fault: Fault, problem: str
) -> None:
    server.faults["GET", "mined"] = fault
    with pytest.raises(SynsetmineError, match=problem):
        push(server, "--yes")
    assert {one.method for one in server.seen} == {"GET"}


def test_nobody_listens() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(SynsetmineError, match=rf"{url}, set mined: .*refused"):
            app(
                ["push", "synonyms.json", "--url", url, "--set", "mined"],
                standalone_mode=False,
            )


def test_the_export_is_what_the_server_takes(
    server: SynonymsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    nasty = [Term("a, b"), Term("c => d"), Term("#x"), Term("back\\slash")]
    plain = [Term("heart failure"), Term("heart failures"), Term("HF")]
    write_sets(Path("mined.jsonl"), SynonymSets.of([nasty, plain], ["s1", "s2"]))
    command = ["export", "mined.jsonl", "-f", "elasticsearch", "-o", "synonyms.json"]
    app([*command, "--without", "inflection"], standalone_mode=False)
    push(server, "--yes")
    assert server.sets["mined"]["s2"].split(", ") == ["HF", "heart failure"]
    assert server.sets["mined"]["s1"].count(r"\,") == 1
    capsys.readouterr()
    push(server)
    assert "nothing to change" in capsys.readouterr().err


def test_the_difference_is_what_it_takes() -> None:
    difference = compare_rules(OLD, NEW)
    kept = {rule_id: rule for rule_id, rule in OLD.items() if rule_id not in difference.removed}
    new = {rule_id: rule for rule_id, (_, rule) in difference.changed.items()}
    assert kept | new | dict(difference.added) == NEW
    assert not compare_rules(NEW, NEW)
