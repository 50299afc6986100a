"""Tables as people make them: cells of text from CSV files and spreadsheets, headings in any words."""

from __future__ import annotations

import csv
import datetime
import io
import os
import re
import unicodedata
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covote.errors import FileError, InputError

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATORS = "\t;,"
_LARGEST = 1 << 30  # bytes of a spreadsheet, unpacked: a small file may be a bomb


def decoded(data: bytes, path: str | os.PathLike[str]) -> str:
    """Return the text of a file: UTF-8, UTF-16 with its mark, or else Windows-1252, as older programs write.

    >>> decoded("Zoë".encode("cp1252"), "a.csv"), decoded("Zoë".encode("utf-16"), "a.csv")
    ('Zoë', 'Zoë')
    """
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        try:
            if encoding == "utf-8-sig" and b"\0" not in data:
                return data.decode("cp1252")
        except UnicodeDecodeError:
            pass
        raise FileError(
            f"{path} is not a text file in UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error


def separator(text: str, usual: str = "") -> str:
    """Return what separates the cells of a text: the tab, semicolon or comma that stands in every line.

    Where several could, it is the `usual` one.

    >>> separator("doctor;skin;eye"), separator("ann; skin, eye, ear"), separator('a,"b;c"')
    (';', ';', ',')
    """
    lines = [line for line in re.sub(r'"(?:[^"]|"")*"', "", text).splitlines() if line.strip()]
    marks = usual + SEPARATORS
    counts = {mark: {line.count(mark) for line in lines} for mark in marks}
    in_all = [mark for mark in marks if 0 not in counts[mark]]
    for mark in in_all:
        if len(counts[mark]) == 1:  # a table: the same number in every line
            return mark
    in_some = in_all or [mark for mark in marks if counts[mark] != {0}]
    firsts = [min(in_some, key=lambda mark: (line + mark).index(mark)) for line in lines if in_some]
    return max(in_some, key=firsts.count, default=usual or ",")


def split(text: str) -> list[list[str]]:
    """Return the cells of a text; blanks around them do not count, except inside quotes.

    >>> split('a, " b" ,c\\n\\n1,2,')
    [['a', ' b', 'c'], ['1', '2', '']]
    """
    mark = separator(text)
    if not re.search(r'"[ \t]|[ \t]"', text):
        try:
            reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=mark)
            return [[cell.strip() for cell in row] for row in reader if row]
        except csv.Error as error:
            raise InputError(f"not a CSV file: {error}") from error
    cell = re.compile(rf'[ ]*"((?:[^"]|"")*)"[ ]*(?=[{mark}\r\n]|\Z)|([^{mark}\r\n]*)')
    rows: list[list[str]] = [[]]
    place = 0
    while True:
        found = cell.match(text, place)
        assert found is not None  # the second way matches anything, also nothing
        quoted, plain = found.groups()
        if quoted is None and plain.lstrip().startswith('"'):
            raise InputError(f"not a CSV file: a quote is not closed in row {len(rows)}")
        rows[-1].append(plain.strip() if quoted is None else quoted.replace('""', '"'))
        place = found.end()
        if place >= len(text):
            break
        if text[place] == mark:
            place += 1
            continue
        place += 2 if text[place : place + 2] == "\r\n" else 1
        rows.append([])
        if place >= len(text):
            break
    return [row for row in rows if row and row != [""]]


