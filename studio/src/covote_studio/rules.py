"""Who may do what, and which answers count. Pages, programs, models and imports all ask here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from covote.errors import InputError
from covote_studio.storage.schema import ANSWERED, LEASED, NONE, UNSURE

ADAPTIVE = ("elimination", "posterior")
"""Rules of :mod:`covote.asking` that ask one person after another while doubt is left."""
ASK = ("everybody", *ADAPTIVE)
"""Who is asked about an item: everyone, or one after another by a rule."""
LONGEST_NAME, LONGEST_TEXT = 200, 100_000
"""Characters of a name, and of the text of an item."""


class Refusal(InputError):
    """A request that is rejected; `status` is the HTTP status of the response."""

    def __init__(self, sentence: str, status: int = 403) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class Member:
    """A person or a model of the project, and what it knows now."""

    id: int
    name: str
    role: str
    active: bool
    may_tick: bool
    cost: float
    answers: int
    known: frozenset[int]
    options_id: int | None
    former: frozenset[int] = frozenset()
    """Retired classes that this person knew: votes for them still count."""

    @property
    def is_owner(self) -> bool:
        """Whether this person runs the project."""
        return self.role == "owner"

    @property
    def creates(self) -> bool:
        """Whether this account may create projects on a server of several."""
        return self.role in ("owner", "creator")

    @property
    def reviews(self) -> bool:
        """Whether this person sees results and decides."""
        return self.role in ("owner", "reviewer")

    @property
    def ticks(self) -> bool:
        """Whether this person may say what they know, as an owner may."""
        return self.may_tick or self.is_owner


def sentence(text: str) -> str:
    """Return a message or a note as a sentence.

    >>> sentence("no file votes.csv")
    'No file votes.csv.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def join_names(names: Sequence[str], most: int = 12, word: str = "and") -> str:
    """Return names as a sentence lists them: all, or the first ones and how many more there are.

    >>> join_names(["Ann", "Bob", "Cyd"]), join_names(["Ann", "Bob", "Cyd", "Dan"], 2, "or")
    ('Ann, Bob and Cyd', 'Ann, Bob or 2 more')
    """
    shown = list(names) if len(names) <= most + 1 else [*names[:most], f"{len(names) - most:,} more"]
    return f" {word} ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def require_owner(member: Member) -> None:
    """Reject everyone but owners."""
    if not member.is_owner:
        raise Refusal("Only an owner of the project may do this; ask the person who invited you.")


def require_creator(member: Member) -> None:
    """Reject accounts that may not create projects."""
    if not member.creates:
        raise Refusal("Your account may not create projects; ask an administrator of the server.")


def require_reviewer(member: Member) -> None:
    """Reject everyone but owners and reviewers."""
    if not member.reviews:
        raise Refusal("Only owners and reviewers of the project may do this; ask the person who invited you.")


def may_be_asked(member: Member) -> bool:
    """Whether items are given to this person at all."""
    return member.active and bool(member.known)


AWAY = "You are marked as away, so you are not asked at the moment. Your answers are kept."


def why_not_asked(member: Member) -> str:
    """Return why no items are given to a person; empty if some may be."""
    if not member.active:
        return AWAY
    if member.known:
        return ""
    if member.is_owner:
        return "You are not labelling. Tick what you know on your page to join in."
    return "No one has said yet which classes you know; " + (
        "tick them on your page." if member.ticks else "ask the owner of the project to tick them."
    )


def check_choice(member: Member, choice: int, shown: Collection[int], name: str) -> None:
    """Reject an answer, read as `name`, that is not among the classes that the person was shown."""
    if choice in (NONE, UNSURE) or choice in shown:
        return
    raise Refusal(
        f"{member.name} is not listed as knowing “{name}”, so the answer was not kept. Choose one of the "
        "classes shown, “none of mine” or “not sure”; the owner can change who knows what."
    )


def check_held(state: int | None, token: str | None, shown: str) -> None:
    """Reject an answer about an item that is not leased to the person.

    `state` and `token` are those of the person's assignment, None without one; `shown` is the token that was
    sent.
    """
    if state is None:
        raise Refusal("This item was not given to you; continue with the next one.")
    if state not in (LEASED, ANSWERED) or token != shown:
        raise Refusal(
            "This form is out of date: the item was opened again elsewhere. Reload the page to continue.", 409
        )


def answer_counts(
    choice: int, shown: Collection[int], known: Collection[int], former: Collection[int] = ()
) -> bool:
    """Whether an answer is a vote in the panel as it is now.

    It is if every class that its expert now knows was in view, and the chosen class is still one of them, or
    has been retired since. Someone who never saw "ear" among the options has not said that an item is not an
    ear.
    """
    if choice == UNSURE or not set(known) <= set(shown):
        return False
    return bool(known or former) if choice == NONE else choice in known or choice in former


def speaks_against_retired(named: Collection[int], shown: Collection[int], former: Collection[int]) -> bool:
    """Whether an answer would count against a retired class that was not in view.

    `named` are the retired classes that were named for the same item. Someone who knew one of them but was
    asked after it was retired has said nothing about it, so their answer must not count.
    """
    return any(one in former and one not in shown for one in named)


def _check_storable(text: str, what: str) -> None:
    if "\0" in text:
        raise Refusal(f"{what} contains a NUL character, which cannot be stored; remove it.", 422)
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise Refusal(f"{what} contains half a character (a lone surrogate); type or save it again.", 422)


def check_name(text: str, what: str) -> str:
    """Return a name without surrounding blanks, or reject it."""
    _check_storable(text, f"The name of {what[:1].lower()}{what[1:]}")
    name = " ".join(text.split())
    if not name:
        raise Refusal(f"{what} needs a name; type one.", 422)
    if len(name) > LONGEST_NAME:
        raise Refusal(f"{what} has a name of {len(name)} characters; use at most {LONGEST_NAME}.", 422)
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        raise Refusal(f"{what} has a name with control characters; type it without them.", 422)
    return name


def check_text(text: str, what: str, longest: int) -> str:
    """Return a longer text that can be stored, or reject it."""
    if len(text) > longest:
        raise Refusal(f"{what} has {len(text):,} characters; use at most {longest:,}.", 422)
    _check_storable(text, what)
    return text.strip()


def check_ask(ask: str) -> str:
    """Return a way of asking, or reject it."""
    if ask not in ASK:
        raise Refusal(f"There is no way of asking {ask!r}; choose one of {', '.join(ASK)}.", 422)
    return ask
