"""An index as GraphRAG writes it: the columns, types and order of its version 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ENTITY_SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "human_readable_id": pa.int64(),
        "title": pa.string(),
        "type": pa.string(),
        "description": pa.string(),
        "text_unit_ids": pa.list_(pa.string()),
        "frequency": pa.int64(),
        "degree": pa.int64(),
    }
)
RELATIONSHIP_SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "human_readable_id": pa.int64(),
        "source": pa.string(),
        "target": pa.string(),
        "description": pa.string(),
        "weight": pa.float64(),
        "combined_degree": pa.int64(),
        "text_unit_ids": pa.list_(pa.string()),
    }
)
BANK, FUND = "EUROPEAN CENTRAL BANK", "INTERNATIONAL MONETARY FUND"
ENTITIES = [
    (BANK, "ORGANIZATION", "The central bank of the euro area.", ["t1", "t2"]),
    ("ECB", "ORGANIZATION", "It sets the interest rates.", ["t2", "t3"]),
    ("FRANKFURT", "GEO", "A city on the Main.", ["t1"]),
    ("FRANKFURT AM MAIN", "GEO", "The seat of the bank.", ["t3"]),
    (FUND, "ORGANIZATION", "It lends to states.", ["t2"]),
    ("ECB", "EVENT", "A cricket season.", ["t4"]),
]
RELATIONSHIPS = [
    (BANK, "FRANKFURT", "The bank has its seat there.", 2.0, ["t1"]),
    ("ECB", "FRANKFURT AM MAIN", "The ECB moved there.", 1.5, ["t3", "t1"]),
    (BANK, "ECB", "ECB is short for it.", 9.0, ["t2"]),
    (FUND, "ECB", "It advises the bank.", 1.0, ["t2"]),
    ("ECB", FUND, "It asks the fund.", 1.0, ["t2"]),
]


def write_index(
    folder: Path,
    entities: Sequence[tuple[Any, ...]] = ENTITIES[:5],
    relationships: Sequence[tuple[Any, ...]] = RELATIONSHIPS,
) -> Path:
    neighbours: dict[str, set[str]] = {}
    for source, target, *_ in relationships:
        neighbours.setdefault(source, set()).add(target)
        neighbours.setdefault(target, set()).add(source)
    degree = {title: len(others) for title, others in neighbours.items()}
    rows: list[Mapping[str, Any]] = [
        {
            "id": f"entity-{number}",
            "human_readable_id": number,
            "title": title,
            "type": type_,
            "description": description,
            "text_unit_ids": units,
            "frequency": len(units or ()),
            "degree": degree.get(title, 0),
        }
        for number, (title, type_, description, units) in enumerate(entities)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, ENTITY_SCHEMA), folder / "entities.parquet")
    rows = [
        {
            "id": f"relationship-{number}",
            "human_readable_id": number,
            "source": source,
            "target": target,
            "description": description,
            "weight": weight,
            "combined_degree": degree[source] + degree[target],
            "text_unit_ids": units,
        }
        for number, (source, target, description, weight, units) in enumerate(relationships)
    ]
    pq.write_table(
        pa.Table.from_pylist(rows, RELATIONSHIP_SCHEMA), folder / "relationships.parquet"
    )
    return folder
