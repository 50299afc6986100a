"""Names and headings as people write them: compared over case, blanks and accents."""

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
