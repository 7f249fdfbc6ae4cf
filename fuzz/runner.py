"""Runs atheris on a target, again after each input that ends its process."""

from __future__ import annotations

import hashlib
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

TARGET_NAMES = (
    *("sets", "vectors", "kb-tables", "kb-ontologies", "kb-dumps", "corpora", "wikis", "parquet"),
    *("settings", "results", "answers", "lists", "office", "plans", "asked"),
)
HERE = Path(__file__).parent
SLOW = 5  # seconds of CPU time that no input may take
HANGS = 300  # seconds after which a process is ended
MEMORY = 2048  # MiB
OURS = 0.3  # of the inputs are changed by ourselves, the others by libFuzzer
SHORT = 4000  # bytes: what most inputs have at most, since short ones are soon read
LONG = 0.03  # of the inputs may be of 50,000

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded


def fuzz_target(name: str, minutes: float, out: Path) -> int:
    """Fuzz for so many minutes of CPU time; 1 if there are findings.

    `out/found` gets what is to be mended, with its traceback, `out/corpus` the inputs that reach
    something new, from which the next run goes on.
    """
    from fuzz.target import in_memory
    from fuzz.targets import TARGETS

    found, inputs = out / "found", out / "corpus" / name
    for folder in (found, inputs):
        folder.mkdir(parents=True, exist_ok=True)
    for seed in TARGETS[name].seeds():
        (inputs / f"seed-{hashlib.sha256(seed).hexdigest()[:16]}").write_bytes(seed)
    before = _findings(found, name)
    # A process that libFuzzer ends leaves its files behind, so they are put where we clean up.
    with tempfile.TemporaryDirectory(prefix="synsetmine-fuzz-", dir=in_memory()) as scratch:
        while (left := 60 * minutes - _cpu_seconds()) > 1:
            command = [sys.executable, "-m", "fuzz", name, "--process", str(int(left) + 1)]
            ended = subprocess.run(  # noqa: S603
                [*command, "--out", str(out.resolve())],
                check=False,
                cwd=HERE.parent,
                env=os.environ | {"TMPDIR": scratch},
            )
            if ended.returncode == 1:  # of libFuzzer's own; inputs end it with others
                sys.exit(f"{name}: the fuzzer could not start")
    new = sorted(_findings(found, name) - before)
    print(*new, f"{name}: {len(new)} findings in {found}", sep="\n", flush=True)
    return int(bool(new))


def fuzz_process(name: str, seconds: int, out: Path) -> None:
    """One process of libFuzzer; one that hangs, crashes or fills the memory leaves its input."""
    import atheris

    with atheris.instrument_imports(include=["synsetmine", "fuzz"]):
        from fuzz.mutation import mutate
        from fuzz.targets import TARGETS
    target = TARGETS[name]
    words = [word.encode() for word in target.words]
    known = _findings(out / "found", name)
    runs = 0

    def run(data: bytes) -> None:
        nonlocal runs
        runs += 1
        before = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                target.run(data)
            # By the CPU's clock: where others work too, the one on the wall says nothing.
            if time.process_time() - before > SLOW:
                raise TimeoutError(f"more than {SLOW} seconds")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _keep(out / "found", name, data, error, known)
        if time.process_time() > seconds:
            print(f"{name}: {runs} inputs in {time.process_time():.0f} s of CPU time", flush=True)
            os._exit(0)  # libFuzzer knows no end by this clock; what it found is on disk

    def mutate_input(data: bytes, longest: int, seed: int) -> bytes:
        chance = random.Random(seed)  # noqa: S311
        if chance.random() > LONG:
            longest = min(longest, SHORT)
        if chance.random() < OURS:
            return mutate(data, chance, words, longest=longest)
        return bytes(atheris.Mutate(data[:longest], longest))

    options = [
        *(f"-timeout={HANGS}", f"-rss_limit_mb={MEMORY}", f"-report_slow_units={HANGS}"),
        *("-max_len=50000", "-verbosity=0", f"-artifact_prefix={out / 'found' / name}-"),
        f"-dict={_dictionary(out / 'corpus' / f'{name}.dict', words)}",
    ]
    inputs = str(out / "corpus" / name)
    atheris.Setup([sys.argv[0], *options, inputs], run, custom_mutator=mutate_input)
    atheris.Fuzz()


def replay(name: str, files: Sequence[Path]) -> int:
    """Run inputs once; a finding ends with its traceback."""
    from fuzz.targets import TARGETS

    for file in files:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            TARGETS[name].run(file.read_bytes())
        print(f"{file}: fine")
    return 0


def _findings(found: Path, name: str) -> set[Path]:
    return {path for path in found.glob(f"{name}-*") if path.suffix != ".txt"}


def _keep(found: Path, name: str, data: bytes, error: BaseException, known: set[Path]) -> None:
    """Keep an input, one for each place where things go wrong."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f"{Path(f.filename).name}:{f.name}" for f in frames if "synsetmine" in f.filename]
    said = str(error) if isinstance(error, AssertionError) else ""
    last = f"{frames[-1].name} {frames[-1].lineno} {said}"
    place = f"{type(error).__name__} {ours[-3:]} {last}"
    path = found / f"{name}-{hashlib.sha256(place.encode()).hexdigest()[:12]}"
    if path not in known:
        known.add(path)
        path.write_bytes(data)
        told = "".join(traceback.format_exception(error))
        path.with_suffix(".txt").write_text(told, encoding="utf-8", errors="replace")


def _dictionary(path: Path, words: Sequence[bytes]) -> Path:
    escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in words)
    path.write_text("".join(f'"{word}"\n' for word in escaped), encoding="utf-8")
    return path


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
