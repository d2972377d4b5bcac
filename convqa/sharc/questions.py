"""Turn English conditions into yes/no questions by word order: "you're a paid agent" -> "Are you a paid agent?"."""

from __future__ import annotations

import re
from typing import NamedTuple

from convqa.sharc import lexicon
from convqa.text.english.lexicon import AUXILIARIES, DEMONSTRATIVES, HAVE

_SHORT = {
    r"\b(can)[\u2019'`]t\b": r"\1 not",
    r"\b(can)not\b": r"\1 not",
    r"\bwon[\u2019'`]t\b": "will not",
    r"n[\u2019'`]t\b": " not",
    r"\b(you|we|they)[\u2019'`]re\b": r"\1 are",
    r"\b(i|you|we|they)[\u2019'`]ve\b": r"\1 have",
    r"\b(i|you|we|they|it|he|she)[\u2019'`]ll\b": r"\1 will",
    r"\b(it|he|she|that|who|there)[\u2019'`]s\b": r"\1 is",
    r"\bi[\u2019'`]m\b": "I am",
}
"""Pattern of a contraction -> what it stands for."""

_PAST = re.compile(r"(?:\w{2,}ed|" + "|".join(lexicon.IRREGULAR_PAST) + r")\Z")
_AS_PARTICIPLE = re.compile(r"\w{2,}ed\Z")
_PARTICIPLE_AHEAD = re.compile(r"(?:\w{2,}ed|been|born|unable|able|under|over|aged|at|in|on|of|below|above|within)\Z")
_GERUND = re.compile(r"(?!(?:\w*thing|king|ring|spring|morning|evening|wedding|building|housing|string)\Z)\w{2,}ing\Z")

_RELATIVE = ("who", "which", "that", "if", "for", "to")


class Asked(NamedTuple):
    """``question`` asks for the condition without its negation. The condition holds if the answer is ``wanted``."""

    question: str
    wanted: bool


def ask(condition: str) -> Asked:
    """Return the yes/no question for a condition.

    >>> ask("you're a paid agent")
    Asked(question='Are you a paid agent?', wanted=True)
    >>> ask("you don't have a job"), ask("your baby is born early")
    (Asked(question='Do you have a job?', wanted=False), Asked(question='Is your baby born early?', wanted=True))
    >>> ask("you must have worked for your employer").question, ask("medicine or ingredients for medicine").question
    ('Have you worked for your employer?', 'Is it medicine or ingredients for medicine?')
    """
    expanded = _expanded(condition)
    affirmed = _affirmed(expanded)
    words = affirmed.split()
    return Asked(_question(words) if words else "", affirmed == expanded)


def _affirmed(text: str) -> str:
    """Remove the negation of the verb. "An employee, not a worker" negates no verb."""
    match = lexicon.NEGATION_OF_A_CONDITION.search(text)
    if match is None:
        return text
    before = text[: match.start()].lower().split()
    is_phrase = bool(before) and before[-1] not in AUXILIARIES
    if is_phrase and match[0].lower().startswith("not"):
        return text
    return text[: match.start()] + text[match.end() :]


def _expanded(text: str) -> str:
    """Write contractions out, on one line without final punctuation."""
    line = " ".join(text.split())
    for pattern, written in _SHORT.items():
        line = re.sub(pattern, written, line, flags=re.I)
    return line.strip(" .;:,?!-\u2013")


def _question(words: list[str]) -> str:
    first = words[0].lower()
    index = _auxiliary(words)
    if index:
        return _inverted(
            words[:index],
            words[index].lower(),
            words[index + 1 :],
        )
    if len(words) > 1 and first in lexicon.PRONOUNS - DEMONSTRATIVES:
        return _with_verb(words[:1], words[1:])
    if index == 0:
        return _inverted(["you"], first, words[1:])
    verb = _verb(words) if first in lexicon.DETERMINERS else 0
    if verb:
        return _with_verb(words[:verb], words[verb:])
    return _without_subject(words)


def _auxiliary(words: list[str]) -> int | None:
    """Return the index of the first auxiliary that can follow the subject, 0 if the subject is missing."""
    low = [word.lower() for word in words]
    first = next(
        (index for index, word in enumerate(low) if word in AUXILIARIES),
        None,
    )
    if first == 0:
        return 0
    if low[0] in lexicon.PRONOUNS - lexicon.DETERMINERS:
        return 1 if low[1:2] and low[1] in AUXILIARIES else None
    if low[0] in lexicon.DETERMINERS or low[0].endswith("s"):
        has_relative = any(word in _RELATIVE for word in low[1:first])
        return None if has_relative else first
    return None


def _perfect(words: list[str]) -> bool:
    """Return whether the words begin with a participle."""
    first = words[0].lower() if words else ""
    return bool(_AS_PARTICIPLE.match(first)) or first in lexicon.PARTICIPLES


def _inverted(
    subject: list[str],
    auxiliary: str,
    rest: list[str],
) -> str:
    subject = _lowered(subject)
    if auxiliary in lexicon.DEMANDING_MODALS:
        return _base(subject, rest)
    if auxiliary in HAVE and not _perfect(rest):
        do = "Did" if auxiliary == "had" else _agreeing("Do", subject)
        return _joined([do, *subject, "have", *rest])
    if auxiliary in ("are", "were") and subject == ["you"] and rest and _of_people(rest):
        rest = _single(rest)
    return _joined([auxiliary, *subject, *rest])


