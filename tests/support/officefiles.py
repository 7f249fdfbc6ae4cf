"""Spreadsheets and PDF files as other programs write them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import openpyxl


def write_sheet(path: Path, rows: Iterable[Sequence[object]]) -> Path:
    """An .xlsx file with these rows on its first sheet, and another sheet."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append(row)
    book.create_sheet("other").append(["not", "read"])
    book.save(path)
    return path


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def write_shared(path: Path, strings: str, cells: str) -> Path:
    """An .xlsx file as Excel writes it: cells refer to strings; both are given as XML."""
    kinds = {"workbook": "sheet.main", "worksheets/sheet1": "worksheet"}
    kinds["sharedStrings"] = "sharedStrings"
    types = "".join(
        f'<Override PartName="/xl/{name}.xml" ContentType="{_KIND}.{kind}+xml"/>'
        for name, kind in kinds.items()
    )
    rels = "application/vnd.openxmlformats-package.relationships+xml"
    types += f'<Default Extension="rels" ContentType="{rels}"/>'

    def relations(*targets: tuple[str, str]) -> str:
        items = "".join(
            f'<Relationship Id="rId{n}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
            for n, (kind, target) in enumerate(targets, start=1)
        )
        return f'<Relationships xmlns="{_PACKAGE}/relationships">{items}</Relationships>'

    sheets = '<sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">{types}</Types>',
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{_OFFICE}">{sheets}</workbook>',
        "xl/_rels/workbook.xml.rels": relations(
            ("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml")
        ),
        "xl/sharedStrings.xml": strings,
        "xl/worksheets/sheet1.xml": (
            f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'
        ),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def pdf_of(*pages: Sequence[str]) -> bytes:
    """A PDF whose pages have these lines."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, lines in enumerate(pages):
        shown = " ".join(f"({line}) Tj T*" for line in lines)
        content = f"BT /F1 12 Tf 72 720 Td 14 TL {shown} ET"
        objects += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {5 + 2 * number} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>",
            f"<</Length {len(content)}>>stream\n{content}\nendstream",
        ]
    out = io.BytesIO()
    out.write(b"%PDF-1.4\n")
    offsets = []
    for number, text in enumerate(objects, start=1):
        offsets.append(out.tell())
        out.write(f"{number} 0 obj{text}endobj\n".encode())
    start, size = out.tell(), len(objects) + 1
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    end = f"trailer<</Size {size}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF"
    out.write(f"xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode())
    return out.getvalue()
