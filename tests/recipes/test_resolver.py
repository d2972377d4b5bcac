"""The written split, and the examples that are made of it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import orjson
import pytest
import yaml

from convqa.errors import InputError
from convqa.models.kinds.resolver_input import Past
from convqa.training.examples import REPORT, TRAIN, VALIDATION, files
from recipes import resolver
from recipes.files import main
from recipes.resolver import Settings, load, make, silenced
from recipes.rewrites import FILES, example, split, without_overlap

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.fixture(scope="session")
def data():
    if not DATA.is_dir():
        pytest.skip("the real data is not beside the checkout")
    return DATA


@pytest.fixture(scope="session")
def written(data):
    return split(data)


@pytest.fixture
def parted(written, monkeypatch):
    """The split is made once."""
    monkeypatch.setattr(resolver, "split", lambda _: written)


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


def test_what_is_made_is_in_the_order_and_number_of_the_mix(data, written, parted):
    made, sources = make(data, Settings(mix=[{"sets": ["qrecc-dev"], "times": 2}, {"sets": ["canard"]}], silent=0))
    assert made["train.jsonl"] == [*2 * written.training["qrecc-dev"], *written.training["canard"]]
    assert list(made) == ["train.jsonl", "validation.jsonl", "report-qrecc.jsonl", "report-canard.jsonl"]
    assert "CANARD" in sources and "4,000 turns" not in sources and "Wikipedia" not in sources
    assert yaml.safe_load(sources.split("```yaml")[1].strip("`\n"))["silent"] == 0


def own(tmp_path, *examples):
    path = tmp_path / "own.jsonl"
    path.write_bytes(b"".join(orjson.dumps(dict(one) | {"history": [past._asdict() for past in one.history]}) + b"\n"
                              for one in examples))  # fmt: skip
    return Settings(mix=[{"sets": ["own"], "times": 2}], own=[str(path)], silent=0)


def test_own_examples_pass_the_guard(data, written, parted, tmp_path):
    mine = example("own-1", "What?", [Past("A question of nobody else's about xyzzy?", "")], "What is xyzzy?")
    made, sources = make(data, own(tmp_path, mine, *written.measured["qrecc-report"]))
    assert made["train.jsonl"] == [mine, mine] and "the user's own examples" in sources
    with pytest.raises(InputError, match="none is left"):
        make(data, own(tmp_path, *written.measured["qrecc-report"]))


def test_a_share_of_the_examples_loses_its_answers():
    examples = [example(str(number), "q", (Past("h", "a"), Past("i", "b")), "r") for number in range(1000)]
    silent = [one for one in silenced(examples, 0.2, 1) if one.history == [Past("h", ""), Past("i", "")]]
    assert 150 < len(silent) < 250
    assert silenced(examples, 0.2, 1) == silenced(examples, 0.2, 1) != silenced(examples, 0.2, 2)
    assert silenced(examples, 0, 1) == examples


def test_settings_are_read_and_mistakes_are_named(tmp_path):
    assert load().talks.alone == 30
    (tmp_path / "mine.yaml").write_text("mix: [{sets: [squad]}]")
    with pytest.raises(InputError, match=r"mine\.yaml: mix\[0\]\.sets\[0\]: expected 'qrecc-dev'"):
        load(tmp_path / "mine.yaml")


def test_files_and_sources_are_written_once(tmp_path, monkeypatch, capsys):
    def made(arguments):
        return {"train.jsonl": [example("1", "q", [Past("h")], "r")], "report-x.jsonl": [{"a": 1}]}, "- a set"

    monkeypatch.setattr("sys.argv", ["x", "data", str(tmp_path / "made")])
    main("", made)
    assert (tmp_path / "made" / "sources.md").read_text() == "- a set\n"
    line = json.loads((tmp_path / "made" / "train.jsonl").read_text())
    history = [{"question": "h", "answer": ""}]
    assert line == {"conversation": "1", "question": "q", "history": history, "rewrite": "r"}
    labels = [list(files(tmp_path / "made", part)) for part in (TRAIN, VALIDATION, REPORT)]
    assert labels == [["train"], [], ["x report"]]
    with pytest.raises(SystemExit):
        main("", made)
    assert "expected a new or an empty folder" in capsys.readouterr().err
