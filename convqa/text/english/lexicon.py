"""What negates: of a verb, of an outcome, and anywhere in what somebody tells. English."""

from __future__ import annotations

import re

_VERB = r"\bnot\b(?! only\b)|\bcannot\b|n['\u2019`]t\b|\bno longer\b|\bnever\b|\bneither\b"

NEGATED = re.compile(_VERB, re.I)
"""A verb, or a phrase, is negated."""

DENIED = re.compile(
    rf"{_VERB}|\bno\b|\bnone\b|\bbanned\b|\bprohibit\w*|\bforbidden\b|\bineligible\b|\bexclud\w*|\bunable\b|"
    r"\bunlawful\b|\billegal\b",
    re.I,
)
"""Something is not granted, or is asked about as not granted."""

ANYWHERE = re.compile(rf"{_VERB}|\bno\b|\bwithout\b|\bnone\b|\bnor\b|\bunable\b|\brefused?\b|\byet to\b", re.I)
"""In free words, where it need not stand at the verb."""


def opposite(one: str, other: str) -> bool:
    """Whether one of two texts alone has a negation of a verb.

    >>> opposite("I don't live here.", "Do you live here?"), opposite("I live here.", "Do you live here?")
    (True, False)
    """
    return bool(NEGATED.search(one)) != bool(NEGATED.search(other))
