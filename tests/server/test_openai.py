"""Chat completions, asked with the real package openai and as chat clients ask."""

from __future__ import annotations

import json

import openai
import pytest

from convqa.qa import QA

CURIE = "Who was Marie Curie?"
TITLE = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: Who was Marie Curie?
ASSISTANT: A physicist.
</chat_history>"""


@pytest.fixture
def ai(client):
    """The package's own client, over the application."""
    return openai.OpenAI(api_key="none", base_url="http://127.0.0.1/v1", http_client=client, max_retries=0)


def user(*said):
    roles = ("user", "assistant")
    return [{"role": roles[index % 2], "content": text} for index, text in enumerate(said)]


def answered(ai, messages, **fields):
    return ai.chat.completions.create(model="talk", messages=messages, **fields).choices[0].message


def test_models(ai):
    assert [model.id for model in ai.models.list()] == ["talk"]


def test_citations_go_out_three_ways(ai, client):
    message = answered(ai, user(CURIE))
    text, _, sources = message.content.partition("\n\nSources:\n\n")
    assert "Marie Curie was a Polish physicist. [1]" in text
    assert sources.startswith('- [1] Curie: "Marie Curie was')
    for annotation in message.annotations:
        cited = annotation.url_citation
        assert message.content[cited.start_index : cited.end_index] == "[1]" and cited.title == "Curie"
        assert cited.url == "http://127.0.0.1/#p=curie&pipeline=talk"
    (citation,) = message.citations
    passage = client.get("/api/passages/curie").json()["text"]
    assert passage[citation["start"] : citation["end"]] == citation["quote"] and citation["number"] == 1


def test_a_stream_says_the_same(ai):
    whole = answered(ai, user(CURIE))
    chunks = list(
        ai.chat.completions.create(
            model="talk", messages=user(CURIE), stream=True, stream_options={"include_usage": True}
        )
    )
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == whole.content
    assert deltas[0].role == "assistant" and chunks[-1].usage.total_tokens == 0
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    cited = next(delta for delta in deltas if getattr(delta, "citations", None))
    assert cited.citations == whole.citations
    assert cited.annotations == [annotation.model_dump() for annotation in whole.annotations]


def test_stages_are_comments(client):
    body = {"model": "talk", "messages": user(CURIE), "stream": True}
    lines = client.post("/v1/chat/completions", json=body).text.splitlines()
    assert [line for line in lines if line.startswith(":")][:2] == [": rewrites", ": rankings"]
    assert [line for line in lines if line][-1] == "data: [DONE]"
    assert all(line.startswith(("data: ", ":")) or not line for line in lines)


def test_a_conversation_goes_on_as_in_python(ai, talk):
    talked, messages = QA(talk).conversation(), []
    for question in ("Who was Johann Wolfgang von Goethe?", "Where was he born?", "thanks", CURIE, "What did she win?"):
        expected = talked.ask(question)
        messages.append({"role": "user", "content": question})
        content = answered(ai, messages).content
        messages.append({"role": "assistant", "content": content})
        if expected.answer.kind == "answer":
            said = content.partition("\n\nSources:")[0].replace(" [1]", "").replace(" [2]", "").replace(" [3]", "")
            assert said.removeprefix("As said before: ").removeprefix("Not sure: ") == expected.answer.text
        else:
            assert content == "Nothing to look up. Ask whenever you like."


def test_thanks_are_no_history(ai, client):
    said = ["Who was Johann Wolfgang von Goethe?", "A poet. [1]", "thanks"]
    messages = user(*said)
    messages.append({"role": "assistant", "content": answered(ai, messages).content})
    messages.append({"role": "user", "content": "Where was he born?"})
    assert "Frankfurt" in answered(ai, [*messages, {"role": "system", "content": "Be brief."}]).content
    from convqa.server.chat_text import exchange

    assert exchange("thanks", messages[3]["content"]).status == "idle"


def test_addresses_that_are_none_are_not_annotated(make_client, talk, monkeypatch):
    from convqa.exports import replies
    from convqa.server import openai as routes

    citation = replies.CitationReply(1, "a b", "", "javascript:alert(1)", None, None, "")
    named = routes._link(citation, "http://here/", "talk")
    assert named == {"url": "http://here/#p=a%20b&pipeline=talk", "title": "a b"}


