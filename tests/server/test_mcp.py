"""The Model Context Protocol, asked by its own client and by an agent of Haystack's."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import warnings

import mcp
import pytest

from convqa.qa import QA
from convqa.server.mcp import create_server

QUESTIONS = ("Who was Goethe?", "When was he born?")


def asked(server, *calls, **options):
    """What a client's calls of tools give, one after the other, as they are structured; or the error's text."""

    async def ask():
        made = []
        async with mcp.Client(server, read_timeout_seconds=60, **options) as client:
            for name, arguments in calls:
                given = arguments(made) if callable(arguments) else arguments
                result = await client.call_tool(name, given)
                made.append(result.content[0].text if result.is_error else result.structured_content)
                if not result.is_error:
                    assert json.loads(result.content[0].text) == result.structured_content
        return made

    return asyncio.run(ask())


@pytest.fixture(scope="module")
def server(talk):
    return create_server(QA(talk), "talk")


def test_the_tools_say_what_they_take(server):
    async def listed():
        async with mcp.Client(server) as client:
            return client.instructions, (await client.list_tools()).tools

    instructions, tools = asyncio.run(listed())
    assert [tool.name for tool in tools] == ["ask", "search", "passage"]
    assert all(tool.annotations.read_only_hint and len(tool.description) > 50 for tool in tools)
    assert tools[0].input_schema["required"] == ["question"]
    for tool in tools:
        assert all(schema["description"] for schema in tool.input_schema["properties"].values())
    assert all("library has 6 passages, such as: Faust; Goethe; Curie" in tool.description for tool in tools[:2])
    assert "collection of passages" in instructions
    answer, hits, passage = (tool.output_schema for tool in tools)
    assert set(answer["properties"]) >= {"answer", "citations", "conversation"} and "CitationReply" in answer["$defs"]
    assert hits["$defs"]["SearchHit"]["properties"]["score"]["type"] == "number"
    assert passage["properties"]["text"]["type"] == "string"


def test_null_is_like_an_absent_argument(server):
    first, found = asked(
        server,
        ("ask", {"question": QUESTIONS[0], "conversation": None}),
        ("search", {"query": "Goethe", "k": None}),
    )
    assert first["conversation"] and 1 < len(found["passages"]) <= 5


def test_a_conversation_with_citations(server, talk):
    first, second, passage = asked(
        server,
        ("ask", {"question": QUESTIONS[0]}),
        ("ask", lambda made: {"question": QUESTIONS[1], "conversation": made[0]["conversation"]}),
        ("passage", lambda made: {"id": made[1]["citations"][0]["passage"]}),
    )
    assert second["rewrite"]["text"] == "When was Johann Wolfgang von Goethe born?"
    assert second["conversation"] == first["conversation"]
    (citation,), (sentence,) = second["citations"], second["answer"]["sentences"]
    assert (citation["number"], sentence["citations"]) == (1, [1])
    assert passage["id"] == citation["passage"] == "goethe" and passage["meta"] == {"set": "people"}
    assert passage["text"][citation["start"] : citation["end"]] == citation["quote"] == sentence["text"]
    assert second["answer"]["text"][sentence["start"] : sentence["end"]] == sentence["text"]
    conversation = QA(talk).conversation()
    for question in QUESTIONS:
        expected = conversation.ask(question)
    assert second["answer"]["text"] == expected.answer.text


def test_a_search_and_what_is_not_there(server):
    found, none, unanswered = asked(
        server,
        ("search", {"query": "a tragic play by Goethe", "k": 2}),
        ("passage", {"id": "nobody"}),
        ("ask", {"question": "How do I bake bread?"}),
    )
    assert [passage["id"] for passage in found["passages"]] == ["faust", "goethe"]
    assert found["passages"][0]["text"].startswith("Faust is a tragic play") and found["passages"][0]["score"] > 0
    assert "There is no such passage." in none
    assert unanswered["answer"]["kind"] == "none" and unanswered["answer"]["reason"] and unanswered["citations"] == []


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("ask", {"question": " "}, "question"),
        ("ask", {}, "question"),
        ("ask", {"question": "a\0b"}, "NUL"),
        ("ask", {"question": "x" * 4001}, "4000"),
        ("ask", {"question": 3}, "string"),
        (
            "ask",
            {"question": "Who?", "conversation": "nobody's"},
            "Unknown conversation. Leave it out to begin a new one.",
        ),
        ("search", {"query": "Who?", "k": 0}, "k"),
        ("search", {"query": "Who?", "k": 21}, "20"),
        ("nothing", {}, "Unknown tool: nothing"),
    ],
)
def test_mistakes_are_errors_that_say_what(server, name, arguments, message):
    try:
        (told,) = asked(server, (name, arguments))
    except mcp.MCPError as error:
        told = str(error)
    assert message in told


def test_a_pipeline_without_a_collection(qa):
    made = asked(create_server(qa, "own"), ("search", {"query": "Who?"}), ("passage", {"id": "x"}))
    assert "searches no collection" in made[0] and "no such passage" in made[1]


def test_an_agent_of_haystacks_asks(collection):
    mcp_tools = pytest.importorskip("haystack_integrations.tools.mcp")
    from haystack import component
    from haystack.components.agents import Agent
    from haystack.dataclasses import ChatMessage, ToolCall

    @component
    class Scripted:
        """Calls the tool for the user's question, and then says what it gave."""

        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], tools=None) -> dict:
            last = messages[-1]
            if last.tool_call_result is None:
                call = ToolCall("ask", {"question": last.text})
                return {"replies": [ChatMessage.from_assistant(tool_calls=[call])]}
            told = json.loads(json.loads(last.tool_call_result.result)["content"][0]["text"])
            return {"replies": [ChatMessage.from_assistant(told["citations"][0]["quote"])]}

    program, *arguments = command("--collection", collection)
    toolset = mcp_tools.MCPToolset(mcp_tools.StdioServerInfo(command=program, args=arguments), connection_timeout=60)
    try:
        toolset.warm_up()
        assert {tool.name for tool in toolset} == {"ask", "search", "passage"}
        agent = Agent(chat_generator=Scripted(), tools=toolset)
        made = agent.run(messages=[ChatMessage.from_user("When was Goethe born?")])
        assert made["last_message"].text.endswith("He was born in Frankfurt in 1749.")
    finally:
        toolset.close()
        # It leaves connections to the garbage collector.
        del toolset, agent
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


def command(*arguments):
    return [sys.executable, "-m", "convqa", "mcp", *map(str, arguments)]


def test_over_standard_input_and_output(collection):
    program, *arguments = command("--pipeline", "expansion-bm25", "--collection", collection)
    found, answer = asked(
        mcp.StdioServerParameters(command=program, args=arguments),
        ("search", {"query": "Nobel Prize", "k": 1}),
        ("ask", {"question": "Who won the Nobel Prize in Physics?"}),
    )
    assert found["passages"][0]["id"] == "curie"
    assert "She won the Nobel Prize in Physics in 1903." in [citation["quote"] for citation in answer["citations"]]


def test_standard_output_carries_the_protocol_alone(collection, tmp_path):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "passage", "arguments": {"id": "faust"}},
        },
    ]
    asking = command("--pipeline", "copy-bm25", "--collection", collection, "-v")
    running = subprocess.Popen(asking, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    running.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
    running.stdin.flush()
    told = [json.loads(running.stdout.readline()) for _ in range(2)]
    rest, _ = running.communicate(timeout=30)
    assert [line["id"] for line in told] == [1, 2] and rest == ""
    assert told[1]["result"]["structuredContent"]["title"] == "Faust"
    assert running.returncode == 0
