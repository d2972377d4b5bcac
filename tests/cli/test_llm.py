"""``--llm`` on the commands: a real server of OpenAI's API on this machine, that answers, fails, and comes back."""

from __future__ import annotations

import json
import re
import socket

import pytest
import yaml

import convqa
from convqa.domain import Conversation, Turn, TurnId
from convqa.errors import InputError
from convqa.pipeline.llm import read_llm
from convqa.text.sentences import sentences

QUESTION = "What is a physician's assistant?"
FEW = ("--set", "retriever.candidates=3", "--set", "reader.max_passages=2")
"""Few passages, which are read fast."""


@pytest.fixture
def away():
    """The URL of a server that is not there."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


def model(prompt, number):
    """Completes the question where it is asked to, and else says one thing that passages say and one that none does."""
    if "JSON object" in prompt:
        return json.dumps({"query": "What does a physician's assistant cost?"})
    if "asks nothing" in prompt:
        return "TALK You are welcome!"
    text = " ".join(re.search(r"^\[1\] (.*?)^(?:\[2\]|end of)", prompt, re.M | re.S)[1].split())
    longest = max((text[start:end] for start, end in sentences(text, "en")), key=len)
    return f"{longest} [1] Napoleon sold 77 watches in Weimar [2]."


def test_a_conversation_with_a_model_and_small_talk_that_is_not_searched(call, indexed, openai_server):
    server = openai_server(model)
    said = f"{QUESTION}\nthanks!\nWhat does it cost?\n"
    code, out, err = call("chat", "--collection", indexed, *FEW, "--llm", server.url, "--llm-model", "m", stdin=said)
    assert (code, err) == (0, "")
    first, thanks, second, *_ = [part for part in out.split("\n\n") if not part.startswith("[")]
    assert (
        "[1]" in first
        and "Napoleon sold 77 watches in Weimar. (not found in the passages" in first
        and thanks == "> thanks!\nYou are welcome!"
    )
    assert second == "> What does it cost?\nUnderstood as: What does [a physician's assistant] cost?"
    assert len(server.requests) == 4 and {request["model"] for request in server.requests} == {"m"}
    assert "language model" not in out


def test_roles_say_what_the_model_is_asked_for(call, indexed, openai_server):
    for role, wanted in (("rewrite", [True]), ("answer", [False, False])):
        server = openai_server(model)
        options = ("--collection", indexed, *FEW, "--llm", server.url, "--llm-model", "m", "--llm-role", role)
        assert call("chat", *options, stdin=f"{QUESTION}\nWhat does it earn?\n")[0] == 0
        assert ["JSON object" in request["messages"][-1]["content"] for request in server.requests] == wanted


def test_without_its_server_the_answer_is_that_of_the_passages_and_a_note_says_so(call, indexed, away):
    plain = call("ask", QUESTION, "--collection", indexed, *FEW)[1]
    code, out, err = call("ask", QUESTION, "--collection", indexed, *FEW, "--llm", away, "--llm-model", "m")
    note = "The language model's server does not answer. Only the passages were asked."
    assert (code, err, out) == (0, "", f"{note}\n\n{plain}")
    nothing = call("ask", "zzqx wvvk tall", "--collection", indexed, *FEW, "--llm", away, "--llm-model", "m")[1]
    assert nothing.startswith("No answer: ") or nothing.startswith(note)


def test_a_server_that_refuses_is_named_with_what_to_check(call, indexed, openai_server):
    server = openai_server(lambda prompt, number: 404)
    code, out, _ = call("ask", QUESTION, "--collection", indexed, *FEW, "--llm", server.url, "--llm-model", "typo")
    assert code == 0 and "404" in out and "Only the passages" in out


def test_an_unhelped_question_is_completed_without_the_model_and_a_note_says_so(call, indexed, openai_server):
    server = openai_server(lambda prompt, number: 500)
    options = ("--collection", indexed, "--llm", server.url, "--llm-model", "m", "--llm-role", "rewrite")
    out = call("chat", *options, stdin=f"{QUESTION}\nWhat does it earn?\n")[1]
    assert "server error 500" in out
    assert "Understood as: What does [a physician's assistant] earn?" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--llm-model", "m"], "--llm is missing"),
        (["--llm-role", "answer"], "--llm is missing"),
        (["--llm", "ollama"], "missing model; add --llm-model NAME"),
        (["--llm", "ollama", "--llm-model", "m", "--llm-role", "anser"], "expected 'rewrite' or 'answer', got 'anser'"),
        (["--llm", "olama", "--llm-model", "m"], "Did you mean 'ollama'?"),
        (["--llm", "openai", "--llm-model", "m"], "OPENAI_API_KEY"),
    ],
)
def test_mistakes_are_the_users_and_say_what_to_do(call, indexed, monkeypatch, options, message):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, _, err = call("ask", QUESTION, "--collection", indexed, *options)
    assert code == 2 and message in err


def test_a_run_waits_stops_with_its_journal_and_goes_on(call, small, indexed, tmp_path, openai_server):
    """Up to the third request; then the server is away, and comes back."""
    questions = json.loads((small / "questions.json").read_text())[:3]
    (small / "questions.json").write_text(json.dumps(questions))
    server = openai_server(lambda prompt, number: model(prompt, number) if number <= 3 else 503)
    run = ["run", small, tmp_path / "out", "--collection", indexed, "--pipeline", "expansion-bm25", "--wait", "0"]
    run += [f"--set={node}.component.init_parameters.max_retries=0" for node in ("builder", "rewriter")]
    run += ["--llm", server.url, "--llm-model"]
    code, _, err = call(*run, "m")
    assert code == 1 and "the server answers 503" in err
    server.reply = model
    code, out, _ = call(*run, "m")
    assert code == 0 and "(2 turns from before)" in out
    resolved = (tmp_path / "out" / "pipeline.resolved.yaml").read_text()
    builder = yaml.safe_load(resolved)["stations"]["builder"]
    assert builder["component"]["init_parameters"]["model"] == "m" and server.url in resolved
    assert builder["fallback"] is None and "language model" not in (tmp_path / "out" / "responses.jsonl").read_text()
    # Another model is another run.
    code, _, err = call(*run, "other")
    assert code == 2 and "pipeline" in err


def test_the_same_answer_in_python_and_in_the_terminal(call, indexed, openai_server):
    server = openai_server(model)
    qa = convqa.load(collection=indexed, llm=read_llm(server.url, "m"))
    (driven,) = qa.drive([Conversation("c", (Turn(TurnId("c", 1), QUESTION),))])
    asked = qa.conversation().ask(QUESTION)
    assert asked.answer.sentences == driven.answer.sentences and asked.answer.score is None and asked.caveat == ""
    shown = call("ask", QUESTION, "--collection", indexed, "--llm", server.url, "--llm-model", "m")[1]
    assert shown.startswith(asked.answer.sentences[0].text)
    with pytest.raises(InputError, match="missing model"):
        convqa.load(collection=indexed, llm="ollama")


SAID = "Physician assistants work with physicians [1]. They sold 77 watches to Napoleon [2]."


def test_a_real_model_that_babbles_is_marked_or_stood_in_for_and_one_that_learned_a_reply_is_held_to_the_passages(
    call, make_generator, openai_server, tmp_path
):
    """A model of some thousand weights behind the server, before and after it has learned to say one thing."""
    from convqa.models import load_generator

    model, tokenizer = make_generator("llama", tmp_path / "random", [SAID, QUESTION] * 3, size=32)
    passages = tmp_path / "passages.jsonl"
    text = "A physician assistant works under a physician. Physician assistants work with physicians and nurses."
    passages.write_text(json.dumps({"id": "p", "text": text}))
    ask = ("ask", QUESTION, "--collection", passages)
    plain = call(*ask)[1]

    def written(folder):
        generator = load_generator(str(folder))
        server = openai_server(lambda prompt, number: generator.write([prompt], 60, longest_input=32)[0].text)
        code, out, err = call(*ask, "--llm", server.url, "--llm-model", "tiny")
        assert (code, err, len(server.requests)) == (0, "", 1)
        return out

    babble = written(tmp_path / "random")
    stood_in = "Only the passages were asked." in babble and babble.endswith(plain)
    assert stood_in or "(not " in babble, babble
    learn(model, tokenizer, SAID)
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "learned")
    said = written(tmp_path / "learned")
    assert said.startswith("Physician assistants work with physicians. [1]") and "(not found in the passages" in said


def learn(model, tokenizer, text):
    """Let a model say a text after whatever it is shown."""
    import torch

    torch.manual_seed(0)
    wanted = torch.tensor([*tokenizer(text).input_ids, tokenizer.eos_token_id])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(80):
        shown = torch.randint(2, len(tokenizer), (8, 32))
        ids = torch.cat([shown, wanted.expand(8, -1)], dim=1)
        labels = torch.cat([torch.full_like(shown, -100), wanted.expand(8, -1)], dim=1)
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
