"""Seeded damage: to bytes, to text, to Parquet files where it hurts, to values of tables and trees."""

from __future__ import annotations

import json
import struct
from random import Random
from typing import Any

import numpy as np
import pyarrow.parquet as pq

ODD_NUMBERS = [
    0, -1, 1, 7, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64 + 1, -(2**63), -(2**63) - 1, 10**30,
    0.5, -0.0, 1e300, 1e-320, 5.0,
]  # fmt: skip
ODD_TEXTS = [
    "", " ", "007", "7", "7.0", "+7", "-0", "1e3", "2020-01-01", "2020-01-01T00:00:00Z", "12:30", "true",
    "null", "NULL", "NA", "nan", "inf", "none of mine", "item", "expert", "label", "skin ", "Skin", "\u0000",
    "\u0001", "a\nb", "a\r\nb", 'say "hi"', "'quoted'", "a,b", "a;b", "\ufeff", "\u202e", "\x1b[2J", "=1+1",
    "皮膚", "e\u0301", "é", "\U0001f600", "x" * 300, "../../etc/passwd", "0x1F", "1_000", "٣",
]  # fmt: skip
ODD_BYTES = [
    b"\x00", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b",", b";", b"\t", b"\n", b"\r",
    b"\r\n", b"{", b"}", b"[", b"]", b":", b"\\", b"\\u0000", b"\\ud800", b"\xc3\x28", b"\xed\xa0\x80", b"-",
    b"9" * 40, b"1e999", b"[" * 5000, b'{"a":' * 5000,
    b"[[experts]]\n", b"=", b"#", b"\x1a", b"PAR1", b"PK\x03\x04",
    b"\x93NUMPY", b"nan", b"NaN", b"Infinity", b"null", b"true",
]  # fmt: skip


def damaged(random: Random, data: bytes, first: int = 0, last: int | None = None) -> bytes:
    """Return bytes with a few changes between `first` and `last`: flips, cuts, copies, odd sequences."""
    out = bytearray(data)
    last = len(out) if last is None else last
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        end = max(first + 1, min(last, len(out)))
        place = random.randrange(first, end)
        how = random.randrange(8)
        if how == 0 and out:
            out[min(place, len(out) - 1)] ^= 1 << random.randrange(8)
        elif how == 1 and out:
            out[min(place, len(out) - 1)] = random.choice([0, 1, 127, 128, 255, random.randrange(256)])
        elif how == 2:
            del out[place : place + random.choice([1, 1, 2, 4, 30])]
        elif how == 3:
            out[place:place] = random.choice(ODD_BYTES)
        elif how == 4:
            odd = random.choice(ODD_BYTES)
            out[place : place + len(odd)] = odd
        elif how == 5:
            size = random.choice([1, 4, 20, 100])
            out[place:place] = out[place : place + size]
        elif how == 6 and random.random() < 0.3:
            del out[place:]
        else:
            number = struct.pack(
                random.choice(["<i", "<q", ">i", "<d"]), random.choice([-1, 0, 1, 2, 7, 1 << 30])
            )
            out[place : place + len(number)] = number
    return bytes(out)


def damaged_parquet(random: Random, data: bytes, metadata: pq.FileMetaData) -> bytes:
    """Return a Parquet file with damage in its footer, a dictionary page, a data page, or anywhere."""
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    how = random.randrange(6)
    if how == 0:
        return damaged(random, data)
    if how == 1:
        # The length of the footer stays what it was, so that the damage inside is read.
        part = bytearray(data)
        for _ in range(random.choice([1, 1, 2, 4])):
            part[random.randrange(footer, len(data) - 8)] = random.randrange(256)
        return bytes(part)
    chunk = metadata.row_group(random.randrange(metadata.num_row_groups)).column(
        random.randrange(metadata.num_columns)
    )
    if how == 2:
        return lying_statistics(random, data, footer)
    first = chunk.data_page_offset
    last = first + chunk.total_compressed_size
    if how in (3, 4) and chunk.has_dictionary_page:
        first, last = chunk.dictionary_page_offset, chunk.dictionary_page_offset + chunk.total_compressed_size
    out = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 3, 6])):
        out[random.randrange(first, min(last, footer))] = random.choice(
            [0, 1, 2, 63, 127, 128, 255, random.randrange(256)]
        )
    return bytes(out)


def lying_statistics(random: Random, data: bytes, footer: int) -> bytes:
    """Return a Parquet file some of whose numbers of 4 or 8 bytes in the footer (min, max) are others."""
    out = bytearray(data)
    runs = [
        n
        for n in range(footer, len(data) - 16)
        if (data[n] == 0x08 or data[n] == 0x04) and data[n + 3 : n + 1 + data[n]].count(0) >= data[n] - 2
    ]
    for place in random.sample(runs, min(len(runs), random.choice([1, 2, 4]))):
        size = out[place]
        number = random.choice([-(2**31), 2**31 - 1, -5, 0, 3, 1000, 10**9])
        out[place + 1 : place + 1 + size] = (number % 256**size).to_bytes(size, "little")
    return bytes(out)


def odd_value(random: Random) -> Any:
    """Return a value that nobody expects in a tree of values."""
    deep: Any = []
    for _ in range(random.choice([1, 3, 500])):
        deep = [deep]
    return random.choice(
        [None, True, [], {}, {"a": 1}, [[1]], deep, random.choice(ODD_NUMBERS), random.choice(ODD_TEXTS)]
    )


def damaged_tree(random: Random, tree: Any) -> Any:
    """Return a copy of a tree of lists and dicts with one or a few values changed, lost or doubled."""
    tree = json.loads(json.dumps(tree))
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        node, steps = tree, random.randrange(1, 5)
        for _ in range(steps):
            if not isinstance(node, dict | list) or not node:
                break
            key = random.choice(list(node) if isinstance(node, dict) else range(len(node)))
            inner = node[key]
            if isinstance(inner, dict | list) and inner and random.random() < 0.75:
                node = inner
                continue
            how = random.randrange(5)
            if how == 0:
                del node[key]
            elif how == 1 and isinstance(node, list):
                node.insert(random.randrange(len(node) + 1), inner)
            elif how == 2 and isinstance(node, dict):
                node[random.choice(ODD_TEXTS)] = inner
            elif how == 3 and isinstance(inner, int | float) and not isinstance(inner, bool):
                node[key] = random.choice(ODD_NUMBERS)
            else:
                node[key] = odd_value(random)
            break
    return tree


def damage_arrays(random: Random, arrays: dict[str, Any]) -> None:
    """Change one of several arrays: a value, its length, its type or its shape; or lose it."""
    name = random.choice(list(arrays))
    array, how = arrays[name].copy(), random.randrange(6)
    if how == 0:
        del arrays[name]
        return
    if how == 1 and array.size:
        array = array.repeat(random.choice([0, 2, 1000]), axis=0)
    elif how == 2:
        kind = random.choice(["f8", "i1", "U5", "?", "c16"])
        array = array.astype("U9" if array.dtype.kind == "U" else kind)
    elif how == 3:
        array = array.reshape(random.choice([(-1, 1), (1, -1)]))
    elif array.size:
        place = random.randrange(array.size)
        number = random.choice([-(2**63), -3, -2, -1, 0, 1, 7, 10**15, 2**63 - 1])
        array.flat[place] = np.array([number]).astype(array.dtype)[0]
    arrays[name] = array
