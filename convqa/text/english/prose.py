"""Whether a sentence of English web text is fit to be quoted, and where it begins behind a heading that runs into it.

Two logistic regressions over signs of form, which know no question: one looks at every capital inside a sentence
(does it begin here, behind a heading?), the other at the sentence. ``python benchmarks/quotes.py`` fits the weights, on
sentences that were read and on made ones; docs/reading.md says what counts as junk, and how good this is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from convqa.text.analysis import analyzer
from convqa.text.cache import LONGEST, remembered
from convqa.text.english import lexicon
from convqa.text.idf import idf

Signs = Mapping[str, float]

FIT = 0.7
"""Fitness from which a sentence is quoted."""
_SURE = 0.6
"""Probability from which a sentence is cut."""
_SHORTEST = 4
"""Words that a cut leaves."""

_VERBS = lexicon.AUXILIARIES | lexicon.NEGATED_AUXILIARIES | {"be", "been", "it's", "that's", "there's"}
_FUNCTION = analyzer("en").long_stopwords | _VERBS
CLOSING = frozenset(".!?\u2026\"'\u201d\u2019\u00bb)]")
_OPENING = frozenset("\"'\u201c\u2018\u00ab([`")
_WORD = re.compile(r"[^\W_]+(?:[.'\u2019&-][^\W_]+)*")
_SEPARATOR = re.compile(
    r"[|\u00b7\u2022\u00bb\u203a\u2190\u2192\u25bc\u25b2*=<>{}_~^\\]|-{3,}| [/\u2013\u2014-] (?=[A-Z])|\.{3,}"
)
_CAMEL = re.compile(r"[a-z)][A-Z][a-z]{2}")
_GLUED = re.compile(r"[a-z][.!?:;)\]][A-Z][a-z]|[a-z]{2}\d{3}")
_MARKUP = re.compile(r"https?:|www\.|\S@\S|[\ufffd\u200b\u0080-\u009f]|\u00e2")
_VERB_FORM = re.compile(r"(?:ed|es|[^us]s)$")
_INITIAL = re.compile(r"[A-Z][\w'\u2019]+ [A-Z]\.$")
ABBREVIATED = re.compile(r"\b\w{1,4}\.\s*$")
"""A full stop that may be no sentence's."""
_APART = frozenset(",;()")
_BULLETS = frozenset("*\u2022\u25aa")
_FURNITURE = re.compile(
    r"\b(?:skip to|(?:read|learn|show|see) (?:more|all|now)|read now|click here|log ?(?:in|out)|sign (?:in|up)|"
    r"register|subscribe|newsletter|privacy policy|terms (?:of|and)|copyright|rights reserved|cookies?|java ?script|"
    r"browser|(?:contact|about) us|site ?map|faqs?|share this|facebook|twitter|pinterest|linkedin|instagram|tumblr|"
    r"posted (?:on|by|in)|last (?:updated|modified)|updated on|repl(?:y|ies)|comments?|add to|view (?:cart|all)|"
    r"checkout|back to|table of contents|search for|loading|archives?|tags?|tagged|categor(?:y|ies)|bookmark|"
    r"permalink|advertisements?|sponsored|related (?:posts|articles|terms|topics|more)|credit|photo by|source|menu|"
    r"home ?page|download|pdf|previous|next page|print|e-?mail|views?|votes?|answered|edit)\b|[\u00a9\u00ae\u2122]",
    re.I,
)
_FURNITURE_TITLED = re.compile(
    r"\b(?:Home|Menu|Search|Login|Register|Share|Print|Contact|About|Blog|News|Shop|Cart|Help|Feedback|Email|Next|Close|"
    r"Previous|Services|Products|Careers|Events|Locations|Resources|Privacy|Terms|Author|Date|View|Overview|Reviews?|"
    r"Reply|Download|Video|Photos?|Espa\u00f1ol|English|Submit|Filter|Sort|Related|Sources?|References|Contents?)\b"
)
_BROKEN = re.compile(
    r"</|/>|(?<![-'\u2019\w])(?:(?:the|an|than|The)\s*[;,)]|[Aa] ,|(?:than|the)\s*\.(?!\w)"
    r")|\s\"[.,]?\"(?=[\s.,]|$)"
)
"""Markup; and where a formula, a unit or a foreign word was left out of the text."""
_BROKEN_ATTACHED = re.compile(
    r"\b(?:of|with|called|named|from|between|approximately|is|was|are|were|as|by|for|to|and|or|at|in)"
    r"(?: [,;)]| \.(?!\w))"
)
_ATTACHED = re.compile(r"[a-z][,.] [A-Za-z]")
"""The same in a text whose commas and full stops stand at their words."""


