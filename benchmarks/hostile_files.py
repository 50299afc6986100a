# ruff: noqa: E501
"""Damaged, huge and hostile files, as someone may send them to the studio, made from a seed."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter
from PIL import Image

PICTURES = {"png": "PNG", "jpg": "JPEG", "gif": "GIF", "webp": "WEBP", "tif": "TIFF", "bmp": "BMP"}
NAMES = (
    "../../etc/passwd.png",
    "a\\b.png",
    "x" * 300 + ".png",
    "−Ω 皮.png",
    "con.png",
    ".png",
    "a.png.exe",
    "a\tb.png",
)


def picture(kind: str, side: int = 200) -> bytes:
    rng, packed = np.random.default_rng(side), io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (side, side, 3), np.uint8)).save(packed, PICTURES[kind])
    return packed.getvalue()


def table(rows: int = 100) -> pa.Table:
    return pa.table({"id": [f"i{n}" for n in range(rows)], "text": [f"text {n}" for n in range(rows)]})


def parquet(made: pa.Table) -> bytes:
    packed = io.BytesIO()
    pq.write_table(made, packed)
    return packed.getvalue()


def workbook(rows: int) -> bytes:
    packed = io.BytesIO()
    with xlsxwriter.Workbook(packed, {"constant_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ("id", "text"))
        for n in range(rows):
            sheet.write_row(n + 1, 0, (f"i{n}", f"text {n}"))
    return packed.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def png_of(width: int, height: int) -> bytes:
    """Return a PNG that says that it is large, and is all black where it has points at all."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    points = zlib.compress(b"\0" * min((width + 1) * height, 200_000_000), 9)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", points) + chunk(b"IEND", b"")


def sheet_bomb(size: int) -> bytes:
    """Return a small workbook whose sheet has `size` bytes when it is unpacked."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook(1))) as whole, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:  # fmt: skip
        for entry in whole.infolist():
            content = whole.read(entry)
            if entry.filename.endswith("sheet1.xml"):
                content = content.replace(b"</sheetData>", b" " * size + b"</sheetData>")
            archive.writestr(entry.filename, content)
    return packed.getvalue()


def lying_zip() -> bytes:
    """Return a ZIP whose directory says that its file is small."""
    whole = bytearray(zipped({"a.png": b"\0" * 150_000_000}))
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = whole.index(mark)
        whole[at + place : at + place + 4] = struct.pack("<I", 1000)
    return bytes(whole)


HUGE: tuple[tuple[str, Callable[[], bytes]], ...] = (
    ("repeats.parquet", lambda: parquet(pa.table({"text": pa.array(["x" * 100_000] * 60_000).dictionary_encode()}))),
    ("rows.parquet", lambda: parquet(pa.table({"text": pa.array(["a"] * 3_000_000).dictionary_encode()}))),
    ("numbers.parquet", lambda: parquet(pa.table({"n": np.zeros(50_000_000, np.int64)}))),
    ("sheet.xlsx", lambda: sheet_bomb(600_000_000)),
    ("long.xlsx", lambda: workbook(400_000)),
    ("black.png", lambda: png_of(12_000, 12_000)),
    ("says-large.png", lambda: png_of(2_000_000, 2_000_000)),
    ("scan.tif", lambda: b"II*\0\x08\0\0\0" + picture("tif")[8:60]),
    ("nothing.zip", lambda: zipped({f"{n}.png": b"\0" * 400_000_000 for n in range(12)})),
    ("lies.zip", lying_zip),
    ("many.zip", lambda: zipped({f"{n}.png": b"" for n in range(40_000)})),
    ("inside.zip", lambda: zipped({"again.zip": zipped({"a.png": b"\0" * 100_000_000})})),
    ("slip.zip", lambda: zipped({"../../../tmp/x.png": picture("png"), "C:\\x.png": b"x", "/etc/x.png": b""})),
    ("wide.csv", lambda: ",".join(f"c{n}" for n in range(200_000)).encode() + b"\n1"),
    ("one-line.csv", lambda: b"text\n" + b"a" * 60_000_000),
    ("large.csv", lambda: b"id,text\n" + b"i,some text\n" * 9_500_000),
    ("open-quote.csv", lambda: b'id,text\n1,"' + b"a\n" * 5_000_000),
    ("deep.jsonl", lambda: b'{"text": ' + b"[" * 2_000_000 + b"]" * 2_000_000 + b"}"),
    ("number.jsonl", lambda: b'{"text": ' + b"9" * 3_000_000 + b"}\n"),
    ("photo.jpg", lambda: picture("jpg") + b"\0" * 30_000_000),
)  # fmt: skip


def small(rng: np.random.Generator, n: int) -> tuple[str, bytes]:
    """Return a small file that is damaged, empty, not what its name says, or has a strange name."""
    kinds = [*PICTURES]
    kind = kinds[n % len(kinds)]
    whole = picture(kind, 40 + n % 50)
    ways: tuple[Callable[[], tuple[str, bytes]], ...] = (
        lambda: (f"cut-{n}.{kind}", whole[: int(rng.integers(1, len(whole)))]),
        lambda: (f"zeros-{n}.{kind}", whole[: len(whole) // 2] + b"\0" * (len(whole) // 2)),
        lambda: (f"noise-{n}.{kind}", rng.bytes(int(rng.integers(0, 5000)))),
        lambda: (f"page-{n}.{kind}", b"<html><script>alert(1)</script>"),
        lambda: (f"drawing-{n}.svg", b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
        lambda: (f"cut-{n}.parquet", parquet(table())[: int(rng.integers(4, 900))]),
        lambda: (f"cut-{n}.xlsx", workbook(5)[: int(rng.integers(4, 4000))]),
        lambda: (f"cut-{n}.zip", zipped({"a.png": picture("png")})[: int(rng.integers(4, 3000))]),
        lambda: (f"noise-{n}.csv", rng.bytes(3000)),
        lambda: (f"empty-{n}.{('csv', 'xlsx', 'png', 'zip', 'jsonl', 'parquet')[n % 6]}", b""),
        lambda: (NAMES[n % len(NAMES)], b"\x89PNG\r\n\x1a\n" + rng.bytes(50)),
        lambda: (f"turned-{n}.{kind}", bytes(rng.permutation(np.frombuffer(whole, np.uint8)))),
        lambda: (f"rows-{n}.csv", b"id,text\na,\nb,\xff\xfe\n\x00,c\n"),
        lambda: (f"lines-{n}.jsonl", b'{"text": "a"}\n{"text": \n[]\n' + rng.bytes(40)),
        lambda: (f"sound-{n}.wav", b"RIFF" + rng.bytes(4) + b"WAVX" + rng.bytes(100)),
    )  # fmt: skip
    return ways[n % len(ways)]()


def files(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield the huge files, and small ones between them."""
    rng, huge = np.random.default_rng(seed), list(HUGE)
    for n in range(count):
        if n % max(1, count // len(HUGE)) == 0 and huge:
            name, make = huge.pop(0)
            yield name, make()
        else:
            yield small(rng, n)
