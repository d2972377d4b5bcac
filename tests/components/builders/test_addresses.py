"""What counts as an address that no passage has, and what is prose with full stops in it."""

from __future__ import annotations

import time

import pytest

from convqa.components.builders._addresses import foreign

PASSAGES = (
    "Goethe wrote Faust in Weimar. It was in 1808. The U.S. team used Node.js; see notevil.com and ",
    "https://www.known.example/life?x=1, ftp://files.example, or ask me@mail.example. E. coli, J. K. Rowling.",
    "東京で書いた。日本.jpとexample.jpを見る。",
)


@pytest.mark.parametrize(
    "address",
    [
        "evil.shop", "evil.fr", "//evil.site", "EVIL.SITE", "Evil.Com", "evil.com", "sub.notevil.com", "notevil.com.ru",
        "notevil.com/x", "known.example/lif", "known.example:8080", "you@mail.example", "https://evil", "www.evil",
        "https://known.example@evil.com", "https://known.example:x@evil.com/", "ftp://known.example", "https:/evil.com",
        "http://files.example/x", "evil.com-now", "evil.com.5", "goethe.it",
        "192.168.0.1/x", "8.8.8.8", "http://[::1]/x", "javascript:alert(1)", "data:text/html;base64,AAAA",
        "mailto:me@evil", "sms:+4912", "tel:+4912",
        # Other scripts, lookalikes, and what a browser takes for a dot, or for nothing.
        "\u0435vil.com", "not\u0435vil.com", "evil\uff0ecom", "\uff45\uff56\uff49\uff4c\u3002\uff43\uff4f\uff4d",
        "evil\u2024com", "evil\u200d.com", "ev\u00adil.com", "bücher.de", "пример.рф",
        "उदाहरण.भारत", "i\u2764.ws", "xn--e1afmkfd.xn--p1ai", "これはevil.comです", "悪.jp",
    ],
)  # fmt: skip
def test_an_address_that_no_passage_has(address):
    for said in (f"Goethe wrote Faust, see {address}.", f"Goethe ({address}) wrote it.", f"{address}, he said"):
        assert foreign(said, PASSAGES), said


@pytest.mark.parametrize(
    "said",
    [
        "notevil.com", "www.notevil.com", "HTTPS://NotEvil.com/.", "(known.example)", "http://known.example/life?x=1).",
        "me@mail.example", "ftp://files.example", "example.jpは", "「example.jp」", "日本.jp", "\u200dnotevil\uff0ecom",
        "e.g. this", "i.e.", "U.S. team", "U.S.-based", "Ph.D", "Ph.D.", "3.5m", "v2.10", "12.30pm", "1.000,50", "p.m.",
        "A.D. 5", "z.B. Faust", "wait...what", "and/or km/h", "song.mp3", "9:30 // 10:30", "Node.js", "Node.js's",
        "It was in 1808.It was", "Goethe.Faust", "in Weimar.It", "E.coli", "J.K.Rowling", "書いた．東京", "std::x",
    ],
)  # fmt: skip
def test_what_a_passage_has_and_what_is_prose(said):
    assert not foreign(f"So {said} yes", PASSAGES), said
    assert not foreign(said, PASSAGES), said


def test_two_words_without_a_blank_are_prose_only_where_the_passages_have_both():
    assert foreign("The end.Next came Goethe.", PASSAGES)
    assert not foreign("The end.Next came Goethe.", ["At the end he came.", "The next one."])
    # The words of an address are no words of a passage.
    assert foreign("Evil.Shop", ["See evil.org and shop.org."])


def test_text_made_to_be_slow_is_not():
    for piece in ("a", "a.", "a@", "a+", "x:", "//", "é.", "あ.い", "a.b@"):
        start = time.process_time()
        foreign("see evil.com", [(piece * 20_000)[:20_000]])
        assert time.process_time() - start < 5, piece
