"""The data sets of the shared task: names, domains and macro averages."""

from __future__ import annotations

from collections.abc import Sequence

from convqa.text.words import listed, paired

IN_DOMAIN = listed("SQuAD NewsQA TriviaQA SearchQA HotpotQA NaturalQuestions")
"""The six sets with training data."""
OUT_OF_DOMAIN = listed(
    "BioASQ DROP DuoRC RACE RelationExtraction TextbookQA BioProcess ComplexWebQuestions MCTest QAMR QAST TREC"
)
"""The six sets of the development data, and the six of the hidden test."""
ALIASES = paired("TriviaQA-web:TriviaQA NaturalQuestionsShort:NaturalQuestions DuoRC.ParaphraseRC:DuoRC")
"""Other names in releases and result files."""


def domain_of(name: str) -> str:
    """Return the domain of a set in the shared task; "" for other sets."""
    if name in IN_DOMAIN:
        return "in-domain"
    return "out-of-domain" if name in OUT_OF_DOMAIN else ""


def averages(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the data sets of each macro average over more than one set.

    >>> averages(["SQuAD", "NewsQA", "DROP"])
    {'in-domain': ['SQuAD', 'NewsQA'], 'all': ['SQuAD', 'NewsQA', 'DROP']}
    """
    members = {}
    for domain in ("in-domain", "out-of-domain"):
        members[domain] = [name for name in names if domain_of(name) == domain]
    if list(names) not in members.values():
        members["all"] = list(names)
    return {average: sets for average, sets in members.items() if len(sets) > 1}
