"""The file of an ablation: rows of the grid, their pipelines, and what is wrong in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from convqa.errors import InputError
from convqa.experiments.grid import baseline_of, read_ablation, rows_of
from convqa.places import shipped

GRID = """
pipeline: default
override: {retriever.top_k: 10, reranker: null, reader: null, builder: null, decider: null}
axes:
  rewriter: [copy, edit]
  retriever.k1: [0.5, 2]
"""


def ablation(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    return read_ablation(str(file))


def test_the_grid_is_the_product_of_its_axes(tmp_path):
    rows = rows_of(ablation(tmp_path, GRID)[0])
    assert [row.name for row in rows] == ["copy+0.5", "copy+2", "edit+0.5", "edit+2"]
    assert rows[2].values == {"rewriter": "edit", "retriever.k1": "0.5"}
    assert rows[2].overrides == {"rewriter.type": "edit", "retriever.k1": 0.5}


def test_a_row_is_a_pipeline_file(tmp_path):
    mine, file = ablation(tmp_path, GRID)
    stations = yaml.safe_load(rows_of(mine)[1].document(mine, file))["stations"]
    assert stations["rewriter"] == {"type": "convqa.components.rewriters.copy.Copy"}
    assert (stations["retriever"]["top_k"], stations["retriever"]["k1"]) == (10, 2)
    assert list(stations) == ["rewriter", "retriever"]


def test_values_may_be_several_settings_and_remove_stations(tmp_path):
    text = """
    pipeline: base.yaml
    axes:
      retriever:
        words: {retriever.type: bm25, retriever.k1: 1.2}
        none: {reranker: null}
      rewriter:
        human: {rewriter.type: recorded, rewriter.path: "{input}/rewritten.json"}
        copy:
    """
    (tmp_path / "base.yaml").write_text("stations: {rewriter: edit, retriever: dense, reranker: encoder}")
    mine, file = ablation(tmp_path, text)
    rows = {row.name: row for row in rows_of(mine)}
    assert list(rows) == ["words+human", "words+copy", "none+human", "none+copy"]
    assert rows["none+human"].overrides["reranker"] is None
    assert rows["words+human"].settings(Path("in")) == {"rewriter.path": "in/rewritten.json"}
    document = yaml.safe_load(rows["words+human"].document(mine, file))
    assert document["stations"]["rewriter"]["path"] == "{input}/rewritten.json"
    assert document["stations"]["retriever"]["k1"] == 1.2
    assert "reranker" not in yaml.safe_load(rows["none+copy"].document(mine, file))["stations"]


@pytest.mark.parametrize(("base", "folders"), [("default", [""]), ("sub/base.yaml", ["sub", ""])])
def test_a_row_names_the_folders_of_the_users_modules(tmp_path, base, folders):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "base.yaml").write_text("extends: default")
    mine, file = ablation(tmp_path, f"{{pipeline: {base}, axes: {{rewriter: [copy, mine_for_test.Mine]}}}}")
    plain, own = (yaml.safe_load(row.document(mine, file)) for row in rows_of(mine))
    assert "python_path" not in plain
    assert own["python_path"] == [str(tmp_path.resolve() / folder) for folder in folders]


def test_null_among_the_values_of_a_station_removes_it(tmp_path):
    mine, file = ablation(tmp_path, "{pipeline: default, axes: {reranker: [encoder, null]}}")
    with_reranker, without = rows_of(mine)
    assert (without.name, without.overrides) == ("null", {"reranker": None})
    assert "reranker" in with_reranker.document(mine, file) and "reranker" not in without.document(mine, file)


def test_rows_may_be_the_values_of_one_axis(tmp_path):
    rows = rows_of(ablation(tmp_path, "{pipeline: default, axes: {row: {a b: {}, c: {retriever.k1: 2}}}}")[0])
    assert [(row.name, dict(row.overrides)) for row in rows] == [("a_b", {}), ("c", {"retriever.k1": 2})]


def test_the_baseline_is_the_first_row_with_its_values(tmp_path):
    for baseline, name in (
        ("", "copy+0.5"),
        ("baseline: {rewriter: edit}", "edit+0.5"),
        ("baseline: copy+2", "copy+2"),
    ):
        mine, _ = ablation(tmp_path, GRID + baseline)
        assert baseline_of(mine, rows_of(mine)).name == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{pipeline: default}", "axes: is missing"),
        ("{pipeline: default, axes: {rewriter: []}}", "axes.rewriter: expected one or more values"),
        ("{pipeline: default, axes: {rewriter: {copy: edit}}}", "axes.rewriter.copy"),
        ("{pipeline: default, axes: {rewriter: [a/b, a b]}}", "two rows are called a_b"),
        ("{pipeline: default, axes: {row: {a: [reader]}}}", "axes.row.a: expected {STATION.PARAMETER: VALUE}"),
        ("{pipeline: default, axes: {rewriter: [copy]}, baseline: {rewriter: edit}}", "unknown row"),
        ("{pipelines: default}", "Fields: question, pipeline"),
        ("{pipeline: default, axes: {rewriter: [copy]}, inputs: {a: {history: all}}}", "inputs.a.history"),
    ],
)
def test_mistakes_are_named(tmp_path, text, says):
    with pytest.raises(InputError, match=re.escape(says)):
        mine, _ = ablation(tmp_path, text)
        baseline_of(mine, rows_of(mine))


def test_an_unknown_name_lists_what_ships():
    with pytest.raises(InputError, match=r"unknown name.*Expected one of .*rewriters"):
        read_ablation("rewriter")


@pytest.mark.parametrize("file", sorted(shipped("configs", "ablations").glob("[!.]*.yaml")), ids=lambda file: file.stem)
def test_what_ships_can_be_read(file):
    if not file.stem.endswith(".pipeline"):
        mine, _ = read_ablation(file.stem)
        assert baseline_of(mine, rows_of(mine))
