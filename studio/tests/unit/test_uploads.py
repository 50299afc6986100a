"""Every file that is sent is taken, or named with the reason; nothing is read before its size is known."""

import io
import os
import resource
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from PIL import Image

from covote_studio.exchange import importing, table_files
from covote_studio.exchange.uploads import receive
from covote_studio.storage.schema import item

PAGE = {"Accept": "text/html"}


def drawn(kind, size=(40, 30), **more):
    packed = io.BytesIO()
    pixels = np.random.default_rng(1).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(packed, kind, **more)
    return packed.getvalue()


def sent(*files):
    return [("files", (name, content)) for name, content in files]


@pytest.fixture
def owner(rig):
    return rig.browser("owner")


FOLDER = [("pics/IMG_10.jpg", drawn("JPEG")), ("pics/IMG_9.jpg", drawn("JPEG")),
          ("pics/scan.tif", drawn("TIFF")),
          ("pics/old.bmp", drawn("BMP")), ("pics/paper.pdf", b"%PDF-1.4"), ("pics/.DS_Store", b"x"),
          ("pics/broken.png", drawn("PNG")[:200]), ("pics/empty.jpg", b"")]  # fmt: skip


def test_a_folder_says_what_became_of_every_file(rig, owner):
    shown = owner.post("/items", files=sent(*FOLDER), headers=PAGE)
    assert "4 items added. 3 left out." in shown.text
    for told in ("“paper.pdf” is not a picture", "“broken.png” is damaged", "“empty.jpg” is empty"):
        assert told in shown.text
    assert "BytesIO" not in shown.text
    keys = [row.key for row in rig.rows(item)][6:]
    assert keys == ["IMG_9.jpg", "IMG_10.jpg", "old.bmp", "scan.tif"]  # natural order, without the folder


def test_pictures_that_browsers_do_not_show_are_converted(rig, owner):
    deep = io.BytesIO()
    Image.fromarray(np.arange(1200, dtype=np.uint16).reshape(30, 40) * 50).save(deep, "TIFF")
    owner.post(
        "/items", files=sent(("a.bmp", drawn("BMP")), ("b.tif", drawn("TIFF")), ("c.tif", deep.getvalue()))
    )
    for row in rig.rows(item)[6:]:
        told = owner.get(row.content)
        assert told.headers["content-type"] == "image/png"
        assert Image.open(io.BytesIO(told.content)).size == (40, 30)
    levels = np.asarray(Image.open(io.BytesIO(told.content)))
    assert (levels.min(), levels.max()) == (0, 255)  # 16 bits: from the darkest to the brightest point


def phone_picture():
    """Return a HEIC file of a red and a blue half, taken with the phone on its side."""
    pillow_heif = pytest.importorskip("pillow_heif", reason="no encoder of HEIC here")
    halves = np.zeros((40, 60, 3), np.uint8)
    halves[:, :30, 0] = halves[:, 30:, 2] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    packed = io.BytesIO()
    pillow_heif.from_pillow(Image.fromarray(halves)).save(packed, exif=exif.tobytes(), quality=90)
    return packed.getvalue()


def test_pictures_of_phones_are_converted(rig, owner):
    heic = phone_picture()
    assert heic[4:12] == b"ftypheic"
    cut = heic[: len(heic) // 2]
    shown = owner.post("/items", files=sent(("IMG_1.HEIC", heic), ("IMG_2.HEIC", cut)), headers=PAGE)
    assert "1 item added. 1 left out." in shown.text
    told = owner.get(rig.rows(item)[-1].content)
    assert told.headers["content-type"] == "image/jpeg"
    seen = Image.open(io.BytesIO(told.content))
    assert seen.size == (40, 60)  # upright, as the phone shows it
    top, bottom = seen.getpixel((20, 10)), seen.getpixel((20, 50))
    assert top[0] > 200 > 60 > top[2]
    assert bottom[2] > 200 > 60 > bottom[0]


def test_a_zip_says_what_became_of_its_files(rig, owner):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in FOLDER:
            archive.writestr(name, content)
        archive.writestr("__MACOSX/pics/._IMG_9.jpg", b"x")
    shown = owner.post("/items", files=sent(("pics.zip", packed.getvalue())), headers=PAGE)
    assert "4 items added. 3 left out." in shown.text
    assert [row.key for row in rig.rows(item)][6:8] == ["IMG_9.jpg", "IMG_10.jpg"]


def test_gold_for_items_that_are_there_comes_from_a_table(rig, owner):
    table = b"id,gold\ni1,cat\ni2,dog\nx,cat\n"
    shown = owner.post("/items", files=sent(("gold.csv", table)), headers=PAGE)
    assert "2 items are here already, and their gold is set; 1 row cannot be read." in shown.text
    assert "there is no item “x” here" in shown.text
    chosen = {"content": "", "kind": "text", "id": "id", "gold": "gold"}
    done = owner.post(shown.url.path, data=chosen, headers=PAGE)
    assert "gold is set for 2" in done.text
    assert [row.gold for row in rig.rows(item)][:3] == [rig.classes["cat"], rig.classes["dog"], None]


def test_gold_is_set_for_the_items_that_are_ticked(rig, owner):
    owner.post("/items/gold", data={"item": [1, 3], "gold": rig.classes["fox"]})
    assert [row.gold for row in rig.rows(item)] == [rig.classes["fox"], None, rig.classes["fox"], *[None] * 3]
    owner.post("/items/gold", data={"item": [3], "gold": "0"})
    assert rig.rows(item)[2].gold is None


def test_nr_is_an_id_and_what_is_left_is_shown(owner):
    table = b"nr,note,gold\n7,purrs,cat\n"
    shown = owner.post("/items", files=sent(("t.csv", table)), headers=PAGE).text
    assert "1 item can be added" in shown


def small_file_of_much(kind, folder):
    """Return a small file that becomes very large when it is read."""
    place = folder / ("bomb.xlsx" if kind == "xlsx" else "bomb.parquet")
    if kind == "xlsx":
        with xlsxwriter.Workbook(place, {"constant_memory": True}) as book:
            sheet = book.add_worksheet()
            for n in range(200_000):
                sheet.write_row(n, 0, [7] * 12)
    elif kind == "rows":
        pq.write_table(pa.table({"text": ["a"] * 2_000_000}), place)
    elif kind == "texts":
        long = [f"{n}{'x' * 100_000}" for n in range(2_800)]
        pq.write_table(pa.table({"text": long}), place, compression="zstd", use_dictionary=False)
    else:
        long = pa.array(["x" * 100_000])
        words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(60_000, np.int32)), long)
        pq.write_table(pa.table({"text": words}), place, compression="zstd")
    return place


