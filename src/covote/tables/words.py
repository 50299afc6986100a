"""Words as people write them: names compared loosely, headings, and what stands for "no answer"."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


EXPERTS = words(
    "expert worker annotator rater doctor physician dr labeler labeller coder judge reviewer reader user "
    "model classifier who person grader radiologist pathologist dermatologist clinician nurse assessor "
    "participant observer volunteer specialist member teacher source system "
    "experte expertin arzt arztin gutachter annotateur medecin medico experto"
)
"""What people call the column of experts."""
CLASSES = words(
    "class label diagnosis diagnose answer vote category response judgment judgement rating annotation "
    "prediction predicted species taxon disease finding condition choice tag result verdict topic field "
    "subject skill area klasse kategorie antwort befund krankheit diagnostic diagnostico classe etiquette"
)
"""What people call the column of labels, and that of classes."""
ITEMS = words(
    "item task image text sample example document doc file filename path question case patient record unit "
    "object instance photo picture scan slide url sentence tweet post page video clip row nr no number index "
    "key specimen accession bild fall aufgabe foto patienten probe proben praparat aufnahme cas tache "
    "dossier echantillon examen caso imagen muestra"
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
LEFT = words(
    "left leftat lefton leftsince gone departed retired resigned inactive former ausgeschieden ehemalig "
    "inaktiv parti inactif"
)
"""What people call the column that says whether, or since when, an expert has left."""
NO_ANSWER = words(
    "? ?? ??? - -- --- . .. ... / na n/a #n/a nan null nil ka k/a unknown unbekannt missing noanswer "
    "notanswered notasked keineangabe keineantwort skip skipped dontknow donotknow idontknow notsure "
    "unsure unclear undecided cannottell canttell notassessable cannotassess weissnicht unklar unsicher "
    "nichtbeurteilbar keineahnung nesaispas nesaitpas nsp pasdavis sansavis nonso nd nolose nosabe "
    "(blank) (leer) (vide) #nv #ref! #bezug! #value! #wert! #name? #div/0! #num!"
) | {""}
"""What people write in a cell for "no answer", as :func:`fold_accents` returns it: k.A. is among them."""
NOTES = words(
    "note comment remark bemerkung kommentar anmerkung email mail phone telefon telephone institution "
    "affiliation department address adresse since date remarque commentaire age alter sex gender geschlecht "
    "year yearsofexperience experience jahre berufsjahre erfahrung"
)
"""What people call columns with remarks about an expert or an item."""
TOTALS = words("total grandtotal sum summe gesamt gesamtergebnis anzahl count totale suma somme σ")
"""What people call the sums at the edges of a table."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet treat a text as a formula."""

# Compared loosely

_TYPOGRAPHIC = (
    "<wide>",
    "<narrow>",
    "<compat>",
    "<initial>",
    "<medial>",
    "<final>",
    "<isolated>",
    "<noBreak>",
)
_SIGNS = str.maketrans(
    {"æ": "ae", "œ": "oe", "\u2019": "'", "\u2018": "'", "\u00b4": "'", "`": "'", "\u02bc": "'"}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212_", "-")
    | dict.fromkeys("\u200b\u200c\u200e\u200f\u2060\ufeff\u00ad\u061c\u0640\ufe0e\ufe0f", None)
)
_MARKS = re.compile(
    r"(?<=\w) ?-+ ?(?=[^\W\d])|(?<=[^\W\d])-(?=\d)"  # hyphens, except before a number that may be negative
    r"|\.(?!\d)|(?<!\d)'"  # dots and apostrophes, except in numbers
    r"|(?<!\d) | (?!\d)"  # blanks, except between two numbers
)
_LONGEST_HEADING = 200  # letters; a cell of a hostile file may have millions
_WESTERN = ("LATIN", "GREEK")
_POINTS = range(0x0591, 0x05C8), range(0x064B, 0x0653)  # vowels of Hebrew and Arabic, which most leave out


@lru_cache(maxsize=1 << 16)
def fold_case(name: str) -> str:
    """Return a name without case, blanks and punctuation that carry no meaning; letters stay as they are.

    Marks between digits stay, and so do signs such as + and #: 1.5 is not 15, C is not C++.

    >>> fold_case(" Dr.  Silva"), fold_case("dr-silva"), fold_case("Stage 1.5"), fold_case("HER2+")
    ('drsilva', 'drsilva', 'stage1.5', 'her2+')
    """
    text = "".join(map(_plain, unicodedata.normalize("NFC", name))).casefold().translate(_SIGNS)
    text = " ".join(unicodedata.normalize("NFC", text).split())
    return _MARKS.sub("", text) or text


def _plain(letter: str) -> str:
    """Return what a letter is a typographic variant of: full width, a ligature; not of x² and ½."""
    typographic = unicodedata.decomposition(letter).startswith(_TYPOGRAPHIC)
    return unicodedata.normalize("NFKC", letter) if typographic else letter


@lru_cache(maxsize=1 << 16)
def fold_accents(name: str) -> str:
    """Return a name as :func:`fold_case`, and without the accents that are variants of a letter.

    Which marks those are depends on the script: those of Latin and Greek letters, but not ñ; ё in Cyrillic;
    vowel points in Hebrew and Arabic. Others make letters of their own: й is not и, バ is not ハ.

    >>> fold_accents(" Dr.  Müller"), fold_accents("España")
    ('drmuller', 'españa')
    """
    found: list[str] = []
    for letter in fold_case(name):
        parts = unicodedata.normalize("NFD", letter)
        base = parts[0]
        script = unicodedata.name(base, "").partition(" ")[0]
        if any(ord(base) in points for points in _POINTS):
            continue
        before = unicodedata.name(found[-1], "") if found else ""
        if unicodedata.combining(base) and before.startswith(_WESTERN):
            continue  # a combining accent after its letter
        accents = len(parts) > 1 and (script in _WESTERN or letter == "ё") and letter != "ñ"
        found.append(base if accents else letter)
    return "".join(found) or fold_case(name)


_ENDINGS = ("", "s", "es", "id", "name", "sid", "sname", "number", "nr", "no", "nummer")
_BEGINNINGS = ("", "numerode", "numero", "nde", "n")  # numéro de, n° de


def is_called(heading: str, names: frozenset[str]) -> bool:
    """Whether a heading is one of these words, in any case, in the plural, with "id" or "name" behind it.

    >>> is_called("Doctor's name", EXPERTS), is_called("image_ID", ITEMS), is_called("liver", CLASSES)
    (True, True, False)
    >>> is_called("Fallnummer", ITEMS), is_called("N° de dossier", ITEMS)
    (True, True)
    """
    if len(heading) > _LONGEST_HEADING:
        return False
    text = re.sub(r"[^\w#]|_", "", fold_accents(heading))
    stems = {text.removesuffix(ending) for ending in _ENDINGS}
    return any(stem.removeprefix(beginning) in names for stem in stems for beginning in _BEGINNINGS)


def is_total(heading: str) -> bool:
    """Whether a heading names sums.

    >>> is_total("Summe:"), is_total("total"), is_total("totally")
    (True, True, False)
    """
    return fold_accents(heading.strip(" :#")) in TOTALS
