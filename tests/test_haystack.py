"""Components for others' pipelines of Haystack: real pipelines, with Haystack's own stores and retrievers."""

from __future__ import annotations

import subprocess
import sys
import uuid

import pytest
import yaml
from haystack import Document, Pipeline, component
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.core.errors import DeserializationError, PipelineRuntimeError
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

import convqa
from convqa.components.base import Reader
from convqa.domain import Exchange, Passage
from convqa.errors import ConvqaError, InputError, StoreUnavailable, WorkError
from convqa.haystack import CitedAnswerBuilder, ConversationalQA, QuestionRewriter, conversation_of
from convqa.stores import create_store

DOCUMENTS = [
    Document(
        id="faust",
        content="Faust 👋 is a tragedy by Goethe. It was first printed in Tübingen in 1808.",
        meta={"title": "Faust", "url": "https://example.org/faust", "year": 1808},
    ),
    Document(id="robbers", content="The Robbers is a drama by Schiller. He wrote it in Stuttgart."),
    Document(id="blank", content=None, meta={"title": "Faust"}),
]
QUESTIONS = ("How about Faust?", "Where was it first printed?")
user, assistant = ChatMessage.from_user, ChatMessage.from_assistant


def around(retriever):
    pipeline = Pipeline()
    pipeline.add_component("rewriter", QuestionRewriter())
    pipeline.add_component("retriever", retriever)
    pipeline.add_component("builder", CitedAnswerBuilder())
    pipeline.connect("rewriter.query", "retriever.query")
    pipeline.connect("rewriter.query", "builder.query")
    pipeline.connect("retriever.documents", "builder.documents")
    return pipeline


@pytest.fixture
def retriever():
    store = InMemoryDocumentStore(index=f"t-{uuid.uuid4()}")
    store.write_documents(DOCUMENTS)
    return InMemoryBM25Retriever(store)


def talk(pipeline, questions=QUESTIONS):
    """The answers to questions, one after the other."""
    messages, answers = [ChatMessage.from_system("You are kind.")], []
    for question in questions:
        messages.append(user(question))
        made = pipeline.run({"rewriter": {"messages": messages}, "builder": {"messages": messages}})
        answers += made["builder"]["answers"]
        messages += made["builder"]["replies"]
    return answers


def is_located(answer):
    """Every sentence and every quote is where the answer says."""
    contents = {document.id: document.content for document in answer.documents}
    for sentence in answer.meta["sentences"]:
        assert answer.data[sentence["start"] : sentence["end"]] == sentence["text"]
        assert sentence["citations"]
    for citation in answer.meta["citations"]:
        assert contents[citation["document"]][citation["start"] : citation["end"]] == citation["quote"] != ""
    return True


def test_a_conversation_over_haystacks_own_store(retriever):
    first, second = talk(around(retriever))
    assert first.query == QUESTIONS[0] and is_located(first)
    assert second.query == "Where was Faust first printed?" and is_located(second)
    assert second.data == "It was first printed in Tübingen in 1808."
    (citation,), (document,) = second.meta["citations"], second.documents
    assert citation == {
        "number": 1, "document": "faust", "title": "Faust", "url": "https://example.org/faust",
        "start": 32, "end": 73, "quote": second.data,
    }  # fmt: skip
    assert second.meta["kind"] == "answer" and 0 < second.meta["score"] <= 1
    assert document.meta == {**DOCUMENTS[0].meta, "source_index": 1, "referenced": True}
    assert DOCUMENTS[0].meta.keys() == {"title", "url", "year"}


def test_a_pipeline_goes_through_yaml(retriever):
    pipeline = around(retriever)
    text = pipeline.dumps()
    again = Pipeline.loads(text, allowed_modules=["convqa"])
    assert yaml.safe_load(again.dumps())["components"] == yaml.safe_load(text)["components"]
    assert talk(again) == talk(pipeline)
    with pytest.raises(DeserializationError, match="convqa"):
        Pipeline.loads(text)


