"""Word lists of English: auxiliaries, pronouns, question words, negations, yes and no, verbs of rules.

Each list is defined once. Modules that need a variation use a named subset. The grammar of questions, conditions and
replies is in the other modules of this package.
"""

from __future__ import annotations

import re

from convqa.text.words import listed


def either(words: frozenset[str]) -> str:
    """Return a pattern that matches any of the words, without a word boundary at its end."""
    return f"(?:{'|'.join(sorted(words))})"


# Auxiliaries

HAVE = listed("have has had")
AUXILIARIES = HAVE | listed("am is are was were do does did can could may might must shall should will would")
NEGATED_AUXILIARIES = listed(
    "isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't can't couldn't won't wouldn't shouldn't"
)
SHORT_ANSWER_AUXILIARIES = AUXILIARIES - listed("may might must shall should")
"""Auxiliaries of short answers such as "I do"; the excluded ones express a demand."""

SUBJECTLESS_AUXILIARIES = listed("am do did have has had was were")
"""Auxiliaries that also begin replies without a subject: "had a baby", "did it myself"."""

CONTRACTED_AUXILIARIES = listed("ai ca wo")
"""ain't, can't and won't without "n't"."""

DEMANDING_MODALS = listed("must should shall may might would")
"""Modals that express a demand rather than a fact."""

# Pronouns and determiners

SUBJECT_PRONOUNS = listed("i we you he she it they")
DEMONSTRATIVES = listed("this that these those")
PRONOUNS = SUBJECT_PRONOUNS | DEMONSTRATIVES | {"there"}
PLURAL_PRONOUNS = listed("you we they i these those")
"""Pronouns that take a plural verb: "do", "are"."""

ARTICLES = listed("a an the")
POSSESSIVES = listed("my our your his her its their")
DETERMINERS = ARTICLES | POSSESSIVES | DEMONSTRATIVES | listed("any all some no each every either both")
OPENING_DETERMINERS = (
    ARTICLES | POSSESSIVES | DEMONSTRATIVES | listed("there any all anyone anybody someone somebody everyone everybody")
)
"""Words other than pronouns that may follow the auxiliary of a question."""

# Questions and requests

QUESTION_WORDS = listed("what who whom whose which why how when where")
CONTRACTED_QUESTION_WORDS = listed("what's who's where's how's when's why's")
REQUESTS = listed("tell give show explain describe list name compare discuss summarize define find let please")
"""First verbs of requests."""

ASKS_FOR_FACT = re.compile(
    r"(?:^|[,;:.!?]\s+)\W*(?:(?:and|but|so|or|then)\s+)*(?:(?:in|on|at|by|from|to|for|of|with|since)\s+)?(?:who(?:m|se)?|when|"
    r"where|which|how (?:many|much|old|long|far|often|big|large|tall|high|deep|wide|fast|soon|late|heavy|expensive)|"
    r"what(?:['\u2019]?s| is| was| are| were)?(?: the| its| his| her| their)? (?:exact |total |full |first |last )?"
    r"(?:year|month|day|date|time|age|name|number|percentage|price|cost|population|size|height|length|capital))\b",
    re.I,
)
"""A question that asks for one fact: a person, a place, a time, a number or a name."""

ASKS_FOR_SEVERAL = re.compile(r"\b(?:are|were) there\b", re.I)
"""A yes/no question that expects a list."""

ABOUT_THE_ASKING = re.compile(r"why (?:do you ask|are you asking)|what (?:do you|does th(?:at|is)) mean")
"""Questions about a question asked back, which stays open."""

NO_QUESTION_ALONE = QUESTION_WORDS | listed("huh eh sorry pardon really yes no ok okay")
"""Words that on their own ("What?") only ask for an explanation, or answer."""

CONVERSATIONAL = listed("yes no ok okay tell describe discuss explain give talk")
"""Words about the conversation itself, which name no topic."""

# Yes and no