def _base(subject: list[str], rest: list[str]) -> str:
    """Ask with a verb in its base form: must be -> are, must have worked -> have worked, must earn -> do earn."""
    verb = rest[0].lower() if rest else ""
    auxiliary = "Do"
    if verb == "be":
        auxiliary = "Are"
        rest = rest[1:]
    elif verb == "have" and _perfect(rest[1:]):
        auxiliary = "Have"
        rest = rest[1:]
    return _joined([_agreeing(auxiliary, subject), *subject, *rest])


def _with_verb(subject: list[str], rest: list[str]) -> str:
    """Ask with a verb that is not an auxiliary."""
    verb, *after = rest or [""]
    low = verb.lower()
    subject = _lowered(subject)
    if low in HAVE:
        return _inverted(subject, low, after)
    auxiliary = _agreeing("Do", subject)
    if _PAST.match(low) and low not in lexicon.NOT_PAST:
        auxiliary = "Did"
        verb = _present(low)
    elif auxiliary == "Does":
        verb = _bare(low)
    return _joined([auxiliary, *subject, verb, *after])


def _without_subject(words: list[str]) -> str:
    first = words[0].lower()
    lowered = _lowered(words)
    if _GERUND.match(first) or _PARTICIPLE_AHEAD.match(first):
        return _joined(["Are", "you", *lowered])
    if first in lexicon.VERBS - lexicon.DETERMINERS:
        return _base(["you"], lowered)
    if _of_people(words):
        return _joined(["Are", "you", *_single(lowered)])
    return _joined(["Is", "it", *lowered])


def _of_people(words: list[str]) -> bool:
    """Return whether a phrase names people: "workers on probation" does, "business goods" does not."""
    for word, following in zip(words[:6], [*words[1:], ""], strict=False):
        after = following.lower()
        ends_noun = (
            not after
            or after in lexicon.BEHIND_NOUNS
            or word.endswith(",")
            or _PARTICIPLE_AHEAD.match(after)
            or _GERUND.match(after)
        )
        if ends_noun and lexicon.PEOPLE.fullmatch(word.strip(",;")):
            return True
        if word.lower() in lexicon.BEHIND_NOUNS - {"and", "or", "of"}:
            return False
    return False


def _single(words: list[str]) -> list[str]:
    """Make people singular: company directors or agents -> a company director or agent."""
    if words[0].lower() in lexicon.DETERMINERS:
        return words
    single = list(words)
    for index, word in enumerate(words[:6]):
        low = word.lower()
        if lexicon.PEOPLE.fullmatch(low):
            regular = low if low.endswith("ss") else low.removesuffix("s")
            single[index] = lexicon.IRREGULAR_SINGULAR.get(low, regular)
    if single == words:
        return words
    article = "an" if single[0][0].lower() in "aeiou" else "a"
    return [article, *single]


def _verb(words: list[str]) -> int:
    """Return the index of the verb after a short subject, 0 if no verb is known."""
    for index, word in enumerate(words[2:5], 2):
        if word in lexicon.VERBS or _bare(word) in lexicon.VERBS:
            return index
    return 0


def _agreeing(auxiliary: str, subject: list[str]) -> str:
    last = subject[-1].lower()
    is_plural_noun = last.endswith("s") and not last.endswith(("ss", "us", "is"))
    if is_plural_noun or subject[0].lower() in lexicon.PLURAL_PRONOUNS:
        return auxiliary
    return {"Do": "Does", "Are": "Is", "Have": "Has"}[auxiliary]


_SILENT = re.compile(
    r"(?:[^aeiou][aiou][cgsvz]|[aeiou][cgsuvz]|[^aeiou]l|ang|rg|at|et|ut|in|ir|os|is|id|od|uc|iv|eiv|as|us)\Z"
)


def _present(verb: str) -> str:
    """Return the base form of a past tense."""
    if verb in lexicon.IRREGULAR_PAST:
        return lexicon.IRREGULAR_PAST[verb]
    stem = verb[:-2]
    if verb.endswith("ied"):
        return verb[:-3] + "y"
    is_doubled = len(stem) > 2 and stem[-1] == stem[-2]
    if is_doubled and stem[-1] not in "lsz":
        return stem[:-1]
    if _SILENT.search(stem):
        return stem + "e"
    return stem


def _bare(verb: str) -> str:
    """Return the base form of a third person."""
    if verb.endswith("ies"):
        return verb[:-3] + "y"
    if verb.endswith(("sses", "shes", "ches", "xes", "oes")):
        return verb[:-2]
    if verb.endswith("s") and not verb.endswith("ss"):
        return verb[:-1]
    return verb


def _lowered(words: list[str]) -> list[str]:
    """Lower the first letter, except of names and abbreviations."""
    if not words or words[0] == "I":
        return words
    low = words[0].lower()
    is_listed = low in lexicon.DETERMINERS | lexicon.PRONOUNS | lexicon.VERBS
    is_plain = is_listed or _GERUND.match(low) or _PARTICIPLE_AHEAD.match(low)
    return [low, *words[1:]] if is_plain else words


def _joined(words: list[str]) -> str:
    line = " ".join(words).strip(" .,;:")
    return f"{line[:1].upper()}{line[1:]}?"
