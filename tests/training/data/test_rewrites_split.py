"""The written split, and examples of one's own."""

from __future__ import annotations

import itertools
import json

import pytest

from convqa.errors import InputError
from convqa.models.kinds.resolver_input import Past
from convqa.training.data.rewrites import (
    FILES,
    Example,
    Split,
    held_out,
    read_own,
    silenced,
    split,
    with_own,
    without_overlap,
)

NOTHING = Split({}, {})


@pytest.fixture(scope="session")
def written(request):
    from pathlib import Path

    root = Path(__file__).resolve().parents[3].parent / "shared" / "data"
    if not root.is_dir():
        pytest.skip("the real data is not beside the checkout")
    return split(root)


def counts(examples):
    return len(examples), len({example.conversation for example in examples})


def test_the_written_split(written):
    """Turns and conversations (of CANARD: articles, whose dialogs are split together)."""
    assert {name: counts(examples) for name, examples in written.training.items()} == {
        "qrecc-dev": (311, 222),
        "qrecc-4k": (3069, 2466),
        "canard": (11795, 1423),
    }
    assert {name: counts(examples) for name, examples in written.measured.items()} == {
        "validation": (253, 200),
        "qrecc-report": (413, 283),
        "canard-report": (2940, 475),
    }


def test_what_trains_is_disjoint_from_all_that_is_measured_on(written):
    for training, other in itertools.product(written.training.values(), written.measured.values()):
        assert without_overlap(training, other) == training
    validation, *reported = written.measured.values()
    assert without_overlap(validation, [example for examples in reported for example in examples]) == validation


def test_a_data_folder_without_the_files_is_refused_by_name(tmp_path):
    (tmp_path / "canard").mkdir()
    (tmp_path / "canard" / "dev.json").write_text("[]")
    with pytest.raises(InputError) as caught:
        split(tmp_path)
    missing = set(FILES) - {"canard/dev.json"}
    assert all(name in str(caught.value) for name in missing) and "canard/dev.json" not in str(caught.value)


def test_what_is_held_out_is_whole_conversations_and_always_the_same():
    examples = [Example(f"c{number % 5}", str(number), (Past("q", "a"),), "r") for number in range(20)]
    rest, held = held_out(examples, 2)
    assert len({example.conversation for example in held}) == 2
    assert not {example.conversation for example in held} & {example.conversation for example in rest}
    assert len(rest) + len(held) == 20
    assert held_out(list(reversed(examples)), 2)[1] == list(reversed(held))


def test_own_examples_alone_give_a_tenth_to_validation_and_report_nothing(own):
    found = with_own(NOTHING, read_own([own / "own.jsonl"]))
    assert counts(found.measured["validation"]) == (2, 1)
    assert counts(found.training["own"])[1] == 9
    assert list(found.measured) == ["validation"]


def test_own_examples_beside_the_split_are_guarded(written):
    reported = written.measured["qrecc-report"]
    mine = [Example("own-1", "What?", (Past("A question of nobody else's about xyzzy?", ""),), "What is xyzzy?")]
    found = with_own(written, [*mine, *reported])
    assert found.training["own"] == mine
    assert found.training["canard"] == written.training["canard"]


def test_own_examples_of_which_the_guard_leaves_none_are_refused():
    shared = Past("Tell me something about this very long shared first question please", "No.")
    same = [Example(f"own-{number}", "q?", (shared,), f"q {number}?") for number in range(12)]
    with pytest.raises(InputError, match="none of the 11 examples is left to train on"):
        with_own(NOTHING, same)


def test_own_examples_that_all_are_reported_on_are_refused(written):
    with pytest.raises(InputError, match="none of the 413 examples is left"):
        with_own(written, written.measured["qrecc-report"])


def test_one_conversation_of_ones_own_is_too_few():
    with pytest.raises(InputError, match="at least 2"):
        with_own(NOTHING, [Example("own-1", "q", (Past("h", ""),), "r")])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2, column"),
        ('{"conversation": 1, "question": "q", "history": [], "rewrite": "r"}', "line 2: history: "),
        ('{"conversation": 1, "question": "q", "history": [{"q": "x"}], "rewrite": "r"}', "history[0].question"),
        ("[]", "line 2: the record"),
    ],
)
def test_mistakes_in_own_files_are_named_with_their_line(tmp_path, line, said):
    good = {"conversation": 1, "question": "q", "history": [{"question": "h"}], "rewrite": "r"}
    (tmp_path / "mine.jsonl").write_text(json.dumps(good) + "\n" + line + "\n")
    with pytest.raises(InputError) as caught:
        read_own([tmp_path / "mine.jsonl"])
    assert said in str(caught.value) and "mine.jsonl" in str(caught.value)


def test_an_own_file_that_is_missing_is_said_to_be_missing(tmp_path):
    with pytest.raises(InputError, match=r"mine.jsonl: no such file; expected JSON lines of \{conversation"):
        read_own([tmp_path / "mine.jsonl"])


def test_a_share_of_the_examples_loses_its_answers():
    examples = [Example(str(number), "q", (Past("h", "a"), Past("i", "b")), "r") for number in range(1000)]
    silent = [example for example in silenced(examples, 0.2, 1) if example.history == (Past("h", ""), Past("i", ""))]
    assert 150 < len(silent) < 250
    assert silenced(examples, 0.2, 1) == silenced(examples, 0.2, 1) != silenced(examples, 0.2, 2)
    assert silenced(examples, 0, 1) == examples
