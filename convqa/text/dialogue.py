"""Whether a question needs the conversation before it: signs that it refers to it or leaves something out."""

from __future__ import annotations

import re

from convqa.text.analysis import analyzer
from convqa.text.words import latin, listed

_REFERS = {
    "en": listed(
        "it its itself he him his himself she her hers herself they them their theirs themselves this that these those "
        "there one ones such so other others another else more most same both either neither each former latter first "
        "second next previous then too also instead again besides above below mentioned"
    ),
    "de": listed(
        "er ihn ihm sein seine seinen seinem seiner seines sie ihr ihre ihren ihrem ihrer ihres es ihnen dies diese "
        "diesen diesem dieser dieses jene jenen jener jenes das dessen deren denen da daf\u00fcr damit danach daran "
        "darin dar\u00fcber davon dazu dort andere anderen anderer anderes noch weitere weiterer beide solche auch "
        "dann sonst"
    ),
}
"""Words that stand for something said before."""

_CONTINUES = {
    "en": re.compile(r"^(?:and|but|or|so|then|also|because|why not|what about|how about|what if|how come)\b", re.I),
    "de": re.compile(r"^(?:und|aber|oder|also|dann|warum nicht|was ist mit|wie w\u00e4re es mit)\b", re.I),
}

_ARTICLE = {"en": frozenset(["the"]), "de": listed("der die das den dem des")}

_SMALL = 4
"""Content words up to which a question with an article and no name speaks of what is known: "What were the causes?".
Chosen on the training part of docs/training.md (2 to 9 were tried)."""


def follows_up(question: str, language: str = "en") -> str:
    """The sign by which a question needs the conversation: "refers", "continues", "bare" or "definite"; "" for none.

    How long a question is decides nothing by itself: "And Berlin?" needs the conversation, "Who is Ada Lovelace?" does
    not. In a language whose words are not known here, or in another script than the Latin one, every question counts as
    a follow-up ("unknown").

    >>> [follows_up(question) for question in ("When was she born?", "And Berlin?", "Why?", "What were the causes?")]
    ['refers', 'continues', 'bare', 'definite']
    >>> follows_up("Who is Ada Lovelace?")
    ''
    """
    if language not in _REFERS or not latin(question):
        return "unknown"
    analysis = analyzer(language)
    words = analysis.words(question)
    if not _REFERS[language].isdisjoint(words):
        return "refers"
    if _CONTINUES[language].match(question.strip()):
        return "continues"
    content = [word for word in words if word not in analysis.long_stopwords]
    if not content:
        return "bare"
    few = len(content) <= _SMALL and not _ARTICLE[language].isdisjoint(words)
    return "definite" if few and not _names_something(question) else ""


def _names_something(question: str) -> bool:
    """Whether a word but the first is capitalised or holds a digit."""
    return any(word[0].isupper() or any(map(str.isdigit, word)) for word in question.split()[1:])