@pytest.mark.services
def test_over_elasticsearch_as_haystack_fills_it(index_url):
    pytest.importorskip("haystack_integrations")
    from haystack_integrations.components.retrievers.elasticsearch import ElasticsearchBM25Retriever
    from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

    host, _, index = index_url.removeprefix("elasticsearch://").rpartition("/")
    store = ElasticsearchDocumentStore(hosts=f"http://{host}", index=index)
    store.write_documents(DOCUMENTS[:2])
    pipeline = Pipeline.loads(
        around(ElasticsearchBM25Retriever(document_store=store)).dumps(), allowed_modules=["convqa"]
    )
    first, second = talk(pipeline)
    assert second.data == "It was first printed in Tübingen in 1808."
    assert is_located(first) and is_located(second)


def test_queries_hold_the_words_that_the_question_needs():
    made = QuestionRewriter().run([user("How about Faust?"), assistant("It is a play."), user("Where was it printed?")])
    assert made["query"] == "Where was Faust printed?"
    assert made["queries"] == ["Where was it printed? Faust"]
    thanks = [user("How about Faust?"), assistant("It is a play."), user("thanks")]
    assert QuestionRewriter("talk").run(thanks)["queries"] == []


def test_stations_are_those_of_the_pipeline_and_its_overrides():
    unanswered = CitedAnswerBuilder("talk").run("How do I bake bread?", DOCUMENTS)["answers"][0]
    assert (unanswered.data, unanswered.meta["kind"], unanswered.documents) == ("", "none", [])
    assert unanswered.meta["reason"] and len(unanswered.meta["nearest"]) == len(DOCUMENTS)
    nothing = CitedAnswerBuilder().run("Who wrote Faust?", [])["answers"][0]
    assert nothing.meta["reason"] == "no passage was found"
    brief = CitedAnswerBuilder(overrides={"builder.max_sentences": 1})
    one = brief.run("Who wrote Faust?", DOCUMENTS[:1])["answers"][0]
    assert len(one.meta["sentences"]) == 1
    copied = QuestionRewriter(overrides={"rewriter.type": "copy"})
    assert copied.run([user("Faust?"), assistant("Yes."), user("Where?")])["query"] == "Where?"


def test_it_needs_no_server_and_no_torch():
    # Haystack itself imports torch wherever it is installed.
    code = "import sys, haystack.dataclasses; before = set(sys.modules); import convqa.haystack; "
    code += "print(sorted({'fastapi', 'torch', 'elasticsearch', 'mcp'} & (set(sys.modules) - before)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_is_loaded_before_it_is_made_ready():
    rewriter = QuestionRewriter(overrides={"rewriter.model": "./nowhere"})
    with pytest.raises(InputError, match="nowhere"):
        rewriter.warm_up()
    qa = ConversationalQA(collection="nowhere.jsonl")
    with pytest.raises(InputError, match=r"nowhere\.jsonl do not exist"):
        qa.warm_up()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: QuestionRewriter("nothing"), "pipeline: unknown name 'nothing'"),
        (lambda: CitedAnswerBuilder("poleval"), "expected a pipeline"),
        (lambda: ConversationalQA("poleval"), "expected a pipeline"),
        (lambda: QuestionRewriter(language="xx"), "xx"),
        (lambda: QuestionRewriter(overrides={"rewriter.min_probability": 7}), r"rewriter\.min_probability"),
        (lambda: QuestionRewriter().run([user("Hi"), assistant("Hello")]), "the last one is not the user's"),
        (lambda: QuestionRewriter().run([]), "the last one is not the user's"),
        (lambda: QuestionRewriter().run("Who?"), "messages: expected a list of Haystack's ChatMessage, got 'Who\\?'"),
    ],
)
def test_mistakes_are_told(made, message):
    with pytest.raises(InputError, match=message):
        made()


def test_a_chat_becomes_exchanges():
    messages = [
        ChatMessage.from_system("Be kind."),
        assistant("Welcome!"),
        user("Faust?"),
        assistant("A play."),
        assistant("By Goethe."),
        user("Really?"),
        user("When?"),
        assistant("", meta={"convqa": {"rewrite": "When was it?", "status": "unanswered"}}),
        user("Where?"),
    ]
    history, question = conversation_of(messages)
    assert question == "Where?"
    assert history == [
        Exchange("", "Welcome!"),
        Exchange("Faust?", "A play. By Goethe."),
        Exchange("Really?", "", status="unanswered"),
        Exchange("When?", "", "When was it?", "unanswered"),
    ]
    assert conversation_of(messages[:-1]) == (history, None)
    assert conversation_of([]) == ([], None)