PROGRAM = """
import re, sys
from pathlib import Path
from covote_studio.exchange import importing, table_files
from covote_studio.rules import Refusal
def peak():  # of this program alone: ru_maxrss begins with that of the program that started it
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
content = Path(sys.argv[1]).read_bytes()
table_files.read_table("first.csv", b"id,text\\n1,a\\n")
before = peak()
try:
    table_files.read_table(Path(sys.argv[1]).name, content)
except Refusal as refused:
    print(refused)
print(peak() - before)
"""


@pytest.mark.parametrize("kind", ["parquet", "texts", "rows", "xlsx"])
def test_a_small_file_of_much_is_refused_before_it_is_read(tmp_path, kind):
    place = small_file_of_much(kind, tmp_path)
    assert place.stat().st_size < 20_000_000
    told, kilobytes = subprocess.check_output(
        [sys.executable, "-c", PROGRAM, place], text=True, env=dict(os.environ)
    ).splitlines()
    assert "has " in told
    assert "in parts" in told
    assert int(kilobytes) < 200_000


def test_a_picture_of_too_many_points_is_refused_before_it_is_decoded(rig, owner):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shown = owner.post("/items", files=sent(("wide.png", _white(12_000, 12_000))), headers=PAGE)
    assert "12,000 x 12,000 pixels" in shown.text
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def _white(width, height):
    packed = io.BytesIO()
    Image.new("1", (width, height)).save(packed, "PNG")
    return packed.getvalue()


def test_a_table_is_read_once(rig, owner, monkeypatch):
    read, times = table_files.read_table, []
    monkeypatch.setattr(table_files, "read_table", lambda *given: times.append(1) or read(*given))
    begun = owner.post("/items", files=sent(("t.csv", b"id,text\n1,a\n")))
    assert "1 item can be added" in owner.get(begun.url.path, headers=PAGE).text
    owner.post(begun.url.path, data={"content": "text", "kind": "text", "id": "id"})
    assert rig.rows(item)[-1].key == "1"
    assert times == [1]


def test_two_hundred_hostile_files_are_one_line_each(rig):
    chance = np.random.default_rng(4)
    whole = {"png": drawn("PNG"), "jpg": drawn("JPEG"), "gif": drawn("GIF"), "tif": drawn("TIFF"),
             "bmp": drawn("BMP"), "webp": drawn("WEBP")}  # fmt: skip
    files = []
    for n in range(200):
        kind = list(whole)[n % 6]
        content = bytearray(whole[kind])
        for _ in range(12):
            content[chance.integers(len(content))] = chance.integers(256)
        files.append((f"{n:03}.{kind}", io.BytesIO(bytes(content[: chance.integers(1, len(content))]))))
    upload = receive(rig.studio.database, rig.studio.folder, files)
    assert len(upload.left_out) + len(upload.stored) == 200
    assert len(upload.left_out) > 150
    assert all("\n" not in why and why.endswith(".") for _, why in upload.left_out)


def test_people_go_on_answering_while_many_items_become_gold(rig, monkeypatch):
    monkeypatch.setattr(importing, "GOLD_CHUNK", 2)
    begun, write = [], rig.studio.database.write
    monkeypatch.setattr(rig.studio.database, "write", lambda: begun.append(1) or write())
    rows = [(f"i{n}", "text", f"text {n}", rig.classes["cat"]) for n in range(1, 6)]
    assert importing.add_items(rig.studio.database, rows).golden == 5
    assert len(begun) == 3


def test_a_table_that_waits_is_no_result(owner):
    shown = owner.post("/items", files=sent(("t.csv", b"id,text\n1,a\n")), headers=PAGE)
    assert owner.get(shown.url.path.replace("import", "added")).status_code == 404
