"""The file that a knowledge base is saved in."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.kb import Entity, KnowledgeBase
from tests.support.kbentities import HAFNIUM, HEART, entities, ids

quick = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kb")


@given(st.lists(entities, max_size=8), st.dictionaries(ids, ids, max_size=8))
@quick
def test_what_is_saved_is_loaded(
    folder: Path, listed: list[Entity], replaced: dict[str, str]
) -> None:
    kb = KnowledgeBase.of(listed, replacements=replaced)
    kb.save(folder / "x.kb")
    for same in (KnowledgeBase.load(folder / "x.kb"), pickle.loads(pickle.dumps(kb))):
        assert [(e, same.names(e)) for e in same] == [(e, kb.names(e)) for e in kb]
        assert same.forms == kb.forms
        assert list(same.retired_ids()) == list(kb.retired_ids())
        for ours, theirs in (
            (same.form_starts, kb.form_starts),
            (same.form_entities, kb.form_entities),
            (same.preferred_forms, kb.preferred_forms),
        ):
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours, theirs)
        for entity in kb:
            assert all(same.knows(entity, name) for name in kb.names(entity))


def test_definitions_are_saved(tmp_path: Path) -> None:
    KnowledgeBase.of([HEART, Entity("x", "X", (), "A letter.")]).save(tmp_path / "x.kb")
    kb = KnowledgeBase.load(tmp_path / "x.kb")
    assert [kb.definition(entity) for entity in kb] == ["", "A letter."]


def test_the_same_knowledge_base_makes_the_same_file(tmp_path: Path) -> None:
    for name in ("1.kb", "2.kb"):
        KnowledgeBase.of([HEART, HAFNIUM], replacements={"x": "C001"}).save(tmp_path / name)
    assert (tmp_path / "1.kb").read_bytes() == (tmp_path / "2.kb").read_bytes()


def test_a_loaded_knowledge_base_can_be_used_up_loaded_and_saved_again(tmp_path: Path) -> None:
    path = tmp_path / "x.kb"
    KnowledgeBase.of([HEART, HAFNIUM]).save(path)
    kb = pickle.loads(pickle.dumps(KnowledgeBase.load(path)))
    assert kb.names("C001") == ("Hafnium", "Hf", "HF")
    loaded = KnowledgeBase.load(path)
    loaded.save(path)  # over the file that it is mapped from
    assert loaded.names("C001") == KnowledgeBase.load(path).names("C001") == kb.names("C001")


def test_damaged_files_are_reported(tmp_path: Path) -> None:
    kb = KnowledgeBase.of([Entity(f"e{i}", f"name {i}", (f"n {i % 7}",)) for i in range(20)])
    path = tmp_path / "x.kb"
    kb.save(path)
    good = path.read_bytes()
    rng = random.Random(0)
    broken = [good[:size] for size in (0, 1, 8, 100, len(good) // 2, len(good) - 1)]
    for _ in range(150):
        place = rng.randrange(len(good))
        broken.append(
            good[:place] + bytes([good[place] ^ (1 << rng.randrange(8))]) + good[place + 1 :]
        )
    told = []
    for content in broken:
        path.write_bytes(content)
        try:
            same = KnowledgeBase.load(path)
        except DataError as error:
            told.append(str(error))
        else:  # what changed was only filling
            assert [same.names(entity) for entity in same] == [kb.names(entity) for entity in kb]
    assert len(told) > len(broken) / 2
    assert all(message.startswith(f"{path}: ") for message in told)


def test_changed_letters_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.kb"
    KnowledgeBase.of([HEART]).save(path)
    path.write_bytes(path.read_bytes().replace(b"Cardiac", b"Cordiac"))
    with pytest.raises(DataError, match="a damaged knowledge base: its checksum differs"):
        KnowledgeBase.load(path)


def test_other_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{tmp_path / 'gone.kb'}: "):
        KnowledgeBase.load(tmp_path / "gone.kb")
    with pytest.raises(DataError, match=f"{tmp_path}: "):
        KnowledgeBase.load(tmp_path)
    path = tmp_path / "x.kb"
    path.write_text("id,name\n1,x\n")
    with pytest.raises(DataError, match="not a knowledge base, or a damaged one"):
        KnowledgeBase.load(path)
    table = pa.table({"id": ["1"]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(DataError, match="not a knowledge base that was saved by this program"):
        KnowledgeBase.load(path)
    schema = table.schema.with_metadata({"form": "synsetmine.kb", "version": "99"})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(table)
    with pytest.raises(DataError, match="of another version of this program; read it again: '99'"):
        KnowledgeBase.load(path)


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_a_compressed_file_is_refused(tmp_path: Path, compression: str) -> None:
    """Arrow would unpack a few kilobytes to any size before the checksum is looked at."""
    path, bomb = tmp_path / "x.kb", tmp_path / "bomb.kb"
    KnowledgeBase.of([HEART]).save(path)
    table = pa.ipc.open_file(path).read_all()
    zeros = pa.array(np.zeros(2**22, np.int64))
    cell = pa.LargeListArray.from_arrays(pa.array([0, len(zeros)], pa.int64()), zeros)
    large = table.set_column(table.column_names.index("name_starts"), "name_starts", cell)
    large = large.replace_schema_metadata(table.schema.metadata)
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (
        pa.OSFile(str(bomb), "wb") as sink,
        pa.ipc.new_file(sink, large.schema, options=options) as writer,
    ):
        writer.write_table(large)
    assert bomb.stat().st_size < zeros.nbytes / 100
    usual, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.system_memory_pool())
    pa.set_memory_pool(counted)
    try:
        with pytest.raises(DataError, match="a compressed knowledge base, which may be of any"):
            KnowledgeBase.load(bomb)
    finally:
        pa.set_memory_pool(usual)
    assert counted.max_memory() < 2**20


def test_an_interrupted_save_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.kb"
    KnowledgeBase.of([HEART]).save(path)

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        KnowledgeBase.of([HAFNIUM]).save(path)
    assert list(KnowledgeBase.load(path)) == [HEART.id]
    assert [file.name for file in tmp_path.iterdir()] == ["x.kb"]
