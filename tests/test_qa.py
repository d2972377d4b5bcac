"""The Python door on real passages."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import convqa
from convqa.domain import Conversation, Passage, Turn, TurnId
from convqa.errors import ConvqaError, InputError, StoreUnavailable, WorkError
from convqa.models import load_encoder
from convqa.stores import create_store, open_store


@pytest.fixture(scope="module")
def qa(tmp_path_factory):
    from pathlib import Path

    from convqa.indexing import index_sources

    folder = tmp_path_factory.mktemp("qa") / "collection"
    index_sources([Path(__file__).resolve().parents[1] / "examples" / "qrecc-trec" / "passages.jsonl.gz"], str(folder))
    few = {"retriever.candidates": 8, "reader.max_passages": 5}  # to read fast
    return convqa.load(collection=folder, overrides=few)


def test_a_conversation_remembers(qa):
    talk = qa.conversation()
    first = talk.ask("What is a physician's assistant?")
    assert first.answer.kind == "answer" and first.answer.sentences[0].citations
    second = talk.ask("What does it cost?")
    assert {term.lower() for query in second.rewrite.queries for term, _ in query.terms} & {"physician", "assistant"}
    assert [exchange.answer for exchange in talk.history] == [first.answer.text, second.answer.text]


def test_what_asks_nothing_is_not_searched_and_changes_no_topic(qa):
    talk, plain = qa.conversation(), qa.conversation()
    for one in (talk, plain):
        one.ask("What is a physician's assistant?")
    thanks = talk.ask("ok, thanks!")
    assert thanks.added == ()
    assert (thanks.rewrite.queries, thanks.ranking.hits, thanks.answer.kind) == ((), (), "talk")
    assert thanks.answer.text == "" and thanks.answer.shown == "You're welcome." and talk.history[-1].status == "idle"
    costs = talk.ask("What does it cost?")
    assert costs.rewrite == plain.ask("What does it cost?").rewrite
    assert "physician" in " ".join(costs.rewrite.text[start:end] for start, end in costs.added)
    assert costs.trimmed().added == () and "added" not in costs.trimmed().to_json()
    assert type(costs).from_json(costs.to_json()).added == costs.added


def test_the_same_turn_through_the_same_pipeline_has_the_same_answer_at_every_door(example, example_cache, call):
    passages = str(example / "passages.jsonl.gz")
    qa = convqa.load(collection=passages)
    questions = ["What is a physician's assistant?", "thanks", "What does it cost?"]
    turns = tuple(Turn(TurnId("c", number), question) for number, question in enumerate(questions, 1))
    driven = list(qa.drive([Conversation("c", turns)]))
    talk = qa.conversation("c")
    asked = [talk.ask(question) for question in questions]
    assert [(one.rewrite, one.ranking, one.answer) for one in driven] == [
        (one.rewrite, one.ranking, one.answer) for one in asked
    ]
    shown = call("chat", "--collection", passages, stdin="\n".join(questions))[1]
    assert all(sentence.text in shown for one in asked for sentence in one.answer.sentences)
    first = call("ask", questions[0], "--collection", passages)[1]
    assert shown.splitlines()[1] == first.splitlines()[0]


@pytest.fixture(scope="module")
def plays(tmp_path_factory):
    """Two passages that answer the same question, of different sets."""
    folder = tmp_path_factory.mktemp("plays") / "collection"
    with create_store(str(folder), "en") as store:
        store.add([Passage(f"p{number}", f"Faust was written by {name}.", meta={"set": kind, "year": 1800 + number})
                   for number, (name, kind) in enumerate([("Goethe", "plays"), ("Marlowe", "lies")])])  # fmt: skip
    return folder


def test_a_filter_says_which_passages_may_be_searched_and_cited(plays):
    talk = convqa.load(collection=plays).conversation()
    for filter, expected in (
        ({"set": "plays"}, {"p0"}), ({"set": ["plays", "lies"], "year": (1801,)}, {"p1"}), (None, {"p0", "p1"}),
    ):  # fmt: skip
        response = talk.ask("Who wrote Faust?", filter)
        assert {hit.id for hit in response.ranking.hits} == expected and response.answer.cited_ids() <= expected
    nobody = convqa.load(collection=plays).conversation().ask("Who wrote Faust?", filter={"set": "none"})
    assert (nobody.answer.kind, nobody.answer.nearest) == ("none", ())


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ("plays", "filter: expected a mapping such as {'set': 'wiki'}, got 'plays'"),
        ({1: "plays"}, "filter: expected a mapping such as {'set': 'wiki'}, got {1: 'plays'}"),
        ({"set": None}, "filter: set: expected a text, a number, true or false, got None"),
        ({"set": [["plays"]]}, r"filter: set: expected a text, .*got \['plays'\]"),
    ],
)
def test_what_is_no_filter_is_refused(plays, filter, message):
    with pytest.raises(InputError, match=message):
        convqa.load(collection=plays).conversation().ask("Who wrote Faust?", filter)


def test_conversations_do_not_mix(qa):
    one, other = qa.conversation(), qa.conversation()
    one.ask("What is a physician's assistant?")
    assert other.ask("What does it cost?").rewrite.queries[0].terms == ()


def test_how_many_passages_are_ranked_changes_no_answer_and_no_score(example, example_cache):
    """On the hybrid ranking: it is the same at every depth, and so is what is read and decided of it."""
    answers = []
    for top_k in (10, 50, 200):
        ranked = convqa.load("default", example / "passages.jsonl.gz", {"retriever.top_k": top_k})
        asked = (ranked.conversation().ask(question) for question in ("thanks!", "How do vaccines work?", "And Paris?"))
        answers.append([response.answer for response in asked])
    assert all(one == answers[0] for one in answers) and all(answer.score for answer in answers[0])


def test_drive_and_conversation_speak_the_collections_language(tmp_path):
    url = str(tmp_path / "collection")
    with create_store(url, "de") as store:
        store.add([Passage("g", "Goethe schrieb den Faust. Er wurde in Frankfurt geboren."), Passage("s", "Schiller.")])
    german = convqa.load("expansion-bm25", url)
    questions = ["Wer schrieb den Faust?", "Wo wurde er geboren?"]
    talks = [Conversation("c", tuple(Turn(TurnId("c", n), q) for n, q in enumerate(questions, 1)))]
    talk = german.conversation("c")
    driven, asked = list(german.drive(talks)), [talk.ask(question) for question in questions]
    assert [one.rewrite for one in driven] == [one.rewrite for one in asked]
    assert [one.answer for one in driven] == [one.answer for one in asked]


def test_overrides_and_errors(tmp_path):
    with pytest.raises(ConvqaError, match="Did you mean 'copy-bm25'"):
        convqa.load("copy-bm26")
    for wrong, expected in [
        ({}, "Give collection= with a folder"),
        ({"llm": "olama"}, "llm=: unknown name"),
        ({"llm": "ollama"}, "add model= NAME"),
        ({"collection": "nowhere"}, "convqa index SOURCES --collection nowhere"),
    ]:
        with pytest.raises(ConvqaError, match=expected):
            convqa.load("default", **wrong)
    with pytest.raises(ConvqaError, match="nowhere"):
        convqa.load("default", collection=tmp_path / "nowhere")


def test_run_errors_are_ordinary_errors_at_the_door(qa, monkeypatch):
    def away(*arguments, **named):
        raise StoreUnavailable("the store is away.")

    monkeypatch.setattr("convqa.components.retrievers.bm25.BM25.search", away)
    with pytest.raises(WorkError, match="the store is away"):
        qa.conversation().ask("Who?")


TURN = Turn(TurnId("a", 1), "Who?")


@pytest.mark.parametrize(
    ("called", "message"),
    [
        (lambda qa: convqa.load(3), "pipeline: expected a shipped name or the path of a YAML file, got 3"),
        (lambda qa: convqa.load("copy-bm25", 3), r"collection: expected a folder, .*got 3"),
        (lambda qa: convqa.load("copy-bm25", None, ["a"]), r"overrides: expected a mapping .*got \['a'\]"),
        (lambda qa: convqa.load("copy-bm25", None, {3: 4}), r"overrides: expected strings .*got 3"),
        (lambda qa: list(qa.drive("abc")), "conversations: expected a list of convqa.domain.Conversation, got 'abc'"),
        (lambda qa: list(qa.drive(3)), r"conversations: expected a list .*got 3"),
        (
            lambda qa: list(qa.drive(Conversation("a", (TURN,)))),
            r"conversations: expected a list .*got Conversation\(.*",
        ),
        (lambda qa: list(qa.drive([TURN])), r"conversations: expected values of .*got Turn\(.*"),
        (
            lambda qa: list(qa.drive([Conversation("a", "bc")])),
            "turns of a: expected values of convqa.domain.Turn, got 'b'",
        ),
        (
            lambda qa: list(qa.drive([Conversation("a", (Turn(TURN.id, None),))])),
            "question: expected a string, got None",
        ),
        (lambda qa: list(qa.drive([], batch_size="x")), "batch_size: expected a whole number, got 'x'"),
        (lambda qa: qa.conversation(language=3), r"language: expected a language .*got 3"),
        (lambda qa: qa.conversation(language="xx"), "unknown language 'xx'"),
        (lambda qa: qa.conversation().ask(3), "question: expected a string, got 3"),
        (lambda qa: load_encoder("encoder").encode("abc"), "texts: expected a list of strings, got 'abc'"),
        (lambda qa: open_store(3), "collection: expected a folder or a URL, got 3"),
    ],
)
def test_a_wrong_argument_is_named_with_what_came_and_what_is_wanted(qa, called, message):
    with pytest.raises(InputError, match=f"^{message}"):
        called(qa)


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        convqa.lod  # noqa: B018


def test_passages_in_memory_are_a_collection(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    passages = [convqa.Passage("faust", "Goethe wrote Faust in 1808."), convqa.Passage("rome", "Rome is a city.")]
    for given in (passages, iter(passages)):
        response = convqa.load("copy-bm25", given).conversation().ask("Who wrote Faust?")
        assert response.answer.sentences[0].citations[0].passage_id == "faust"
    assert len(list((tmp_path / "convqa" / "collections").glob("*.lock"))) == 1
    with pytest.raises(InputError, match="collection: expected one passage or more"):
        convqa.load("copy-bm25", [])
    with pytest.raises(InputError, match=r"collection: expected a folder, a URL, .* or a list of them, got 3"):
        convqa.load("copy-bm25", [*passages, 3])
    with pytest.raises(InputError, match="two passages have the id 'faust'"):
        convqa.load("copy-bm25", [*passages, Passage("faust", "Another text.")])
    german = convqa.load("copy-bm25", [Passage("haus", "Die Häuser stehen am Ufer.")], language="de")
    assert german.conversation().ask("Wo steht das Haus?").ranking.hits[0].id == "haus"


def test_documents_are_indexed_from_python(tmp_path, caplog):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "faust.txt").write_text("Goethe wrote Faust in 1808.")
    (folder / "empty.txt").write_text("")
    made = convqa.index(folder, tmp_path / "c", vectors="encoder", base_url="http://x/")
    assert (made.read, made.unread, made.info.count, made.info.vectors) == (1, {"empty.txt": "it is empty"}, 1, 1)
    assert caplog.records[0].getMessage() == "not indexed: empty.txt: it is empty"
    asked = convqa.load(collection=tmp_path / "c").conversation().ask("Who wrote Faust?", {"file": "faust.txt"})
    assert (
        asked.answer.text == "Goethe wrote Faust in 1808." and asked.ranking.hits[0].passage.url == "http://x/faust.txt"
    )
    lines = tmp_path / "p.jsonl"
    lines.write_text('{"id": "a", "text": "A text."}\n')
    assert convqa.index([str(lines)], str(tmp_path / "p")).info.count == 1
    with pytest.raises(InputError, match="nowhere: no such file or folder"):
        convqa.index("nowhere", str(tmp_path / "p"), add=True)


OF_A_SCRIPT = """
import convqa
from convqa.components.base import Rewriter
from convqa.components.members import member
from convqa.domain import Rewrite

