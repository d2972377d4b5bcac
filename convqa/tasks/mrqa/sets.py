"""The data sets of the shared task: their names and domains, and the macro averages over them."""

from __future__ import annotations

from collections.abc import Sequence

from convqa.files import log

IN_DOMAIN = ("SQuAD", "NewsQA", "TriviaQA", "SearchQA", "HotpotQA", "NaturalQuestions")
"""The six sets that there is training data of."""
OUT_OF_DOMAIN = (
    "BioASQ", "DROP", "DuoRC", "RACE", "RelationExtraction", "TextbookQA",
    "BioProcess", "ComplexWebQuestions", "MCTest", "QAMR", "QAST", "TREC",
)  # fmt: skip
"""The six of the development data, and the six that only the hidden test had."""
_OTHERWISE = {"TriviaQA-web": "TriviaQA", "NaturalQuestionsShort": "NaturalQuestions", "DuoRC.ParaphraseRC": "DuoRC"}
"""Names of some of them in releases and result files."""

AVERAGES = ("in-domain", "out-of-domain", "all")
"""Names of macro averages; a set of such a name has its file's name instead."""


def domain_of(name: str) -> str:
    """Where the shared task has a set of that name; "" for sets that are none of its own."""
    if name in IN_DOMAIN:
        return "in-domain"
    return "out-of-domain" if name in OUT_OF_DOMAIN else ""


def official_name(name: str) -> str:
    """The name in the task's tables.

    >>> official_name("DuoRC.ParaphraseRC"), official_name("xquad.de")
    ('DuoRC', 'xquad.de')
    """
    return _OTHERWISE.get(name, name)


def averages(names: Sequence[str]) -> dict[str, list[str]]:
    """Name of a macro average -> the data sets that it is over, for each that has more than one.

    >>> averages(["SQuAD", "NewsQA", "DROP"])
    {'in-domain': ['SQuAD', 'NewsQA'], 'all': ['SQuAD', 'NewsQA', 'DROP']}
    """
    found: dict[str, list[str]] = {"in-domain": [], "out-of-domain": []}
    for name in names:
        found.get(domain_of(name), []).append(name)
    if list(names) not in found.values():
        found["all"] = list(names)
    return {average: members for average, members in found.items() if len(members) > 1}


def warn_of_gaps(names: Sequence[str]) -> None:
    """Say what keeps a macro average from being the published one: sets that lack, and others than the task's."""
    if len(names) < 2:
        return
    for domain, published in (("in-domain", IN_DOMAIN), ("out-of-domain", OUT_OF_DOMAIN[:6])):
        lacking = [name for name in published if name not in names]
        if lacking and set(names).intersection(published):
            log.warning("the %s average is not the published one: there is no %s", domain, ", ".join(lacking))
    strange = [name for name in names if not domain_of(name)]
    if strange and len(strange) < len(names):
        log.warning("%s: none of the shared task's sets; they count in the average of all only", ", ".join(strange))
