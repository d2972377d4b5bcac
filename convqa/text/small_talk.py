"""Small talk: thanks, agreement, greetings and the like, which ask nothing. Closed lists, by language.

A text is small talk where all of it is made of the phrases below: "ok, thanks!" is, "thanks, and his wife?" is not.
"""

from __future__ import annotations

import re
from functools import cache

_LONGEST = 20
"""Words; what is longer says something."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")

_ADVERB = (
    r"(?:so|very|really|quite|pretty|too|super|rather|just|absolutely|truly|kind of|a bit|all|most|not|always|also|"
    r"such|more than)"
)
_OPINION = (
    rf"(?:{_ADVERB} )*(?:good|nice|great|cool|awesome|amazing|interesting|fascinating|helpful|useful|informative|sad|"
    rf"funny|fun|hilarious|crazy|insane|wild|scary|terrible|awful|horrible|weird|strange|odd|surprising|shocking|"
    rf"incredible|unbelievable|wonderful|fantastic|excellent|perfect|fine|brilliant|lovely|neat|sweet|impressive|"
    rf"beautiful|disappointing|unfortunate|bad|fair|clear|enough|true|right|correct|better|fabulous|splendid|"
    rf"superb)(?: (?:job|work|one|point|idea|call|stuff|too|indeed|enough|to (?:know|hear|learn|see)))*"
)
_THANKS_FOR = (
    r"(?: for (?:that|this|it|everything|(?:sharing|explaining|answering|clarifying|helping|asking)(?: (?:it|that|"
    r"this|me))?|(?:(?:all|the|your|this|that|these|useful|helpful|great) )*(?:info|information|help|answers?|"
    r"explanation|clarification|time|update|details|tips?|advice|response)))?"
)
_ADDRESS = (
    r"(?: (?:there|again|all|everyone|everybody|guys|folks|friend|my friend|buddy|mate|man|dude|sir|madam|bot|chatbot|"
    r"robot|assistant|then|now|too|dear|anyway|though|you))*"
)
_ENGLISH = (
    # Thanks and the reply to it
    rf"(?:ok |many |so |very |big )*(?:thanks|thank (?:you|u)|thx|thanx|ty|tysm|cheers|much appreciated)"
    rf"(?: (?:so much|very much|very kindly|a (?:lot|bunch|million|ton)|again|kindly|you|indeed))*{_THANKS_FOR}",
    rf"i (?:really )?appreciate (?:it|that|this|your (?:help|time))|you(?:'re| are) (?:very |most )?(?:welcome|"
    rf"{_OPINION})",
    # Agreement, doubt and dismissal
    r"o+k+|okay+|okey(?: dokey)?|okie|k+|al+right|all right|right|righto|sure(?: thing)?|got (?:it|that|you)|gotcha|"
    r"i (?:see|understand|got it|get it|agree|know(?: that)?|guess(?: so)?|think so|suppose(?: so)?|hope so|bet)|"
    r"i (?:don't|do not|didn't|did not) (?:know|understand|think so|care)(?: (?:that|this|it))?|i had no idea|idk|"
    r"dunno|understood|noted|(?:that |this |it )?makes sense|fair enough|of course|agreed|exactly|indeed|absolutely|"
    r"definitely|certainly|totally|yes+|yeah+|yep|yup|ya|yea|aye|no+|nope|nah|please|maybe|perhaps|not really|"
    r"not (?:now|yet)|never ?mind|nvm|forget (?:about )?(?:it|that)|(?:no|don't) (?:worries|worry|problem|prob)|np|"
    r"my bad|(?:i'm |i am )?sorry|apologies|oops|whatever|who cares|same here|me too|let me (?:think|see)|nothing"
    r"(?: (?:else|more|further))?|no (?:more|other|further) questions|i have no (?:more |further |other )?questions|"
    r"(?:that's|that is|that will be|that'll be|that was) (?:all|it|everything)(?: for (?:now|today))?(?: i (?:needed|"
    r"wanted)(?: to (?:know|ask))?)?",
    # What somebody thinks of it
    _OPINION,
    rf"(?:that|this|it|you|they|those|these)(?:'s| is| was| are|'re| were| sounds| seems| looks)(?: a|"
    rf" an)? {_OPINION}(?: (?:fact|facts|answer|information|info|news|story|question|thing))?",
    rf"(?:what|such) an? {_OPINION}(?: (?:fact|answer|story|thing))?|what a (?:shame|pity|story|surprise)|"
    rf"how (?:very )?(?:interesting|nice|cool|sad|funny|awful|terrible|lovely|weird|strange|odd|fascinating)|"
    rf"i (?:really )?(?:love|like) (?:it|that|this)|(?:i'm|i am) (?:good|fine|ok|okay|done|happy|glad|impressed|"
    rf"confused|bored)|(?:good|well) (?:job|done|said|put)",
    # Sounds
    r"(?:a?ha)+h?|(?:he)+|lo+l|lmao|rofl|xd|hm+|mm+|mhm|uh+|um+|uh huh|erm*|a+h+|o+h+|aha|wow+|whoa|ooh|phew|yay|ouch|"
    r"gee|gosh|geez|omg|oh my(?: (?:god|gosh|goodness))?|oh (?:no|dear|well|boy)|well|anyway|hooray|hurray|bravo|so",
    # Greetings and farewells
    r"hi+|hello+|hey+|hiya|howdy|yo|greetings|welcome(?: back)?|good (?:morning|afternoon|evening|day|night)|"
    r"goodnight|(?:(?:it's |it is )?(?:nice|good|great|pleased) (?:to meet|to see|talking to|chatting with) you)|"
    r"by+e+(?: bye)?|goodbye|good bye|farewell|see (?:you|ya)(?: (?:later|soon|tomorrow|around))?|cya|ttyl|(?:talk|"
    r"speak) to you (?:later|soon)|take care|have a (?:nice|good|great|lovely|wonderful) (?:day|one|evening|night|"
    r"weekend|time)|until next time|(?:i have to|i've got to|i got to|gotta|i must|i need to) go|(?:and )?how (?:are|"
    r"r) (?:you|u)(?: (?:doing|today|feeling))*|how's it going|how do you do|what's up|sup",
)
_COURTESY = re.compile(r"\b(?:how (?:are|r) (?:you|u)(?: \w+)*|how's it going|how do you do|what's up|sup)\Z")
"""Of what ends with a question mark only this asks nothing of a collection."""

_PHRASES = {
    "en": "|".join(f"(?:{part})" for part in _ENGLISH),
    "de": r"(?:vielen |besten |herzlichen |schönen )?dank(?:e)?(?: (?:schön|sehr|dir|ihnen|euch|vielmals|auch|"
    r"dafür))*|dankeschön|ok(?:ay|ey)?|(?:sehr |ganz |echt )?(?:gut|super|toll|prima|klasse|cool|interessant|schön|"
    r"spannend)|alles klar|klar|(?:ich )?verstehe|verstanden|aha|ach ?so|ach|oh|ja|nein|doch|genau|stimmt|richtig|"
    r"bitte|wow|haha|lol|hm+|das ist (?:sehr |ja |echt )*(?:gut|super|toll|schön|interessant|cool|spannend|schade)|"
    r"schade|hallo|hi|hey|servus|moin|grüß gott|guten (?:tag|morgen|abend)|gute nacht|tschüs+|ciao|auf wiedersehen|"
    r"bis (?:bald|dann|später|morgen)|schönen tag(?: noch)?|das war(?:'s| alles)",
    "pl": r"(?:bardzo )?(?:dziękuję|dziekuje|dzięki|dzieki)(?: (?:bardzo|serdecznie|wielkie))?|ok(?:ej)?|okay|dobrze|"
    r"dobra|(?:bardzo )?(?:super|świetnie|fajnie|ciekawe|interesujące)|rozumiem|jasne|pewnie|tak|nie|aha|wow|haha|"
    r"cześć|hej|witam|siema|dzień dobry|dobry wieczór|dobranoc|do widzenia|pa(?: pa)?|na razie|proszę|szkoda|"
    r"to wszystko",
    "ja": r"(?:どうも)?(?:ありがとう|有難う|有り難う)(?:ござい(?:ます|ました))?|どうも|はい|いいえ|うん|ううん|ええ|"
    r"なるほど|(?:わか|分か|解)りました|了解(?:です|しました)?|そうですか|そうですね|そうか|すごい(?:ですね)?|"
    r"いいですね|(?:面白|おもしろ)い(?:ですね)?|こんにちは|こんばんは|おはよう(?:ございます)?|さようなら|"
    r"おやすみ(?:なさい)?|じゃあね|またね|オーケー|すみません|ごめん(?:なさい)?|お願いします",
}


@cache
def _phrase(language: str) -> re.Pattern[str]:
    address = _ADDRESS if language == "en" else ""
    return re.compile(rf"(?:and |but )?(?:{_PHRASES[language]}){address}")


def asks_nothing(text: str, language: str = "en") -> bool:
    """Whether all of what the user said is small talk, so that there is nothing to look for.

    A question mark asks, but for "how are you?". In a language whose phrases are not known everything asks something.

    >>> [asks_nothing(text) for text in ("ok cool", "Thanks, that's very helpful!", "lol", "\U0001f44d")]
    [True, True, True, True]
    >>> [asks_nothing(text) for text in ("tell me more", "hello kitty", "thanks, and his wife?", "why", "")]
    [False, False, False, False, False]
    """
    if language not in _PHRASES or not text.strip():
        return False
    words = _WORD.findall(text.lower().replace("\u2019", "'"))
    if any(mark in text for mark in "?\uff1f") and not _COURTESY.search(" ".join(words)):
        return False
    return len(words) <= _LONGEST and _made_of(_phrase(language), words)


def _made_of(phrase: re.Pattern[str], words: list[str]) -> bool:
    """Whether words are phrases one after another: the longest first, so that no time is lost with going back."""
    start = 0
    while start < len(words):
        ends = range(len(words), start, -1)
        start = next((end for end in ends if phrase.fullmatch(" ".join(words[start:end]))), 0)
        if not start:
            return False
    return True