def test_contents_of_parts_and_messages_of_the_system(ai):
    parts = [{"type": "text", "text": CURIE}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]
    messages = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "assistant", "content": "Hello! How can I help?"},
        {"role": "user", "content": parts},
    ]
    assert answered(ai, messages).content == answered(ai, user(CURIE)).content


def test_what_is_not_answered_is_no_history(ai):
    message = answered(ai, user("What did Marie Curie say about the tax on sugar in 1765?"))
    assert message.content.startswith("No answer: ") and not message.annotations
    said = ("Who was Johann Wolfgang von Goethe?", "A poet. [1]", "Why is water wet?", message.content)
    assert "Frankfurt" in answered(ai, user(*said, "Where was he born?")).content


@pytest.mark.parametrize(
    "prompt", [TITLE, '### Task:\nGenerate 1-3 broad tags\nJSON format: { "tags": [] }\n\nUSER: ' + CURIE]
)
def test_prompts_of_open_webui_go_to_no_retrieval(client, talk, monkeypatch, prompt):
    monkeypatch.setattr(talk, "run", lambda *_: pytest.fail("searched"))
    reply = client.post("/v1/chat/completions", json={"model": "talk", "messages": user(prompt)}).json()
    assert json.loads(reply["choices"][0]["message"]["content"]) == {"title": CURIE}


@pytest.mark.parametrize(
    "prompt",
    [
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the "
        f"title itself.\n\nConversation:\nUser: {CURIE}\nAI: A physicist.",
        f"Analyze this conversation and provide:\n1. The detected language\n\nUser: {CURIE}\nAI: A physicist.",
    ],
)
def test_prompts_of_librechat_get_a_title(ai, prompt):
    assert answered(ai, user(prompt)).content == CURIE
    chunks = ai.chat.completions.create(model="talk", messages=user(prompt), stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == CURIE


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"messages": []}, 422, "messages"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 422, "the last one must be a question"),
        ({"messages": [{"role": "user", "content": " "}]}, 422, "the last one must be a question"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 422, "the last one must be a question"),
        ({"messages": [{"role": "user", "content": 3}]}, 422, "messages[0].content"),
        ({"messages": [{"content": "x"}]}, 422, "messages[0].role: is missing"),
        ({"model": "gpt-4o"}, 404, "expected one of talk"),
        ({"model": None}, 422, "model"),
        ({"messages": [{"role": "user", "content": "x" * 5000}]}, 422, "at most 4000"),
        ({"stream": "yes"}, 422, "stream"),
    ],
)
def test_mistakes_are_said(client, fields, status, said):
    reply = client.post("/v1/chat/completions", json={"model": "talk", "messages": user("x"), **fields})
    assert reply.status_code == status and said in reply.json()["error"]["message"]


def test_unknown_fields_do_no_harm(ai):
    fields = {"temperature": 0.2, "top_p": 1, "n": 1, "max_tokens": 5, "user": "me", "seed": 3, "stop": ["."]}
    assert answered(ai, user(CURIE), **fields).content == answered(ai, user(CURIE)).content


def test_a_filter(ai):
    message = answered(ai, user("What is the salary of the director?"), extra_body={"filter": {"set": ["people"]}})
    assert "90,000" not in message.content


def test_a_turn_that_fails(client, ai, monkeypatch):
    from convqa.components.readers.units import UnitsReader

    monkeypatch.setattr(UnitsReader, "read_batch", lambda *_: 1 / 0)
    with pytest.raises(openai.InternalServerError, match="The reader failed to process this question"):
        answered(ai, user(CURIE))
    with pytest.raises(openai.APIError, match="The reader failed to process this question"):
        list(ai.chat.completions.create(model="talk", messages=user(CURIE), stream=True))


def test_a_key(make_client, monkeypatch):
    monkeypatch.setenv("MY_KEY", "k" * 16)
    client = make_client(keys={"mine": {"env": "MY_KEY"}})
    for key, right in (("k" * 16, True), ("wrong", False)):
        ai = openai.OpenAI(api_key=key, base_url="http://127.0.0.1/v1", http_client=client, max_retries=0)
        if right:
            assert answered(ai, user("thanks")).content
        else:
            with pytest.raises(openai.AuthenticationError):
                answered(ai, user("thanks"))
