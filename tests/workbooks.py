"""Excel workbooks written by hand, as small as they can be."""

from __future__ import annotations

import io
import zipfile
from xml.sax.saxutils import escape

__all__ = ["cells", "workbook"]

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def workbook(**sheets: str) -> bytes:
    """Return a workbook of sheets by name, each with the XML of its rows."""
    names = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, start=1)
    )
    targets = "".join(
        f'<Relationship Id="r{n}" Type="{LINKS}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        document = f'<Relationship Id="r0" Type="{LINKS}/officeDocument" Target="xl/workbook.xml"/>'
        archive.writestr("_rels/.rels", f'<Relationships xmlns="{PACKAGE}">{document}</Relationships>')
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}"><sheets>{names}</sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE}">{targets}</Relationships>'
        )
        for n, rows in enumerate(sheets.values(), start=1):
            sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
            archive.writestr(f"xl/worksheets/sheet{n}.xml", sheet)
    return content.getvalue()


def cells(*rows: tuple[str, ...]) -> str:
    """Return the XML of rows of texts."""
    return "".join(
        f'<row r="{n}">'
        + "".join(
            f'<c r="{letter}{n}" t="inlineStr"><is><t>{escape(text)}</t></is></c>'
            for letter, text in zip("ABCDEFGH", row, strict=False)
            if text
        )
        + "</row>"
        for n, row in enumerate(rows, start=1)
    )
