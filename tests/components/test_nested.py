"""Members of a station inside another, as they stand in YAML."""

from __future__ import annotations

import pytest

from convqa.components import builders, rewriters
from convqa.components.base import Builder, Rewriter
from convqa.components.builders.sentences import Sentences
from convqa.components.nested import nested
from convqa.components.rewriters.copy import Copy
from convqa.errors import InputError


def builder(value):
    return nested(value, "builder", Builder, builders)


def test_a_name_a_record_or_a_member_that_is_made():
    made = Sentences(sentences=1)
    assert builder(made) is made
    assert isinstance(builder("sentences"), Sentences)
    assert builder({"type": "sentences", "init_parameters": {"sentences": 3}}).sentences == 3
    assert isinstance(builder({"type": "convqa.components.builders.sentences.Sentences"}), Sentences)
    assert isinstance(nested("copy", "rewriter", Rewriter, rewriters), Copy)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (7, "builder: found 7; wanted: a builder's name, or"),
        ({"name": "sentences"}, "wanted: a builder's name"),
        ("sentence", "builder.type: 'sentence' is not known. Did you mean 'sentences'? Builders: "),
        ("copy", "'copy' is not known"),
        (Copy(), "wanted: a builder's name"),
        ("convqa.components.rewriters.copy.Copy", "convqa.components.rewriters.copy has no builder Copy"),
        ({"type": "sentences", "init_parameters": {"sentence": 1}}, "builder.sentence is not known. Did you mean"),
        ({"type": "sentences", "init_parameters": {"sentences": 0}}, "builder.sentences found 0"),
        ("os.path", "builder.type: "),
    ],
)
def test_what_describes_none_is_refused(value, problem):
    with pytest.raises(InputError) as error:
        builder(value)
    assert problem in str(error.value)
