"""A graph database that speaks Bolt and Cypher, with `apoc.refactor.mergeNodes`: ArcadeDB.

Neo4j itself is in no package. ArcadeDB's `mergeNodes` keeps parallel relationships, which that of
APOC merges.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx

DATABASE = "neo4j"
USER, PASSWORD = "root", "playwithdata"
START = 60.0  # seconds


@contextmanager
def graph_server(folder: Path) -> Iterator[str]:
    """The address of a server with an empty database."""
    spec = find_spec("arcadedb_embedded")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    bolt, http = _free_ports(2)
    settings = {
        "server.rootPath": folder,
        "server.databaseDirectory": folder / "databases",
        "server.rootPassword": PASSWORD,
        "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
        "server.httpIncomingHost": "127.0.0.1",
        "server.httpIncomingPort": http,
        "bolt.host": "127.0.0.1",
        "bolt.port": bolt,
        "bolt.defaultDatabase": DATABASE,
    }
    command = [
        str(home / "jre/bin/java"),
        *("--add-modules", "jdk.incubator.vector", "-Xmx512m", "-cp", str(home / "jars/*")),
        *(f"-Darcadedb.{name}={value}" for name, value in settings.items()),
        "com.arcadedb.server.ArcadeDBServer",
    ]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            _create_database(server, http)
            yield f"bolt://127.0.0.1:{bolt}"
        finally:
            server.terminate()
            server.wait(30)


def _create_database(server: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + START
    while True:
        try:
            answer = httpx.post(
                f"http://127.0.0.1:{port}/api/v1/server",
                json={"command": f"create database {DATABASE}"},
                auth=(USER, PASSWORD),
                trust_env=False,
            )
            answer.raise_for_status()
            return
        except httpx.ConnectError:
            assert server.poll() is None, "the server has stopped"
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