class Sentence:
    """A sentence as words: where each begins and ends, in lower case, with a capital, a function word, an auxiliary."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = list(_WORD.finditer(text))
        self.places = [match.span() for match in found]
        written = [match.group() for match in found]
        self.words = [word.lower().replace("\u2019", "'") for word in written]
        self.capital = [word[0].isupper() for word in written]
        self.letter = [word[0].isalpha() for word in written]
        self.function = [word in _FUNCTION for word in self.words]
        self.verb = [word in _VERBS and not upper for word, upper in zip(self.words, self.capital, strict=True)]


def fitness(text: str, before: str, passage: str, run_in: float) -> float:
    """How fit a sentence is to be quoted, as it is shown, 0 to 1.

    :param before: what stands before it in its passage. :param run_in: the highest probability that it is to be cut.
    """
    if _BROKEN.search(text) or (_BROKEN_ATTACHED.search(text) and _ATTACHED.search(passage)):
        return 0.0
    return probability(FITNESS, signs(Sentence(text), before, passage, run_in))


def beginning(text: str, passage: str) -> tuple[int, float]:
    """Where a sentence surely begins, behind headings, and the highest probability that it is to be cut behind that."""
    start = 0
    while True:
        found = cuts(Sentence(text[start:]), furnished(passage))
        run_in, place = max(((probability(CUT, one), place) for place, one in found), default=(0.0, 0))
        if run_in <= _SURE:
            return start, run_in
        start += place


def probability(weights: Signs, found: Signs) -> float:
    """The logistic of weighted signs."""
    return 1 / (1 + math.exp(-weights["offset"] - sum(weights.get(name, 0.0) * value for name, value in found.items())))


def furnished(passage: str) -> float:
    """How much of a passage is what web pages have around their text, 0 to 1: 1 is one such sign in ten words.

    Of a long passage its beginning is looked at.
    """
    return _furnished(passage[:LONGEST])


@remembered(4096)
def _furnished(passage: str) -> float:
    patterns = (_FURNITURE, _FURNITURE_TITLED, _SEPARATOR, _GLUED, _CAMEL)
    return min(1.0, 10 * sum(1 for sign in patterns for _ in sign.finditer(passage)) / (1 + passage.count(" ")))


def cuts(sentence: Sentence, page: float) -> Iterator[tuple[int, Signs]]:
    """Each capital that a sentence may begin with, behind a heading: where it stands, and what speaks for it.

    :param page: :func:`furnished` of its passage.
    """
    capital, function, words = sentence.capital, sentence.function, sentence.words
    furniture = _FURNITURE.search(sentence.text)
    content = large = 0
    known: set[str] = set()
    verb = False
    for index in range(1, len(words) - _SHORTEST + 1):
        last = index - 1
        verb = verb or sentence.verb[last]
        if not function[last]:
            content += 1
            large += capital[last] or not sentence.letter[last]
            known.add(words[last][:6])
        # "I" has a capital everywhere, and the "A" of "Series A rounds" or "Vitamin A is" is no article.
        named = words[index] == "a" and words[index + 1].endswith("s")
        if not capital[index] or named or words[index].partition("'")[0] == "i":
            continue
        (_, end), (start, _) = sentence.places[last : index + 1]
        gap = sentence.text[end:start].strip()
        while sentence.text[start - 1] in _OPENING:
            start -= 1
        small = not capital[index + 1] and sentence.letter[index + 1]
        following = capital[index : index + 8]
        yield (
            start,
            {
                "length": min(index, 15) / 15,
                "heading": index > 1 and large > 0.8 * content and not verb,
                "verb before": verb,
                "function before": function[last] and not capital[last],
                "word before": not function[last] and not capital[last] and sentence.letter[last],
                "opens": function[0] and words[0] not in lexicon.QUESTION_WORDS,
                "furniture": furniture is not None and furniture.end() <= start,
                "function, small": function[index] and small,
                "function, small, after a capital": function[index] and small and capital[last],
                "name": small and capital[last] and not function[last] and not function[index],
                "rare": idf(words[index]) / 10,
                "small after": following.count(False) / len(following),
                "echo": words[index][:6] in known,
                "repeated": not known.isdisjoint(word[:6] for word in words[index : index + 3]),
                "comma": "," in gap or ";" in gap,
                "mark": bool(gap) and "," not in gap and ";" not in gap,
                "colon": ":" in gap,
                "stop": gap[-1:] in {".", "!", "?"},
                "quotation": not _OPENING.isdisjoint(gap),
                "page": page,
            },
        )


def signs(sentence: Sentence, before: str, passage: str, run_in: float) -> Signs:
    """The features of a sentence for the probability that it is prose."""
    text, words, capital, function = sentence.text, sentence.words, sentence.capital, sentence.function
    count = max(1, len(words))
    item = before.rstrip()[-1:] in _BULLETS
    row = longest = behind = 0
    for (start, end), upper, closed in zip(sentence.places, capital, function, strict=True):
        apart = not _APART.isdisjoint(text[behind:start])
        row = (0 if apart else row) + 1 if upper else row if closed else 0
        longest, behind = max(longest, row), end
    kinds = list(zip(words, capital, function, strict=True))
    first = next(filter(str.isalnum, text), "A")
    furniture = len(_FURNITURE.findall(text))
    return {
        "function": min(sum(closed and not upper for _, upper, closed in kinds) / count, 0.4) / 0.4,
        "capitals in a row": min(longest, 12) / 12,
        "open": text[-1] not in CLOSING and not item,
        "open at a function word": text[-1] not in ".!?" and function[-1:] == [True],
        "begins small": first.islower() and not item,
        "begins with a number": first.isdigit() and bool(ABBREVIATED.search(before[-30:])),
        "no verb": not any(sentence.verb)
        and not any(_VERB_FORM.search(word) for word, upper, closed in kinds[1:] if not upper and not closed),
        "short": count < 8,
        "repeats": max(0.0, 0.95 - len(set(pairwise(words))) / max(1, count - 1)) * 4,
        "separators": min(len(_SEPARATOR.findall(text)), 4) / 2,
        "camel": min(len(_CAMEL.findall(text)), 3),
        "glued": min(len(_GLUED.findall(text)), 3),
        "markup": min(len(_MARKUP.findall(text)), 2),
        "furniture": 10 * furniture / count,
        "furniture, titled": min(max(0, len(_FURNITURE_TITLED.findall(text)) - 1), 5),
        "initial": bool(_INITIAL.search(text) or _INITIAL.search(before[-30:].rstrip())),
        "run in": (run_in / _SURE) ** 2,
        "page": furnished(passage),
    }


def _weights(text: str) -> Signs:
    return {name: float(weight) for name, _, weight in (part.rpartition(" ") for part in text.split("; "))}


CUT = _weights(
    "offset -5.44; length -1.8; heading 1.28; verb before -1.87; function before -1.33; word before 2.33; opens "
    "-1.97; furniture 0.65; function, small 2.59; function, small, after a capital 2.41; name 0.73; rare -2.08; small "
    "after 4.05; echo -0.62; repeated 1.54; comma -3.47; mark -1.32; colon -1.51; stop -1.84; quotation -2.75; page "
    "1.5"
)
FITNESS = _weights(
    "offset 3.63; function 0.83; capitals in a row -3.65; open -6.01; open at a function word -2.99; begins small "
    "-4.72; begins with a number -4.74; no verb -1.08; short -0.7; repeats -0.73; separators -1.28; camel -0.78; "
    "glued -3.43; markup -0.63; furniture -1.32; furniture, titled -0.97; initial -2.84; run in -7.93; page -1.55"
)
