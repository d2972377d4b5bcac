"""Members of a station, made of what YAML says of them."""

from __future__ import annotations

import pytest

from convqa.components.base import Builder, Rewriter
from convqa.components.builders.sentences import SentencesBuilder
from convqa.components.members import describe, make, members, parameters_of
from convqa.components.rewriters.copy import Copy
from convqa.errors import InputError


def builder(value):
    return make(value, "builder", Builder)


def test_a_name_a_record_or_a_member_that_is_made():
    made = SentencesBuilder(sentences=1)
    assert builder(made) is made
    assert isinstance(builder("sentences"), SentencesBuilder)
    assert builder({"type": "sentences", "init_parameters": {"sentences": 3}}).sentences == 3
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
            {"type": "sentences", "init_parameters": {"sentence": 1}},
            "builder.sentence: unknown parameter. Did you mean",
        ),
        ({"type": "sentences", "init_parameters": {"sentences": 0}}, "builder.sentences: expected 1 or more, got 0"),
        ("os.path", "builder.type: "),
    ],
)
def test_what_describes_none_is_refused(value, problem):
    with pytest.raises(InputError) as error:
        builder(value)
    assert problem in str(error.value)


def test_modules_that_begin_with_an_underscore_are_no_members():
    assert members("decider") == ["logistic"]


def test_a_description_is_complete_and_makes_an_equal_member():
    description = describe(builder({"type": "rules", "init_parameters": {"builder": "sentences"}}))
    inner = description["init_parameters"]["builder"]
    assert inner["type"] == "convqa.components.builders.sentences.SentencesBuilder"
    assert inner["init_parameters"].keys() == set(parameters_of(SentencesBuilder))
    assert inner["init_parameters"]["sentences"] == 2
    assert describe(builder(description)) == description


def test_a_mistake_names_the_path_to_it():
    inner = {"type": "sentences", "init_parameters": {"sentences": 0}}
    with pytest.raises(InputError, match=r"^node\.builder\.sentences: expected 1 or more, got 0"):
        make({"type": "rules", "init_parameters": {"builder": inner}}, "node", Builder)
