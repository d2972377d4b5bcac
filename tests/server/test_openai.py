"""Chat completions, asked with the real package openai and as chat clients ask."""

from __future__ import annotations

import json
import time

import openai
import pytest

from convqa.qa import QA
from convqa.server.messages import UNREAD

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
    assert ai.models.retrieve("talk").owned_by == "convqa"
    with pytest.raises(openai.NotFoundError, match="expected one of talk") as raised:
        ai.models.retrieve("gpt-4o")
    assert (raised.value.param, raised.value.code) == ("model", "model_not_found")
    with pytest.raises(openai.NotFoundError) as raised:
        ai.embeddings.create(model="talk", input="x")
    assert raised.value.code == "not_found" and raised.value.request_id.startswith("req_")
    with pytest.raises(openai.NotFoundError, match=r"/v1/responses is not offered here. Use /v1/chat/completions"):
        ai.responses.create(model="talk", input="x")


def test_citations_go_out_three_ways(ai, client):
    message = answered(ai, user(CURIE))
    text, _, sources = message.content.partition("\n\nSources:\n\n")
    assert "Marie Curie was a Polish physicist. [1]" in text
    assert sources.startswith('- [1] Curie: "Marie Curie was')
    for annotation in message.annotations:
        cited = annotation.url_citation
        assert message.content[cited.start_index : cited.end_index] == "[1]"
        assert cited.title == 'Curie: "Marie Curie was a Polish physicist."'
        assert cited.url.startswith("http://127.0.0.1/#p=curie&pipeline=talk:~:c")
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
            assert content == "You're welcome."


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
    named = routes._link(citation, "http://here/{}".format)
    assert named == {"url": "http://here/a b#c1", "title": 'a b: ""'}


def test_contents_of_parts_and_messages_of_the_system(ai):
    parts = [{"type": "text", "text": CURIE}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]
    messages = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "assistant", "content": "Hello! How can I help?"},
        {"role": "user", "content": parts},
    ]
    assert answered(ai, messages).content == f"{answered(ai, user(CURIE)).content}\n\n{UNREAD}"


def open_webui_sources(message):
    """The sources that Open WebUI shows, one for each address: mark [n] opens the n-th."""
    named = {note.url_citation.url: note.url_citation.title for note in message.annotations}
    return list(named.values())


def test_open_webui_opens_the_right_quote_behind_every_mark(ai):
    message = answered(ai, user("Who was Johann Wolfgang von Goethe and where was he born?"))
    assert len({citation["passage"] for citation in message.citations}) < len(message.citations)
    shown = open_webui_sources(message)
    assert len(shown) == len(message.citations)
    for citation in message.citations:
        assert citation["quote"] in shown[citation["number"] - 1]


CONTEXT = """<context>
<source id="1" name="note.txt">The staff meeting is on Friday. {"title": "JSON"}</source>
<source id="2" name="menu.txt">Soup costs 4 euros.</source>
</context>"""


@pytest.mark.parametrize(
    "prompt",
    [
        f"### Task:\nRespond to the query and cite as [id].\n\n{CONTEXT}\n\n{CURIE}",
        f"### Task:\nRespond.\n\n{CONTEXT}\n\n<attached_files>\n<file name='n.txt'/>\n</attached_files>\n\n{CURIE}",
        f"### Task:\nRespond to the query.\n\n{CONTEXT}\n\n<user_query>\n{CURIE}\n</user_query>\n",
        f"{CURIE}\n### Task:\nRespond to the query.\n\n{CONTEXT}",
    ],
)
def test_a_question_behind_attached_files_is_answered(ai, prompt):
    message = answered(ai, user("Who wrote Faust?", "Goethe.", prompt))
    assert "Marie Curie was a Polish physicist. [3]" in message.content and UNREAD in message.content
    # Open WebUI shows the two attached files first.
    assert "Polish physicist" in ["note.txt", "menu.txt", *open_webui_sources(message)][3 - 1]
    again = answered(ai, user(prompt, message.content, "What did she win?"))
    assert "Nobel Prize" in again.content and UNREAD not in again.content


def test_files_in_the_system_s_message_have_the_first_numbers(ai):
    message = answered(ai, [{"role": "system", "content": f"Use this.\n{CONTEXT}"}, *user(CURIE)])
    assert "Marie Curie was a Polish physicist. [3]" in message.content and UNREAD in message.content


def test_names_of_attached_files_are_no_words_of_the_question(ai):
    named = "<attached_files>\n<file type='file' name='note.txt'/>\n</attached_files>\n\n"
    expected = answered(ai, user(CURIE)).content
    assert answered(ai, user(named + CURIE)).content == f"{expected}\n\n{UNREAD}"
    assert "Nobel Prize" in answered(ai, user(named + CURIE, expected, "What did she win?")).content
    title = TITLE.replace("USER: ", f"USER: {named}").replace(CURIE, f"{CURIE}\n")
    assert json.loads(answered(ai, user(title)).content)["title"] == CURIE


def test_many_tags_cost_no_time(client):
    for text in ("<context>" * 100_000, "</context><context>" * 50_000, '{ "title"' * 90_000, "USER: \n" * 100_000):
        begun = time.process_time()
        reply = client.post("/v1/chat/completions", json={"model": "talk", "messages": user(text)})
        assert reply.status_code in {200, 400}
        assert time.process_time() - begun < 2