@component
class Failing(Reader):
    def read(self, turn, rewrite, ranking):
        raise KeyError("no such thing")


def test_a_station_that_fails_is_an_ordinary_error():
    builder = CitedAnswerBuilder()
    builder._stations[0] = Failing()
    with pytest.raises(WorkError, match=r"reader failed: KeyError.*no such thing"):
        builder.run("Who wrote Faust?", DOCUMENTS)


@pytest.fixture
def collection(tmp_path):
    with create_store(str(tmp_path / "collection"), "en") as store:
        store.add(
            [
                Passage("faust", DOCUMENTS[0].content, "Faust", "https://example.org/faust", {"year": 1808}),
                Passage("robbers", DOCUMENTS[1].content, "The Robbers", "", {"year": 1781}),
            ]
        )
    return str(tmp_path / "collection")


@pytest.fixture
def whole(collection):
    pipeline = Pipeline()
    pipeline.add_component("qa", ConversationalQA("default", collection))
    return pipeline


def test_a_whole_pipeline_answers_as_convqa_does(whole, collection):
    text = whole.dumps()
    again = Pipeline.loads(text, allowed_modules=["convqa"])
    assert again.dumps() == text
    conversation, messages = convqa.load("default", collection).conversation(), []
    for question in QUESTIONS:
        messages.append(user(question))
        made = again.run({"qa": {"messages": messages}})["qa"]
        (answer,), response = made["answers"], conversation.ask(question)
        assert is_located(answer)
        assert (answer.data, made["query"]) == (response.answer.text, response.rewrite.text)
        assert [(one.id, one.score) for one in made["documents"]] == [
            (hit.id, hit.score) for hit in response.ranking.hits
        ]
        messages += made["replies"]
    assert conversation_of(messages)[0] == list(conversation.history)


def test_a_question_alone_and_a_filter(whole):
    made = whole.run({"qa": {"query": "Who wrote the drama?", "filter": {"year": [1781]}}})["qa"]
    assert [document.id for document in made["documents"]] == ["robbers"]
    before = [user("How about Faust?"), assistant("It is a tragedy.")]
    asked = {"query": "Where was it first printed?"}
    after = [whole.run({"qa": {"messages": said, **asked}})["qa"] for said in (before, [*before, user(asked["query"])])]
    assert [made["query"] for made in after] == ["Where was Faust first printed?"] * 2
    with pytest.raises(PipelineRuntimeError, match=r"filter: year: expected a text, a number, true or false, got None"):
        whole.run({"qa": {"query": "Who?", "filter": {"year": [None]}}})
    with pytest.raises(PipelineRuntimeError, match="expected a question"):
        whole.run({"qa": {}})


def test_filters_in_haystacks_form(whole):
    def found(filters):
        made = whole.run({"qa": {"query": "Which drama and which tragedy?", "filters": filters}})["qa"]
        return {document.id for document in made["documents"]}

    year = {"field": "meta.year", "operator": "==", "value": 1781}
    either = {"field": "year", "operator": "in", "value": [1781, 1808]}
    assert found(year) == {"robbers"} and found(either) == {"faust", "robbers"}
    assert found({"operator": "AND", "conditions": [year, either]}) == {"robbers"}
    for unknown in (
        {"operator": "OR", "conditions": [year]},
        {**year, "operator": ">="},
        {**year, "value": [1781]},
        {"year": 1781},
        {"field": "meta.yaer", "operator": "==", "value": 1781},
    ):
        with pytest.raises(PipelineRuntimeError, match=r"filters?: "):
            found(unknown)


def test_what_stops_a_run_is_an_ordinary_exception(collection):
    qa = ConversationalQA("copy-bm25", collection)
    qa.warm_up()
    qa._loaded.graph.get_component("retriever").search = _away
    with pytest.raises(ConvqaError, match="the server is away"):
        qa.run(query="Who wrote Faust?")


def _away(*arguments, **options):
    raise StoreUnavailable("the server is away")