YES = re.compile(
    r"(?:yes|yeah|yep|yup|y|indeed|certainly|definitely|of course|absolutely)\b|"
    r"(?:sure|correct|right|true|that'?s (?:right|correct|true))(?=\s*(?:[.,;!]|\Z))",
    re.I,
)
NO = re.compile(r"(?:no|nope|nah|n|not|never|neither)\b|(?:false|wrong)(?=\s*(?:[.,;!]|\Z))", re.I)
YES_NOT = re.compile(
    r"(?:yes|sure|certainly|definitely|of course|absolutely|right|true|correct)\b"
    r"[^.;!?]{0,40}?(?<!why )(?:\bnot\b(?! only)|n't\b)",
    re.I,
)
"""Agreement with a negation: "right, I don't"."""

NEITHER_YES_NOR_NO = re.compile(
    r"not sure|no idea|n/a\b|not applicable|not only|yes and no|no and yes|no clue|not certain|none of your", re.I
)
AFTER_ALL = re.compile(r"\b(?:actually|sorry|wait|problem|doubt|worries|mind)\b", re.I)
"""Words after "no" that revoke it or change its meaning: "no problem", "no, wait"."""

# Negations

NEGATIONS = listed("no not never none nor neither nobody nothing without cannot hardly")
CONTRACTED_NOT = ("n't", "n\u2019t")
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
    rf"{_OF_A_VERB}|\bno\b|\bwithout\b|\bnone\b|\bnor\b|\bunable\b|\brefused?\b|\byet to\b", re.I
)
"""Negation in free text, not necessarily of a verb."""

NEGATION_OF_A_CONDITION = re.compile(r"(?:\bnot\b(?! only\b)|\bno longer\b|\bnever\b|\bneither\b)\s*", re.I)
"""Words to remove from a condition that becomes a question, once contractions are expanded."""


def opposite(first: str, second: str) -> bool:
    """Return whether exactly one of two texts negates a verb.

    >>> opposite("I don't live here.", "Do you live here?"), opposite("I live here.", "Do you live here?")
    (True, False)
    """
    return bool(NEGATED.search(first)) != bool(NEGATED.search(second))


# Verbs, adverbs and nouns of rules

VERBS = listed(
    "earn give get have hold live work own pay receive meet need want use make apply claim attend complete provide "
    "show sell buy hire export import send join register serve take stay share care look act plan expect intend agree "
    "accept know keep drive possess qualify belong rent study support employ run start stop leave move wear obtain "
    "consent reside prove pass carry contact ask tell submit sign file demonstrate include reach follow occupy go "
    "change deduct install control specify let hire teach treat manage operate trade produce grow spend save refuse "
    "last fail die become increase end exceed cost depend remain continue return travel consist come bring"
)
IRREGULAR_PAST = {
    "got": "get", "had": "have", "went": "go", "made": "make", "took": "take", "gave": "give", "paid": "pay",
    "sold": "sell", "bought": "buy", "left": "leave", "lost": "lose", "began": "begin", "came": "come", "did": "do",
    "died": "die", "served": "serve", "lived": "live", "received": "receive", "moved": "move", "used": "use",
    "met": "meet", "held": "hold", "sent": "send", "spent": "spend", "told": "tell", "won": "win", "wrote": "write",
    "kept": "keep", "became": "become", "thought": "think", "brought": "bring", "built": "build", "taught": "teach",
}  # fmt: skip
PARTICIPLES = listed(
    "been got had made taken given paid sold bought left lost begun come done gone met held sent spent told won "
    "written kept become thought brought built taught seen known shown worn torn chosen spoken broken born"
)
NOT_PAST = listed("need feed speed exceed proceed succeed")
"""Verbs whose base form ends in -ed or -eed."""

ADVERBS = listed("already also still only just usually ever never currently normally previously both either")
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
ANYBODY = re.compile(
    r"\b(?:someone|somebody|anyone|a person|persons?|people|individuals?|workers?|employees?|applicants?|veterans?|"
    r"drivers?|residents?|students?|businesses|organi[sz]ations?)\b",
    re.I,
)
IRREGULAR_SINGULAR = {
    "people": "person",
    "men": "man",
    "women": "woman",
    "children": "child",
    "families": "family",
    "charities": "charity",
    "businesses": "business",
}
HAVING_STEMS = listed(
    "get got qualifi elig entitl claim appli receiv obtain allow abl still usual can could may might will would"
)
"""Stems that only express having or getting something."""

# Numbers

UNITS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
NUMERALS = {
    "zero": 0,
    **UNITS,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    **TENS,
}
