"""Shipped pipelines in Haystack's own loader: it runs what ``show --as haystack`` writes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from haystack import Pipeline

from convqa.components.readers import noun_phrases
from convqa.domain import Exchange, Passage, Turn, TurnId, Turns
from convqa.pipeline.load import load
from convqa.pipeline.read import shipped_pipelines
from convqa.stores import create_store

FIRST, SECOND = "How about Marbury vs Madison?", "Was it unanimous?"
RULE = "## Who can apply\n\nYou can apply if:\n\n* you are over 18\n* you live in England"
PASSAGES = {
    "en": (Passage("marbury", "Marbury v. Madison was unanimous. Marshall wrote it."), Passage("rule", RULE)),
    "ja": (
        Passage("p", "夏目漱石は日本の小説家である。代表作は「吾輩は猫である」。"),
        Passage("q", "森鷗外は軍医である。"),
    ),
    "pl": (Passage("p", "Lalka to powieść Bolesława Prusa."), Passage("q", "Pan Tadeusz to poemat Mickiewicza.")),
}
QUESTIONS = {
    "en": (FIRST, SECOND),
    "ja": ("夏目漱石とは誰か", "代表作は何か"),
    "pl": ("Kto napisał Lalkę?", "A Pana Tadeusza?"),
}
LANGUAGES = {"jwhr": "ja", "poleval": "pl"}
OF_THE_USERS_OWN = {"generative", "qrecc-supervised", "transformers"}
"""They need a server or a model of the user's."""


def written(call, name, *options):
    code, out, err = call("show", name, "--as", "haystack", *options)
    assert code == 0, err
    return out


def conversation(language="en", passages=None):
    first, second = QUESTIONS[language]
    given = {"language": language, "passages": passages}
    history = (Exchange(first, "It was decided in 1803."),)
    return Turns((Turn(TurnId("talk", 1), first, **given), Turn(TurnId("talk", 2), second, history, **given)))


def answers_alike(text, turns, pipeline):
    """Haystack's own loader and run, without convqa's, give what convqa gives: all that the pipeline makes."""
    theirs = Pipeline.loads(text).run({"turns": turns}, include_outputs_from=set(pipeline.document.components))
    ours = pipeline.run(turns)
    for label, sender in pipeline.document.outputs.items():
        node, _, socket = sender.partition(".")
        assert theirs[node][socket].items == getattr(ours, label).items
        assert len(theirs[node][socket].items) == 2
    assert all(ranking.hits for ranking in ours.rankings)


@pytest.mark.parametrize("name", [name for name in shipped_pipelines() if name not in OF_THE_USERS_OWN])
def test_what_show_writes_loads_and_runs_there(name, call, example, example_cache, tmp_path, monkeypatch):
    language = LANGUAGES.get(name, "en")
    pipeline = load(name)
    options = []
    if language != "en" or name == "qrecc-simple-baseline":
        with create_store(str(tmp_path / "collection"), language) as store:
            store.add(PASSAGES[language])
        options = ["--collection", tmp_path / "collection"]
    elif pipeline.needs_collection:
        options = ["--collection", example / "passages.jsonl.gz"]
    if name == "qrecc-simple-baseline":
        # Words in the place of TextBlob's phrases, whose corpora may not be here.
        monkeypatch.setattr(noun_phrases, "_textblob", lambda: phrases)
    text = written(call, name, *options)
    if options:
        pipeline.bind(re.search(r"^ +collection: (.+)$", text, re.M)[1])
    answers_alike(text, conversation(language, None if pipeline.needs_collection else PASSAGES["en"][1:]), pipeline)


def phrases(text):
    words = text.lower().strip(".?").split()
    return SimpleNamespace(noun_phrases=words, sentences=[SimpleNamespace(raw=text, noun_phrases=words)])


@pytest.fixture
def collection(tmp_path):
    with create_store(str(tmp_path / "collection"), "en") as store:
        store.add(PASSAGES["en"])
    return tmp_path / "collection"


def test_with_a_server(call, collection, openai_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    url = openai_server(lambda prompt, number: "Marbury v. Madison was unanimous [1].").url
    parameter = "builder.component.init_parameters.api_base_url"
    text = written(call, "generative", "--collection", collection, "--set", f"{parameter}={url}")
    pipeline = load("generative", {parameter: url})
    pipeline.bind(str(collection))
    answers_alike(text, conversation(), pipeline)


@pytest.mark.models
def test_with_a_model_of_ones_own(call, collection, tiny_generator):
    settings = {"rewriter.model": tiny_generator("t5"), "rewriter.max_new_tokens": 8}
    chosen = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    text = written(call, "qrecc-supervised", "--collection", collection, *chosen)
    pipeline = load("qrecc-supervised", settings)
    pipeline.bind(str(collection))
    answers_alike(text, conversation(), pipeline)


@pytest.mark.slow
def test_both_forms_of_a_pipeline_give_the_same_run(call, example, example_cache, tmp_path):
    forms = {"lines": load("talk").document.to_yaml(), "graph": load("talk").to_haystack("elsewhere")}
    forms["graph"] = re.sub(r" +collection: elsewhere\n", "", forms["graph"])
    for name, text in forms.items():
        pipeline = tmp_path / f"{name}.yaml"
        pipeline.write_text(text, encoding="utf-8")
        assert call("run", example, tmp_path / name, "--pipeline", pipeline, "--limit", 1)[0] == 0
        assert (tmp_path / name / "pipeline.resolved.yaml").read_text(encoding="utf-8") == text
    lines, graph = ((tmp_path / name / "run.json").read_bytes() for name in forms)
    assert lines == graph and json.loads(lines)[0]["Model_citations"]


def test_a_folder_is_named_by_its_whole_path(call, collection, monkeypatch):
    monkeypatch.chdir(collection.parent)
    assert f"collection: {collection}\n" in written(call, "copy-bm25", "--collection", "collection")


def test_a_collection_is_asked_for_where_one_is_searched(call):
    code, _, err = call("show", "default", "--as", "haystack")
    assert code == 2 and "add --collection" in err
    assert call("show", "mrqa", "--as", "haystack")[0] == 0
    code, _, err = call("show", "default", "--collection", "somewhere")
    assert code == 2 and "--collection requires --as haystack" in err


@pytest.fixture
def example_of_the_docs(call, root, collection, tmp_path):
    """Runs docs/reference/pipelines.md's example in a process of its own, with what is given as the allowlist."""
    page = (root / "docs" / "reference" / "pipelines.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```py\n(.*?)```", page, re.S)
    text = written(call, "default", "--collection", collection)
    (tmp_path / "default.haystack.yaml").write_text(text, encoding="utf-8")

    def run(allowlist):
        environment = {**os.environ, "HAYSTACK_DESERIALIZATION_ALLOWLIST": allowlist}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def test_the_example_of_the_docs_runs_in_a_process_of_haystacks(example_of_the_docs):
    done = example_of_the_docs("convqa")
    assert done.returncode == 0, done.stderr
    assert "Marbury" in done.stdout and len(done.stdout.splitlines()) == 3


def test_without_the_allowlist_the_example_is_refused(example_of_the_docs):
    refused = example_of_the_docs("")
    assert refused.returncode == 1 and "HAYSTACK_DESERIALIZATION_ALLOWLIST" in refused.stderr