def test_a_task_without_json_is_a_question(ai):
    assert "Polish physicist" in answered(ai, user(f"### Task: {CURIE}")).content


def test_a_tool_s_result_and_an_empty_answer_leave_the_question_open(ai):
    calls = [{"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]
    called = {"role": "assistant", "content": None, "tool_calls": calls}
    result = {"role": "tool", "tool_call_id": "1", "content": "No hits."}
    expected = answered(ai, user(CURIE)).content
    assert answered(ai, [*user(CURIE), called, result]).content == expected
    assert answered(ai, [*user(CURIE), {**called, "content": "Let me look."}, result]).content == expected
    assert answered(ai, user(CURIE, "")).content == expected
    assert "Frankfurt" in answered(ai, user("Who was Goethe?", "", "Where was Goethe born?")).content


def test_what_is_not_answered_is_no_history(ai):
    message = answered(ai, user("What did Marie Curie say about the tax on sugar in 1765?"))
    assert message.content.startswith("No answer: ") and not message.annotations
    said = ("Who was Johann Wolfgang von Goethe?", "A poet. [1]", "Why is water wet?", message.content)
    assert "Frankfurt" in answered(ai, user(*said, "Where was he born?")).content


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        (TITLE, {"title": CURIE}),
        (f'### Task:\nGenerate 1-3 tags\nJSON format: {{ "tags": ["a"] }}\n\nUSER: {CURIE}', {"tags": []}),
        (f'Name searches as JSON: {{"queries": []}}\n<chat_history>USER: {CURIE}</chat_history>', {"queries": []}),
        (
            f'### Task:\nPredict.\nJSON format: {{ "follow_ups": ["a"] }}\n<chat_history>\nUSER: {CURIE}',
            {"follow_ups": ["Who wrote Faust?"]},
        ),
        ('### Task:\nComplete.\nRespond in JSON: `{ "text": "..." }`\n<text>Who w</text>', {"text": ""}),
    ],
)
def test_prompts_of_open_webui_go_to_no_retrieval(make_client, talk, monkeypatch, prompt, reply):
    client = make_client(served={"talk": {"examples": [CURIE, "Who wrote Faust?"]}})
    monkeypatch.setattr(talk, "run", lambda *_: pytest.fail("searched"))
    said = client.post("/v1/chat/completions", json={"model": "talk", "messages": user(prompt)}).json()
    assert json.loads(said["choices"][0]["message"]["content"]) == reply


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
    ("fields", "parameter", "said"),
    [
        ({"messages": []}, "messages", "is empty"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages", "the last one must be a question"),
        ({"messages": user("x", "y")}, "messages", "the last one must be a question"),
        ({"messages": user(" ")}, "messages", "the last one must be a question"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages", "must be a question"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content", "expected a string, got 3"),
        ({"messages": [{"content": "x"}]}, "messages[0].role", "is missing"),
        ({"model": None}, "model", "expected a string"),
        ({"messages": user("x" * 5000)}, "question", "at most 4000"),
        ({"stream": "yes"}, "stream", "expected true or false"),
        ({"n": 2}, "n", "a question has one answer"),
        ({"max_tokens": 0}, "max_tokens", "more than 0"),
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format", "/api/turn"),
        ({"tool_choice": "required"}, "tool_choice", "calls no tools"),
        ({"function_call": {"name": "f"}}, "function_call", "calls no tools"),
        ({"logprobs": True}, "logprobs", "expected false"),
        ({"modalities": ["text", "audio"]}, "modalities", 'expected ["text"]'),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice", "calls no tools"),
    ],
)
def test_mistakes_are_said(client, fields, parameter, said):
    reply = client.post("/v1/chat/completions", json={"model": "talk", "messages": user("x"), **fields})
    error = reply.json()["error"]
    assert (reply.status_code, error["param"], error["code"]) == (400, parameter, "bad_request")
    assert said in error["message"] and error["type"] == "invalid_request_error"


def test_other_fields_do_no_harm(ai):
    fields = {"temperature": 0.2, "top_p": 1, "n": 1, "user": "me", "seed": 3, "tool_choice": "auto", "logprobs": False}
    nothing = dict.fromkeys(["stop", "max_tokens", "response_format", "tools", "stream"])
    expected = answered(ai, user(CURIE)).content
    assert answered(ai, user(CURIE), **fields).content == expected
    assert answered(ai, user(CURIE), extra_body={"filter": None, **nothing}).content == expected


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_reply_ends_at_a_stop_sequence_or_after_so_many_tokens(ai, is_streamed):
    def reply(**fields):
        made = ai.chat.completions.create(model="talk", messages=user(CURIE), stream=is_streamed, **fields)
        if not is_streamed:
            return made.choices[0].message.content, made.choices[0].finish_reason
        choices = [chunk.choices[0] for chunk in made]
        return "".join(choice.delta.content or "" for choice in choices), choices[-1].finish_reason

    assert reply(stop=[" physicist", " Polish"]) == ("Marie Curie was a", "stop")
    assert reply(stop="physicist") == ("Marie Curie was a Polish ", "stop")
    assert reply(max_tokens=3) == ("Marie Curie was ", "length")
    assert reply(max_completion_tokens=500)[1] == "stop"


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
