from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The same commit gives the same result: random examples are searched for with
# `HYPOTHESIS_PROFILE=explore`, and what that finds becomes an @example. No result depends on how
# busy the machine is.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", UNTIMED, derandomize=True)
settings.register_profile("explore", UNTIMED, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Two test processes with two threads each would only wait for each other, and so would the
# programs that they start. numpy and torch read this when they load.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell starts background jobs with interrupts ignored, and the programs that a test starts and
# interrupts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

BENCHMARKS = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def nyt() -> Path:
    """The paper's NYT data, where a copy lies beside the checkout."""
    folder = BENCHMARKS / "nyt"
    if not folder.is_dir():
        pytest.skip("the paper's NYT data is not at hand")
    return folder


CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser, where one is installed."""
    api = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip("chromium is not at hand")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests go straight to the test's own server."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("a small file system cannot be mounted here")
    yield disk
    # Lazily: a file that is still mapped into memory may keep it.
    subprocess.run(["umount", "--lazy", str(disk)], check=True)
