"""Nothing from outside becomes markup in a report, and nothing foreign may run or load."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings

from tests.support.findings import NASTY, findings_with, nasty_texts, sample
from tests.support.pages import Page, read_back

quick = settings(max_examples=40, deadline=None)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Page.of(tmp_path_factory.mktemp("page"), sample())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def plain(folder: Path) -> Page:
    return Page.of(folder, findings_with("plain"))


@given(nasty_texts)
@example(NASTY[0])
@example(NASTY[1])
@example(NASTY[2])
@quick
def test_text_from_outside_stays_text(folder: Path, plain: Page, text: str) -> None:
    page = Page.of(folder, findings_with(text))
    assert page.shape == plain.shape
    assert read_back(page) == findings_with(text).sets
    for script in page.all("script")[:-1]:
        assert not re.search("[<>&\u2028\u2029]", script.text)
    assert page.all("script")[-1] == plain.all("script")[-1]
    assert page.all("style") == plain.all("style")
    if text in NASTY:
        assert page.all("h1")[0].text == text


def test_half_a_surrogate_pair_does_not_stop_the_report(folder: Path) -> None:
    page = Page.of(folder, findings_with("a\ud800b"))
    assert page.all("h1")[0].text == "a?b"
    assert read_back(page)[0].terms[0].text == "a?b"


def test_only_the_script_and_the_style_of_the_page_may_run(page: Page) -> None:
    (policy,) = [e for e in page.all("meta") if "http-equiv" in e.attributes]
    assert policy.attributes["http-equiv"] == "Content-Security-Policy"
    (style,) = page.all("style")
    code = [e for e in page.all("script") if e.attributes.get("type") != "application/json"]
    assert len(code) == 1
    assert policy.attributes["content"] == (
        f"default-src 'none'; script-src '{sha256(code[0].text)}'; "
        f"style-src '{sha256(style.text)}'; base-uri 'none'; form-action 'none'"
    )
    # A policy holds only for what comes after it.
    order = [e.tag for e in page.elements]
    assert page.elements.index(policy) < min(order.index("style"), order.index("script"))


def sha256(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_page_loads_nothing(page: Page) -> None:
    for element in page.elements:
        for name, value in element.attributes.items():
            assert not name.startswith("on"), f"{element.tag} {name}"
            assert name not in {"style", "src", "srcset", "action", "data", "background"}
            if name in {"href", "xlink:href"}:
                assert (value or "").startswith("#")
    assert not page.all("link", "img", "iframe", "object", "embed", "base", "form", "image", "use")
    (style,) = page.all("style")
    assert not re.search(r"url\(|@import|expression", style.text)
    whole = page.all("html")[0].text
    assert "http:" not in whole
    assert "https:" not in whole


def test_the_script_makes_no_markup_from_data(page: Page) -> None:
    code = page.all("script")[-1].text
    forbidden = "innerHTML|outerHTML|insertAdjacentHTML|document.write|eval|Function|fetch|XMLHttp"
    assert not re.search(rf"\b(?:{forbidden})\b", code)
