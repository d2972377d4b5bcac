"""Replies as models write them, and sentences with numbers as they are understood."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.components.builders._reply import ParsedReply, ReplySentence, is_refusal, parse

ONE, TWO = ReplySentence("Goethe wrote Faust.", (1,)), ReplySentence("He lived in Weimar.", (2,))
BOTH = (ONE, TWO)


@pytest.mark.parametrize(
    "reply",
    [
        "Goethe wrote Faust [1]. He lived in Weimar [2].",
        "Goethe wrote Faust. [1] He lived in Weimar. [2]",
        "Goethe wrote Faust.[1] He lived in Weimar.[2]",
        "Goethe wrote Faust.[1]He lived in Weimar.[2]",
        "Goethe wrote Faust[1]. He lived [2] in Weimar.",
        "Goethe wrote Faust [Passage 1]. He lived in Weimar [source 2] .",
        "Goethe wrote Faust (1). He lived in Weimar (Passage 2).",
        "Goethe wrote Faust.\u00b9 He lived in Weimar.\u00b2",
        "Based on the provided passages, goethe wrote Faust [1]. According to passage [2], he lived in Weimar.",
        "Passage [1] says that goethe wrote Faust. Passage [2] states he lived in Weimar.",
        "Answer: Goethe wrote Faust [1]. He lived in Weimar [2].",
        "**Answer:** Goethe wrote Faust [1]. He lived in Weimar [2].",
        '{"answer": "Goethe wrote Faust [1]. He lived in Weimar [2]."}',
        '```json\n{"answer": "Goethe wrote Faust [1]. He lived in Weimar [2].", "confidence": 0.9}\n```',
        '{"sentences": [{"text": "Goethe wrote Faust.", "citations": [1]}, {"text": "He lived in Weimar.", "ref": 2}]}',
        "<|channel|>analysis<|message|>He asks [3].<|end|><|start|>assistant<|channel|>final<|message|>"
        "Goethe wrote Faust [1]. He lived in Weimar [2].<|return|>",
        "Goethe wrote Faust\u30101\u3011. He lived in Weimar\uff3b\uff12\uff3d.",
        "Goethe wrote Faust \u30101\u2020L1-L3\u3011. He lived in Weimar [^2].",
        "[1] Goethe wrote Faust.\n[2] He lived in Weimar.",
        "[1]: Goethe wrote Faust.\n[2]: He lived in Weimar.",
        "# Goethe wrote Faust. [1]\n\n> He lived in Weimar. [2]",
        "Goethe\nwrote Faust [1].\nHe lived in Weimar.\n[2]",
        "```markdown\nGoethe wrote Faust [1]. He lived in Weimar [2].\n```",
        "<think>Passage [2] says ... NO_ANSWER?</think>\nGoethe wrote Faust [1]. He lived in Weimar [2].",
        "thoughts without a beginning [3]</think>Goethe wrote Faust [1]. He lived in Weimar [2].",
        "Goethe wrote Faust [1]. He lived in Weimar [2]. <think>and so on for ever",
        "Goethe wrote Faust [1](https://a.example/x). He lived in [Weimar](https://b.example) [2].",
        "Goethe wrote Faust [1]. He lived in Weimar [2].![](https://a.example/?q=secret)",
        "Goethe wrote Faust [1]. He lived in Weimar [2].\n\nSources:\n[1] https://a.example\n[2] Goethe",
        "Goethe wrote Faust [1]. He lived in Weimar [2].\n\n**References**\n- [1] A book",
        "Goethe wrote Faust [1]. He lived in Weimar [2].\nSources: [1], [2]",
        "Goethe wrote Faust [1].\x00 He lived in\u202e Weimar [2].",
    ],
)
def test_forms_of_one_answer(reply):
    assert parse(reply, 3, "en") == ParsedReply(BOTH)


@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ("- Goethe wrote Faust. [1]\n- He lived in Weimar. [2]\n", ["-", "-"]),
        ("1. **Goethe** wrote *Faust* [1].\r\n2. He lived in __Weimar__ [2].", ["1.", "2."]),
        ("  1) Goethe wrote Faust [1].\n  4) He lived in Weimar [2].", ["1.", "4."]),
        ("> * Goethe wrote Faust [1].\n> * He lived in Weimar [2].", ["-", "-"]),
    ],
)
def test_lists_keep_their_marks(reply, items):
    assert parse(reply, 3, "en").sentences == tuple(
        one._replace(mark=item) for one, item in zip(BOTH, items, strict=True)
    )


def test_what_frames_a_list_is_not_checked_and_an_item_goes_on_to_its_end():
    said = parse(
        "Two steps:\n1. Open it [1]. Mind the spring\nand the lid [2].\n2. Press. [1]\nThat is all. [1]", 3, "en"
    ).sentences
    assert [(one.text, one.mark, one.kind) for one in said] == [
        ("Two steps:", "", "frame"), ("Open it.", "1.", "claim"), ("Mind the spring and the lid.", "", "claim"),
        ("Press.", "2.", "claim"), ("That is all.", "", "claim"),
    ]  # fmt: skip


def test_headings_and_nested_lists():
    said = parse("## News\n1. New\n   - Sync [2]\n   - Speed [2]\n2. Changed\n   - Trash [1]", 3, "en").sentences
    assert [(one.text, one.mark, one.kind) for one in said] == [
        ("News", "", "frame"), ("New", "1.", "frame"), ("Sync", "-", "claim"), ("Speed", "-", "claim"),
        ("Changed", "2.", "frame"), ("Trash", "-", "claim"),
    ]  # fmt: skip


def test_a_table_is_one_sentence_whose_rows_have_their_own_numbers():
    table = "| Item | Limit |\n|---|---|\n| Hotel [1] | **180** |\n| Lunch | 12 [2] |"
    before, said, after = parse(f"The limits:\n\n{table}\n\nNo more [1].", 3, "en").sentences
    assert (before.kind, said.kind, said.numbers, after.numbers) == ("frame", "table", (1, 2), (1,))
    assert said.rows == (ReplySentence("Hotel 180", (1,)), ReplySentence("Lunch 12", (2,)))
    assert "[" not in said.text


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("TALK You are welcome!", "talk"),
        ("You're welcome! Let me know if you have other questions.", "talk"),
        ("ASK Do you mean version 2 or 3?", "question"),
        ("Do you mean version 2 or version 3?", "question"),
        ("The passages do not mention gyms. The fee is 5 [1].", "none"),
        ("The fee is 5 [1]. The passages do not mention gyms.", "answer"),
        ("No answer.", "none"),
        ("I could not find this.", "none"),
        ("None of the documents mention the price.", "none"),
        ("The information in the passages is not sufficient.", "none"),
        ("No, text messages are not accepted [1].", "answer"),
        ("Documents are not accepted by e-mail [1].", "answer"),
        ("Die Passagen enthalten dazu keine Angaben.", "none"),
        ("No, it is not [1].", "answer"),
        ("Yes.", "answer"),
    ],
)
def test_kinds_of_replies(reply, kind):
    parsed = parse(reply, 3, "en")
    assert parsed.kind == kind and parsed.sentences


def test_what_denies_something_is_no_refusal():
    assert not is_refusal(ReplySentence("The fee is not refunded."))


def test_abbreviations_do_not_end_sentences():
    said = parse("It takes approx. 5 minutes, incl. 2 for the filter, i.e. the lid [1]. Done.", 3, "en").sentences
    assert [one.text for one in said] == ["It takes approx. 5 minutes, incl. 2 for the filter, i.e. the lid.", "Done."]


@pytest.mark.parametrize(
    ("markers", "numbers"),
    [
        ("[1][3]", (1, 3)), ("[1] [3]", (1, 3)), ("[1, 3]", (1, 3)), ("[1;3]", (1, 3)), ("[1 and 3]", (1, 3)),
        ("[1-3]", (1, 2, 3)), ("[1\u20133]", (1, 2, 3)), ("[1, 2-3]", (1, 2, 3)), ("[3, 1, 3]", (3, 1)),
        ("[Passages 1, 3]", (1, 3)), ("\u30101\u30013\u3011", (1, 3)), ("[ 1 ]", (1,)),
    ],
)  # fmt: skip
def test_several_numbers(markers, numbers):
    assert parse(f"Goethe wrote Faust {markers}.", 3, "en").sentences == (
        ReplySentence("Goethe wrote Faust.", numbers),
    )


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [("It is so [99].", ()), ("It is so [1][4].", (1,)), ("It is so [2-5].", (2, 3)), ("So [1-999].", (1, 2, 3))],
)
def test_numbers_of_no_passage_are_left_out(reply, numbers):
    assert parse(reply, 3, "en").sentences[0].numbers == numbers


@pytest.mark.parametrize(
    "text",
    [
        "It is in [0, 1].", "He came in [2008].", "He [sic] came.", "The first is `x[1]`.", "He came (9).",
        "From [3-1].", "An array a[] and [].",
    ],
)  # fmt: skip
def test_brackets_that_are_text(text):
    assert parse(f"{text} It ends [2].", 3, "en").sentences == (
        ReplySentence(text, ()),
        ReplySentence("It ends.", (2,)),
    )


@pytest.mark.parametrize(
    "reply",
    [
        "NO_ANSWER", "NO_ANSWER.", "**NO_ANSWER**", "`no_answer`", "NO ANSWER", "NO_ANSWER [1]",
        "<think>hm</think>\nNO_ANSWER\n",
    ],
)  # fmt: skip
def test_no_answer(reply):
    assert parse(reply, 3, "en") == ParsedReply(kind="none")


@pytest.mark.parametrize("reply", ["", " \n\t", "<think>for ever", "```\n```", "...", "Sources:\n[1]", "\u200b"])
def test_nothing(reply):
    assert parse(reply, 3, "en").sentences == ()


def test_markers_alone_say_nothing():
    assert parse("[1]", 3, "en") == ParsedReply() == parse("[9]", 3, "en")


def test_other_languages():
    assert parse("ゲーテが『ファウスト』を書いた。[1]彼はワイマールに住んだ[2]。", 3, "ja").sentences == (
        ReplySentence("ゲーテが『ファウスト』を書いた。", (1,)),
        ReplySentence("彼はワイマールに住んだ。", (2,)),
    )
    assert parse("كتب غوته فاوست [1]. عاش في فايمار؟ [2]", 3, "ar").sentences == (
        ReplySentence("كتب غوته فاوست.", (1,)),
        ReplySentence("عاش في فايمار؟", (2,)),
    )


SIGNS = ["[1]", "[2, 3]", "[9]", "\n", ". ", "- ", "**", "```", "](", "NO_", "[", "<think>"]
pieces = st.lists(st.one_of(st.text(max_size=8), st.sampled_from(SIGNS)), max_size=30)


@given(pieces)
def test_whatever_comes_is_read(parts):
    parsed = parse("".join(parts), 3, "en")
    for said in parsed.sentences:
        assert said.text == " ".join(said.text.split()) and any(map(str.isalnum, said.text.replace("_", "x")))
        assert set(said.numbers) <= {1, 2, 3} and len(set(said.numbers)) == len(said.numbers)


@pytest.mark.parametrize(
    "part", ["[1", "**a", "![](", "[a](", "<think>", "- ", "```\n", "[1, ", "*a ", "a.", "http://a", "\n[1]"]
)
def test_no_reply_takes_long(part):
    start = time.process_time()
    parse(part * 20_000, 3, "en")
    assert time.process_time() - start < 5
