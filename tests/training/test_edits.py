"""The edits between a question and its rewrite."""

from hypothesis import given
from hypothesis import strategies as st

from convqa.models.kinds.resolver_input import Past, lay_out
from convqa.training.edits import find_edits, known_pattern
from tests.models.kinds.test_resolver_input import TOKENIZER

HISTORY = [
    Past("What group disbanded?", "Zappa and the Mothers of Invention"),
    Past("Why?", "Zappa broke up the band."),
]


def edits(question, rewrite, history=HISTORY):
    layout = lay_out(question, history, TOKENIZER)
    found = find_edits(layout, rewrite)
    words = [layout.text(word) for word in layout.question_words]
    said = [layout.text(word) for word in layout.history_words]
    return (
        [word for word, gone in zip(words, found.deleted, strict=True) if gone],
        [
            (one.position, one.pattern, [" ".join(said[a : b + 1]) for a, b in one.occurrences])
            for one in found.insertions
        ],
        [word for word, needed in zip(said, found.terms, strict=True) if needed],
    )


def test_a_pronoun():
    gone, came, terms = edits("When did they disband?", "When did Zappa and the Mothers of Invention disband?")

    assert gone == ["they"]
    assert came == [(2, "{}", ["Zappa and the Mothers of Invention"])]
    assert terms == ["Zappa", "Zappa", "Mothers", "Invention"]


def test_a_possessive_and_every_place_where_the_words_stand():
    gone, came, _ = edits("Who was his wife?", "Who was Zappa's wife?")

    assert gone == ["his"]
    assert came == [(2, "{} 's", ["Zappa", "Zappa"])]


def test_a_gap_before_the_sign_at_the_end():
    assert edits("What else?", "What else besides the band")[1] == [(2, "besides {}", ["the band"])]


def test_words_from_nowhere_have_no_place():
    assert edits("Why?", "Why in Paris?")[1] == [(1, "in paris", [])]


def test_a_term_that_the_question_has_in_another_form_is_none():
    assert edits("Which bands?", "Which bands of Zappa")[2] == ["Zappa", "Zappa"]


def test_nothing_to_do():
    assert edits("What is jazz?", "what is jazz") == ([], [], [])


def test_unknown_patterns():
    assert known_pattern("of {}", ["{}", "of {}"]) == "of {}"
    assert known_pattern("frank {}", ["{}"]) == "{}"
    assert known_pattern("in paris", ["{}"]) is None


@given(
    st.text(max_size=60),
    st.text(max_size=60),
    st.lists(st.tuples(st.text(max_size=40), st.text(max_size=40)), max_size=3),
)
def test_any_text_has_edits(question, rewrite, history):
    layout = lay_out(question, [Past(*pair) for pair in history], TOKENIZER)

    found = find_edits(layout, rewrite)

    assert len(found.deleted) == len(layout.question_words)
    assert len(found.terms) == len(layout.history_words)
    assert all(0 <= one.position <= len(layout.question_words) for one in found.insertions)
