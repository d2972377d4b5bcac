"""Wrong variants of right sentences, made by rules: benchmarks/language_model.py measures with them what is caught."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from convqa.text.english import lexicon

NUMBER = re.compile(r"\d[\d,.]*\d|\d|\b(?:" + "|".join(lexicon.NUMERALS) + r")\b")
NAME = re.compile(r"(?<=[a-z,;] )[A-Z]\w+(?: [A-Z]\w+)*")
AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|may|must|should|will|would|has|have|had|does|do|did)\b(?! not|n't)"
)
NEGATION = re.compile(r"(?<=\w)(?: not|n't|not)\b| never\b")
VERDICT = re.compile(r"^(?:Yes|No), ", re.I)
KINDS = (
    "number invented",
    "number of another row",
    "negated",
    "name swapped",
    "said nowhere",
    "said nowhere, on the topic",
)
NOWHERE = (
    "A yearly inspection by an outside engineer is compulsory and costs extra.",
    "Older customers receive a voucher for the cinema at Christmas.",
    "It was first described in a letter to the king of Denmark.",
    "The rules were tightened after a fire in the warehouse.",
    "A reduced rate applies to families with more than three children.",
    "Most visitors come by train during the summer holidays.",
    "You can also ask for a printed copy at the front desk.",
    "The original drawings are kept in a museum in Lisbon.",
)


TOPICS = {
    "handbook": (
        "The company also pays for a gym membership.",
        "Unused leave is paid out twice a year.",
        "You can swap bank holidays for other days of leave.",
        "New employees get a free parking permit in Bristol.",
        "Your manager must confirm the days by e-mail.",
        "Employees with children get extra days of leave.",
        "The People team reviews all leave requests once a month.",
        "Leave cannot be taken in December because of the annual audit.",
    ),
    "manual": (
        "You can also use pods from other brands.",
        "The grinder must be replaced every year.",
        "Clean the milk pipe with hot water after each use.",
        "The machine switches itself off after a while to save energy.",
    ),
    "faq": (
        "Tidepool also works on Android phones.",
        "A commercial licence is available for companies.",
        "Deleted files can be restored from the cloud archive.",
        "Tidepool compresses files before it sends them.",
    ),
    "A-peru": (
        "Machu Picchu was rediscovered by Hiram Bingham in 1911.",
        "The citadel is visited by more than a million tourists a year.",
        "Pachacuti was buried in Cusco.",
        "The Inca Empire had its own system of writing.",
    ),
    "B-illness": (
        "There is a vaccine against malaria for children.",
        "Malaria can be passed on by kissing.",
        "Dengue is treated with antibiotics in hospital.",
        "Quinine was first made from the bark of a tree in Peru.",
        "Fleming was born on a farm in Scotland.",
    ),
}
"""Collection -> sentences about its topics that no passage says, in its words."""


def numbers(text: str) -> list[str]:
    return [match[0] for match in NUMBER.finditer(text)]


def falsified(text: str, cited: str, shown: str, place: int) -> Iterator[tuple[str, str]]:
    """Yield (kind, wrong sentence). :param cited: the text of the passages it cites. :param shown: of all passages."""
    random = Random(place)
    body = VERDICT.sub("", text)
    opening = text[: len(text) - len(body)]
    found = list(NUMBER.finditer(text))
    if found:
        number = random.choice(found)
        known = set(numbers(shown)) | set(numbers(text))
        strange = next(str(value) for value in (random.randint(13, 997) for _ in range(100)) if str(value) not in known)
        yield "number invented", text[: number.start()] + strange + text[number.end() :]
        others = sorted(set(numbers(cited)) - set(numbers(text)))
        if others:
            yield "number of another row", text[: number.start()] + random.choice(others) + text[number.end() :]
    denial = NEGATION.search(body)
    auxiliary = AUXILIARY.search(body)
    if denial:
        yield "negated", opening + body[: denial.start()] + body[denial.end() :]
    elif auxiliary:
        yield "negated", f"{opening}{body[: auxiliary.end()]} not{body[auxiliary.end() :]}"
    names = list(NAME.finditer(text))
    if names:
        name = random.choice(names)
        others = sorted({match[0] for match in NAME.finditer(shown)} - {match[0] for match in names})
        others = [other for other in others if other not in text]
        if others:
            yield "name swapped", text[: name.start()] + random.choice(others) + text[name.end() :]


def nowhere(others: Sequence[str], collection: str, place: int) -> Iterator[tuple[str, str]]:
    """Yield sentences that no passage says: one of another conversation, of :data:`NOWHERE` and of :data:`TOPICS`."""
    near = TOPICS.get(collection, ())
    if near:
        yield "said nowhere, on the topic", Random(place).choice(near)
    yield "said nowhere", Random(place).choice(others)
    yield "said nowhere", Random(-place).choice(NOWHERE)
