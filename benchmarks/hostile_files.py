# ruff: noqa: E501
"""Damaged, huge and hostile files: to commands with little memory, and to the studio (`studio.py uploads`).

    python benchmarks/hostile_files.py --memory 4

Each file that is small on disk and huge in memory is given to the command that reads such files, in a process
that may use --memory GiB of addresses. It has to end in labels, or in one line and with exit status 2.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import resource
import sqlite3
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter
from pages import replace_table
from PIL import Image

from covote import Asker, Panel

RESULTS = Path(__file__).parent / "results" / "hostile-files.md"
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


def gzipped(head: bytes, repeated: bytes, times: int, end: bytes = b"") -> bytes:
    """Return compressed text with a part that is repeated; the parts of a .gz file may be compressed one by one."""
    return gzip.compress(head) + gzip.compress(repeated) * times + gzip.compress(end)


def archive(folder: Path, name: str, made: Callable[[str], object]) -> bytes:
    """Return an archive of arrays that covote wrote, with 1 GB of zeros in the place of its first array."""
    made(str(folder / name))
    packed = io.BytesIO()
    with zipfile.ZipFile(folder / name) as whole, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bomb:
        first = whole.infolist()[0].filename
        for entry in whole.infolist():
            if entry.filename != first:
                bomb.writestr(entry.filename, whole.read(entry))
        with bomb.open(first, "w", force_zip64=True) as file:
            file.write(npy_head("<f8", (1 << 27,)))
            for _ in range(16):
                file.write(bytes(1 << 26))
    return packed.getvalue()


def npy_head(kind: str, shape: tuple[int, ...]) -> bytes:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": kind, "fortran_order": False, "shape": shape})
    return head.getvalue()


def constant_votes(rows: int) -> bytes:
    """Return votes of which each column is one value, repeated: a few kB for any number of rows."""
    column = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["a"])
    return parquet(pa.table({"item": column, "expert": column, "label": column}))


def sqlite_of(*statements: str) -> bytes:
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in statements:
            made.execute(statement)
        made.commit()
        return made.serialize()


DECODE, MEBI = "decode {} --panel panel.toml -o out.csv", 1 << 20
BOMBS: dict[str, tuple[str, Callable[[Path], bytes], str]] = {
    "4 GB of one line, compressed": ("line.csv.gz", lambda _: gzipped(b"item,expert,label\n", b"a" * MEBI, 4096), DECODE),
    "4 GB of empty lines, compressed": ("empty.csv.gz", lambda _: gzipped(b"item,expert,label\n", b"\n" * MEBI, 4096), DECODE),
    "an open quote before 4 GB, compressed": ("quote.csv.gz", lambda _: gzipped(b'item,expert,label\n1,"', b"a,\n" * MEBI, 1365), DECODE),
    "2 GB of columns, compressed": ("wide.csv.gz", lambda _: gzipped(b"item", b",c" * MEBI, 1024, b"\n1\n"), DECODE),
    "one JSON text of 4 GB, compressed": ("text.jsonl.gz", lambda _: gzipped(b'{"item": "', b"a" * MEBI, 4096, b'"}'), DECODE),
    "4 GB of brackets, compressed": ("deep.jsonl.gz", lambda _: gzipped(b'{"item": ', b"[" * MEBI, 4096), DECODE),
    "one vote 170 million times, compressed": ("same.csv.gz", lambda _: gzipped(b"item,expert,label\n", b"a,x,a\n" * MEBI, 162), DECODE),
    "one vote 50 million times, in Parquet": ("same.parquet", lambda _: constant_votes(50_000_000), DECODE),
    "a text of 100 kB 60,000 times, in Parquet": ("repeats.parquet", lambda _: parquet(pa.table({name: pa.array(["x" * 100_000] * 60_000).dictionary_encode() for name in ("item", "expert", "label")})), DECODE),
    "a sheet of 600 MB": ("sheet.xlsx", lambda _: sheet_bomb(600_000_000), DECODE),
    "a sheet of 1.5 GB": ("larger.xlsx", lambda _: sheet_bomb(1_500_000_000), DECODE),
    "a state of 1 GB": ("state.npz", lambda folder: archive(folder, "a.npz", Asker(Panel.load(folder / "panel.toml"), 5).save), "ask --panel panel.toml --state {}"),
    "a heading of 10^15 numbers": ("data.npy", lambda _: npy_head("<f8", (10**15,)) + bytes(800), "label {} --panel models.toml --trust -o out.csv"),
    "a heading of numbers of 10^18 bytes": ("data.npy", lambda _: npy_head(f"V{2**31 - 1}", (10**9,)) + bytes(800), "label {} --panel models.toml --trust -o out.csv"),
    "images that say 2,000,000 x 2,000,000": ("photos/a.png", lambda _: png_of(2_000_000, 2_000_000), "label photos --panel models.toml --trust -o out.csv"),
    "images of 12,000 x 12,000, all black": ("photos/a.png", lambda _: png_of(12_000, 12_000), "label photos --panel models.toml --trust -o out.csv --image-size 8x8"),
    "a view without end in kept answers": ("kept.answers.sqlite", lambda _: sqlite_of("PRAGMA application_id = 1668249199", "PRAGMA user_version = 18", "CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID", "CREATE VIEW items AS WITH RECURSIVE n(p) AS (SELECT 0 UNION ALL SELECT p + 1 FROM n) SELECT p AS position, p AS name FROM n"), DECODE),
    "a JSON panel of 300 MB of brackets": ("deep.json", lambda _: b"[" * 300_000_000, "check {}"),
    "a TOML panel of a million numbers": ("long.toml", lambda _: b"classes = [" + b"1," * 1_000_000 + b"]", "check {}"),
}  # fmt: skip
"""What is in a file, its name, what writes it, and the command that reads it."""


def limited(command: list[str], folder: Path, gib: float) -> tuple[int, str, float, float]:
    """Run a command with little memory; return (status, errors, CPU seconds, peak in MB)."""
    with (folder / "errors").open("w+") as errors:
        child = os.fork()
        if not child:
            os.chdir(folder)
            resource.setrlimit(resource.RLIMIT_AS, (int(gib * 2**30),) * 2)
            resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(0, 1)
            os.dup2(errors.fileno(), 2)
            os.execv(sys.executable, [sys.executable, "-m", "covote", *command])
        _, status, used = os.wait4(child, 0)
        errors.seek(0)
        return (
            os.waitstatus_to_exitcode(status), errors.read(), used.ru_utime + used.ru_stime,
            used.ru_maxrss / 1000,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", type=float, default=4, help="GiB of addresses for a command")
    parser.add_argument("--only", default="", help="a part of the descriptions")
    options = parser.parse_args()
    lines = ["| file | on disk | command | outcome | CPU | peak |", "|---|---|---|---|---|---|"]
    wrong = 0
    for what, (name, make, command) in BOMBS.items():
        if options.only not in what:
            continue
        with tempfile.TemporaryDirectory(prefix="covote-hostile-") as place:
            folder = Path(place)
            blocks = [["a", "b"], ["a", "c"], ["b", "c"]]
            Panel.from_blocks(list("abc"), blocks, ["x", "y", "z"]).save(folder / "panel.toml")
            models = ["python:said:answer"] * 3
            Panel.from_blocks(list("abc"), blocks, ["x", "y", "z"], models=models).save(
                folder / "models.toml"
            )
            (folder / "said.py").write_text("def answer(batch):\n    return [None] * len(batch)\n")
            (folder / "votes.csv").write_text("item,expert,label\n1,x,a\n1,y,a\n2,z,b\n")
            (folder / "photos").mkdir()
            content = make(folder)
            (folder / name).write_bytes(content)
            before = sorted(path.name for path in folder.iterdir())
            argv = command.format(name).split()
            status, said, seconds, peak = limited(argv, folder, options.memory)
            left = sorted(path.name for path in folder.iterdir() if path.name != "errors")
        said = "\n".join(line for line in said.splitlines() if not line.startswith("Trusted to run code"))
        refused = status == 2 and said.startswith("covote: ") and said.count("\n") == 0
        finished = status in (0, 3) and not said  # 3: the model of these files never answers
        if not (finished or (refused and left == before)):
            wrong += 1
        outcome = "read" if finished else said if refused else f"status {status}: {said[-200:]}"
        lines.append(
            f"| {what} | {len(content) / 1e6:.1f} MB | {argv[0]} | {outcome[:160].replace('|', '/')} | "
            f"{seconds:.1f} s | {peak:.0f} MB |"
        )
        print(lines[-1], flush=True)
    print(f"{len(lines) - 2} files, {wrong} not as they should be")
    if not options.only:
        replace_table(RESULTS, lines)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