@member
class Shout(Rewriter):
    mark: str = "!"

    def rewrite(self, turn):
        return Rewrite.unchanged(turn.question.upper() + self.mark)

def ask(**overrides):
    qa = convqa.load("copy-bm25", [convqa.Passage("a", "A text.")], {"rewriter.type": Shout, **overrides})
    assert "type: __main__.Shout" in qa.pipeline.document.to_yaml()
    return qa.conversation().ask("a text").rewrite.text

assert ask() == "A TEXT!"
assert ask(**{"rewriter.mark": "?"}) == "A TEXT?"

@member
class Shout(Rewriter):
    def rewrite(self, turn):
        return Rewrite.unchanged("defined again")

assert ask() == "defined again"
print("done")
"""


def test_a_class_of_a_script_is_a_component(tmp_path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", OF_A_SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr


def test_a_class_that_is_no_component_is_refused():
    for cls in (int, type("Plain", (), {})):
        with pytest.raises(InputError, match=r"is not a component: put @member \(convqa\.components\.members\) above"):
            convqa.load("copy-bm25", [Passage("a", "A text.")], {"rewriter.type": cls})


def test_a_file_still_names_only_modules_that_are_allowed():
    with pytest.raises(InputError, match="the module '__main__' is not allowed"):
        convqa.load("copy-bm25", [Passage("a", "A text.")], {"rewriter.type": "__main__.Unknown"})


def test_a_single_question_and_its_sentences(qa):
    question = "What makes Uranus so unusual?"
    response = qa.ask(question)
    assert response.answer == qa.conversation().ask(question).answer
    talk = qa.conversation()
    assert list(talk.sentences(question)) == list(response.answer.sentences)
    assert talk.history[-1].question == question


def test_sentences_arrive_while_a_language_model_writes(qa, monkeypatch):
    from convqa import qa as door
    from convqa.domain import Answer, Response, Sentence
    from convqa.domain.batches import Answers

    said = [Sentence("One."), Sentence("Two."), Sentence("Three.")]
    seen = []

    def answer(pipeline, turns, on_output):
        for count in (1, 2):
            on_output("partial", Answers((Answer.of(said[:count], "en"),)))
        while len(seen) < 2:  # two sentences arrive before the answer is complete
            pass
        return [Response(turns[0].id, answer=Answer.of(said, "en"))]

    monkeypatch.setattr(door, "answer", answer)
    for sentence in qa.conversation().sentences("x"):
        seen.append(sentence)
    assert seen == said

    def fail(*arguments):
        raise StoreUnavailable("the store is away.")

    monkeypatch.setattr(door, "answer", fail)
    with pytest.raises(ConvqaError, match="the store is away"):
        list(qa.conversation().sentences("x"))


def test_a_response_is_short_and_has_its_citations_in_notebooks(qa):
    response = qa.ask("What makes Uranus so unusual?")
    assert len(repr(response)) < 200 and "Uranus" in repr(response)
    shown = response._repr_markdown_()
    for number, sentence in enumerate(response.answer.sentences[:2], 1):
        assert f"{sentence.text} [{number}]" in shown and f"*{sentence.text}*" in shown


def test_passages_add_no_markup_to_notebooks():
    from convqa.domain import Answer, Citation, Hit, Ranking, Response, Sentence

    text = "![x](https://a.example) <script>"
    ranking = Ranking((Hit("p", 1.0, Passage("p", text)),))
    answer = Answer.of([Sentence(text, (Citation("p", 0, len(text)),))], "en")
    shown = Response(TurnId("t", 1), ranking=ranking, answer=answer)._repr_markdown_()
    assert shown.count(r"!\[x](https://a.example) \<script>") == 2
    none = Response(TurnId("t", 1), answer=Answer("none", "", reason="nothing was found"))
    assert "nothing was found" in none._repr_markdown_()