def read_cells(path: str | os.PathLike[str]) -> list[list[str]]:
    """Return the cells of a .csv, .tsv or .xlsx file."""
    if Path(path).suffix.lower() == ".xlsx":
        return sheet(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    return split(decoded(data, path))


def sheet(path: str | os.PathLike[str]) -> list[list[str]]:
    """Return the cells of the first sheet of a spreadsheet that has any; rows are equally long."""
    openpyxl = _openpyxl()
    try:
        with zipfile.ZipFile(path) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > _LARGEST:
                raise FileError(f"{path} is larger than 1 GiB, unpacked; save it as .csv")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            for page in book.worksheets:
                page.reset_dimensions()  # what other programs wrote there may be wrong
                rows = [[text_of_cell(value) for value in row] for row in page.iter_rows(values_only=True)]
                if any(map(any, rows)):
                    width = max(map(len, rows))
                    return [row + [""] * (width - len(row)) for row in rows]
        finally:
            book.close()
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except Exception as error:  # of the many libraries beneath, each with its own
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(
            f"{path} cannot be read as a spreadsheet: {reason}; save it again as .xlsx"
        ) from error
    raise InputError(f"{path} is empty: it has no cells")


def without_empty(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows without empty ones and without columns that are empty from top to bottom."""
    width = max(map(len, rows), default=0)
    filled = [any(column < len(row) and row[column] for row in rows) for column in range(width)]
    last = max((column for column in range(width) if filled[column]), default=-1) + 1
    kept = [row[:last] for row in rows if any(row)]
    inner = [column for column in range(last) if filled[column]]
    return kept if len(inner) == last else [[row[c] for c in inner if c < len(row)] for row in kept]


def write_sheet(path: str | os.PathLike[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows as the only sheet of a spreadsheet; text stays text, also if it begins like a formula."""
    openpyxl = _openpyxl()
    book = openpyxl.Workbook(write_only=True)
    page = book.create_sheet("covote")
    try:
        for row in rows:
            cells = [openpyxl.cell.WriteOnlyCell(page, value) for value in row]
            for cell in cells:
                if cell.data_type == "f":
                    cell.data_type = "s"
            page.append(cells)
    except openpyxl.utils.exceptions.IllegalCharacterError as error:
        raise InputError("a name has characters that a spreadsheet cannot hold; write a .csv file") from error
    with Path(path).open("wb") as file:
        book.save(file)


def _openpyxl() -> Any:
    try:
        import openpyxl
        import openpyxl.cell
        import openpyxl.utils.exceptions
    except ImportError as error:
        raise InputError(
            "spreadsheets (.xlsx) need openpyxl; pip install 'covote[xlsx]', or save it as .csv"
        ) from error
    return openpyxl


def arrow_table(table: Any, what: str) -> pa.Table:
    """Return anything that speaks Arrow as an Arrow table; messages say `what` is in it."""
    import pyarrow as pa

    try:
        if isinstance(table, pa.RecordBatchReader):
            found = table.read_all()
        elif isinstance(table, pa.RecordBatch):
            found = pa.Table.from_batches([table])
        else:
            found = pa.table(table)
    except (TypeError, ValueError, pa.ArrowInvalid) as error:
        raise InputError(
            f"cannot read {what} from a {type(table).__name__}; give a table: pandas, polars, pyarrow, "
            f"duckdb or a dict of columns ({error})"
        ) from error
    try:
        found.validate(full=True)  # indices into dictionaries are followed without a look
    except pa.ArrowInvalid as error:
        raise InputError(f"cannot read {what} from a damaged table: {error}; make it again") from error
    return found


def text_of_cell(value: Any) -> str:
    """Return a cell as it looks."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value != value:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value).strip()


# Headings and names, compared over case, blanks and accents


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


EXPERTS = words(
    "expert worker annotator rater doctor physician dr labeler labeller coder judge reviewer reader user "
    "model classifier who person grader radiologist pathologist dermatologist clinician nurse assessor "
    "participant observer specialist member teacher source system "
    "experte expertin arzt arztin gutachter annotateur medecin medico experto"
)
"""What people call the column of experts."""
CLASSES = words(
    "class label diagnosis diagnose answer vote category response judgment judgement rating annotation "
    "prediction predicted species disease finding condition choice tag result verdict topic field subject "
    "skill area klasse kategorie antwort befund krankheit diagnostic diagnostico classe etiquette"
)
"""What people call the column of labels, and that of classes."""
ITEMS = words(
    "item task image text sample example document doc file filename path question case patient record unit "
    "object instance photo picture scan slide url sentence tweet post page video clip row nr no number index "
    "key bild fall aufgabe cas tache"
) | {"id", "#"}
"""What people call the column of items."""
KNOWS = words(
    "know known class label specialty speciality expertise field can skill area topic subject competence "
    "diagnosis disease domain categorie category kann kennt kenntni fach facher gebiet kompetenz connait "
    "sabe conoce"
)
"""What people call the list of what an expert knows."""
COSTS = words("cost price fee rate costperanswer priceperanswer kosten prei honorar cout")
"""What people call the cost of an expert."""
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "\u200b": "", "\ufeff": "", "\u00ad": ""}
)


@lru_cache(maxsize=1 << 16)
def folded(name: str) -> str:
    """Return a name without case, blanks and accents.

    >>> folded(" Dr.  Müller") == folded("dr. MULLER")
    True
    """
    letters = unicodedata.normalize("NFKD", name).casefold().translate(_LETTERS)
    plain = "".join(c for c in letters if not unicodedata.combining(c) and not c.isspace())
    return plain or letters


def is_called(heading: str, names: frozenset[str]) -> bool:
    """Whether a heading is one of these words, in any case, in the plural, with "id" or "name" behind it.

    >>> is_called("Doctor's name", EXPERTS), is_called("image_ID", ITEMS), is_called("liver", CLASSES)
    (True, True, False)
    """
    text = re.sub(r"[^\w#]|_", "", folded(heading))
    for ending in ("", "s", "es", "id", "name", "sid", "sname", "number", "nr", "no"):
        stem = text.removesuffix(ending)
        if (stem != text or not ending) and stem in names:
            return True
    return False
