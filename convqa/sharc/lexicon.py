"""Word lists for reading rules in English: yes and no, negations, the verbs and nouns of rules.

Lists that other parts of convqa share are in :mod:`convqa.text.english.lexicon`.
"""

from __future__ import annotations

import re

from convqa.text.english.lexicon import (
    ARTICLES,
    AUXILIARIES,
    DEMONSTRATIVES,
    POSSESSIVES,
    SUBJECT_PRONOUNS,
)
from convqa.text.words import listed, paired

# Auxiliaries, pronouns and determiners

SHORT_ANSWER_AUXILIARIES = AUXILIARIES - listed("may might must shall should")
"""Auxiliaries of short answers such as "I do"; the excluded ones express a demand."""

DEMANDING_MODALS = listed("must should shall may might would")
"""Modals that express a demand rather than a fact."""

PRONOUNS = SUBJECT_PRONOUNS | DEMONSTRATIVES | {"there"}
PLURAL_PRONOUNS = listed("you we they i these those")
"""Pronouns that take a plural verb: "do", "are"."""

DETERMINERS = ARTICLES | POSSESSIVES | DEMONSTRATIVES | listed("any all some no each every either both")

# Yes and no

YES = re.compile(
    r"(?:yes|yeah|yep|yup|y|indeed|certainly|definitely|of course|absolutely)\b|"
    r"(?:sure|correct|right|true|that'?s (?:right|correct|true))(?=\s*(?:[.,;!]|\Z))",
    re.I,
)
NO = re.compile(
    r"(?:no|nope|nah|n|not|never|neither)\b|(?:false|wrong)(?=\s*(?:[.,;!]|\Z))",
    re.I,
)
YES_NOT = re.compile(
    r"(?:yes|sure|certainly|definitely|of course|absolutely|right|true|correct)\b"
    r"[^.;!?]{0,40}?(?<!why )(?:\bnot\b(?! only)|n't\b)",
    re.I,
)
"""Agreement with a negation: "right, I don't"."""

NEITHER_YES_NOR_NO = re.compile(
    r"not sure|no idea|n/a\b|not applicable|not only|yes and no|no and yes|no clue|not certain|none of your",
    re.I,
)
AFTER_ALL = re.compile(r"\b(?:actually|sorry|wait|problem|doubt|worries|mind)\b", re.I)
"""Words after "no" that revoke it or change its meaning: "no problem", "no, wait"."""

# Negations

_OF_A_VERB = r"\bnot\b(?! only\b)|\bcannot\b|n['\u2019`]t\b|\bno longer\b|\bnever\b|\bneither\b"
NEGATED = re.compile(_OF_A_VERB, re.I)
"""Negation of a verb or a phrase."""

DENIED = re.compile(
    rf"{_OF_A_VERB}|\bno\b|\bnone\b|\bbanned\b|\bprohibit\w*|\bforbidden\b|\bineligible\b|\bexclud\w*|\bunable\b|"
    r"\bunlawful\b|\billegal\b",
    re.I,
)
"""Denial, in a rule or in a question about it."""

NEGATED_ANYWHERE = re.compile(
    rf"{_OF_A_VERB}|\bno\b|\bwithout\b|\bnone\b|\bnor\b|\bunable\b|\brefused?\b|\byet to\b",
    re.I,
)
"""Negation in free text, not necessarily of a verb."""

NEGATION_OF_A_CONDITION = re.compile(r"(?:\bnot\b(?! only\b)|\bno longer\b|\bnever\b|\bneither\b)\s*", re.I)
"""Words to remove from a condition that becomes a question, once contractions are expanded."""


def opposite(first: str, second: str, negated: re.Pattern[str] = NEGATED) -> bool:
    """Return whether exactly one of two texts has a negation, by default of a verb.

    >>> opposite("I don't live here.", "Do you live here?"), opposite("I live here.", "Do you live here?")
    (True, False)
    >>> opposite("I have no children.", "Do you have children?", NEGATED_ANYWHERE)
    True
    """
    return bool(negated.search(first)) != bool(negated.search(second))


# Verbs and nouns of rules

VERBS = listed(
    "earn give get have hold live work own pay receive meet need want use make apply claim attend complete provide "
    "show sell buy hire export import send join register serve take stay share care look act plan expect intend agree "
    "accept know keep drive possess qualify belong rent study support employ run start stop leave move wear obtain "
    "consent reside prove pass carry contact ask tell submit sign file demonstrate include reach follow occupy go "
    "change deduct install control specify let hire teach treat manage operate trade produce grow spend save refuse "
    "last fail die become increase end exceed cost depend remain continue return travel consist come bring"
)
IRREGULAR_PAST = paired(
    "got:get had:have went:go made:make took:take gave:give paid:pay sold:sell bought:buy left:leave lost:lose "
    "began:begin came:come did:do died:die served:serve lived:live received:receive moved:move used:use met:meet "
    "held:hold sent:send spent:spend told:tell won:win wrote:write kept:keep became:become thought:think "
    "brought:bring built:build taught:teach"
)
PARTICIPLES = listed(
    "been got had made taken given paid sold bought left lost begun come done gone met held sent spent told won "
    "written kept become thought brought built taught seen known shown worn torn chosen spoken broken born"
)
NOT_PAST = listed("need feed speed exceed proceed succeed")
"""Verbs whose base form ends in -ed or -eed."""

BEHIND_NOUNS = listed("who whose which that with without on or and in of at from for to by as under over aged ages")
"""Words that may follow the head noun of a phrase."""

PEOPLE = re.compile(
    r"\b(?:person|people|man|men|woman|women|child|children|student|worker|employee|employer|veteran|driver|resident|"
    r"citizen|applicant|parent|partner|farmer|member|owner|individual|family|families|carer|agent|borrower|homeowner|"
    r"renter|spouse|volunteer|dependant|dependent|survivor|business|organisation|organization|charity|charities|"
    r"trustee|contractor|taxpayer|pensioner|adult|minor|patient|provider|supplier|director|apprentice|trainee|"
    r"businesse)s?\b",
    re.I,
)
IRREGULAR_SINGULAR = paired(
    "people:person men:man women:woman children:child families:family charities:charity businesses:business"
)
HAVING_STEMS = listed(
    "get got qualifi elig entitl claim appli receiv obtain allow abl still usual can could may might will would"
)
"""Stems that only express having or getting something."""
