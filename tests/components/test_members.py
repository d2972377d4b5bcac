"""Members of a station, made of what YAML says of them."""

from __future__ import annotations

import sys

import pytest

from convqa.components.base import Builder, Decider, Rewriter
from convqa.components.builders.sentences import SentencesBuilder
from convqa.components.members import describe, full_name, make, member, members, parameters_of
from convqa.components.rewriters.copy import Copy
from convqa.errors import InputError


def builder(value):
    return make(value, "builder", Builder)


def test_a_name_a_record_or_a_member_that_is_made():
    made = SentencesBuilder(max_sentences=1)
    assert builder(made) is made
    assert isinstance(builder("sentences"), SentencesBuilder)
    assert builder({"type": "sentences", "max_sentences": 3}).max_sentences == 3
    assert builder({"type": "sentences", "init_parameters": {"max_sentences": 3}}).max_sentences == 3
    assert isinstance(builder({"type": "convqa.components.builders.sentences.SentencesBuilder"}), SentencesBuilder)
    assert isinstance(make("copy", "rewriter", Rewriter), Copy)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (7, "builder: expected a builder's name, or"),
        ({"name": "sentences"}, "expected a builder's name"),
        ("sentence", "builder.type: unknown name 'sentence'. Did you mean 'sentences'? Members of builder: "),
        ("copy", "unknown name 'copy'"),
        (Copy(), "expected a builder's name"),
        (
            "convqa.components.rewriters.copy.Copy",
            "builder.type: expected a builder, got convqa.components.rewriters.copy.Copy",
        ),
        (
            {"type": "sentences", "sentence": 1},
            "builder.sentence: unknown parameter. Did you mean",
        ),
        ({"type": "sentences", "max_sentences": 0}, "builder.max_sentences: expected 1 or more, got 0"),
        ("os.path", "builder.type: "),
    ],
)
def test_what_describes_none_is_refused(value, problem):
    with pytest.raises(InputError) as error:
        builder(value)
    assert problem in str(error.value)


def test_modules_that_begin_with_an_underscore_are_no_members():
    assert members("decider") == ["threshold"]


def test_a_description_is_complete_and_makes_an_equal_member():
    description = describe(builder({"type": "rules", "builder": "sentences"}))
    inner = description["builder"]
    assert inner["type"] == "convqa.components.builders.sentences.SentencesBuilder"
    assert inner.keys() == {"type", *parameters_of(SentencesBuilder)} and inner["max_sentences"] == 2
    assert describe(builder(description)) == description


def test_a_mistake_names_the_path_to_it():
    inner = {"type": "sentences", "max_sentences": 0}
    with pytest.raises(InputError, match=r"^node\.builder\.max_sentences: expected 1 or more, got 0"):
        make({"type": "rules", "builder": inner}, "node", Builder)


def test_a_member_of_another_package_has_a_short_name_and_is_trusted(installed):
    source = """
from convqa.components.base import Decider
from convqa.components.members import member

@member
class Doubting(Decider):
    score: float = 0.5
"""
    installed("doubting_for_test", "convqa.deciders", "doubting = doubting_for_test:Doubting", source)
    assert members("decider") == ["doubting", "threshold"]
    assert "doubting_for_test" not in sys.modules
    path = full_name("doubting", "decider", ["decider"])
    assert path == "doubting_for_test.Doubting" and "doubting_for_test" not in sys.modules
    assert make({"type": "doubting", "score": 0.7}, "decider", Decider).score == 0.7
    assert make({"type": path, "score": 0.7}, "decider", Decider).score == 0.7


@member
class Own(Rewriter):
    """A class with its own constructor."""

    def __init__(self, mark: str = "!") -> None:
        self.mark = mark


def test_a_class_may_have_its_own_constructor():
    assert parameters_of(Own) == ["mark"] and describe(Own("?")) == {"type": f"{__name__}.Own", "mark": "?"}
