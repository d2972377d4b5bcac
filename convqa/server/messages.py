"""The messages of a chat client: the question, the conversation before it, and what the client asks on its own.

Open WebUI puts the names of attached files before a question, in ``<attached_files>``, and their texts, in
``<context>``, as sources with numbers of its own. It also asks for titles, tags, follow-ups and queries in JSON;
LibreChat asks for titles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten

import orjson

from convqa.domain import Exchange
from convqa.errors import InputError
from convqa.server import chat_text
from convqa.validation import BoundedList, Record, Text

UNREAD = "Attached files and pictures are not read; answers come from this server's passages."
"""The caveat of an answer to a message with attachments."""

_TASK = "### Task:"
_TAGS = ("context", "attached_files")
_SOURCE_NUMBER = re.compile(r'<source id="(\d{1,4})"')
_QUERY_TAG = re.compile(r"</?user_query>")
_ERRAND = re.compile(r'\{\s*"(title|tags|follow_ups|queries|prompt|text)"\s*:')
_TITLE_PROMPT = re.compile(
    r"\s*(?:Provide a concise, 5-word-or-less title|Analyze this conversation and provide"
    r"|Please generate a concise title)"
)
"""The beginnings of LibreChat's prompts for a title, which is not JSON."""

_FIRST_QUESTION = re.compile(r"^[ \t]*(?:USER|User|Human|user):\s*(\S.*)$", re.M)
_MAX_TITLE_CHARS = 60
_TEXT_TYPES = frozenset(["text", "input_text"])


class MessagePart(Record, extra="allow"):
    """A part of a message. Parts other than text are not read."""

    type: str
    text: Text | None = None


class Message(Record, extra="allow"):
    """A message. Roles other than user and assistant are ignored."""

    role: str
    content: Text | BoundedList[MessagePart] | None = None

    @property
    def text(self) -> str:
        """The text, or the text parts, one a line."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.type in _TEXT_TYPES and part.text)

    @property
    def has_attachments(self) -> bool:
        """Whether the message has pictures or files, or the text of files."""
        parts = self.content if isinstance(self.content, list) else ()
        return _around_files(self.text) is not None or any(part.type not in _TEXT_TYPES for part in parts)


@dataclass(frozen=True, slots=True)
class ChatQuestion:
    """The last question, and the exchanges before it.

    ``caveat``: what the reply must say about attachments. ``sources``: how many numbered sources the client shows
    before those of the answer.
    """

    question: str
    history: list[Exchange]
    caveat: str
    sources: int


def read(messages: Sequence[Message]) -> ChatQuestion:
    """Read a conversation. Consecutive questions are joined, and answers without a question are ignored.

    An empty answer at the end, which some clients add, and results of tools leave the question open.

    :raises InputError: if no question is open at the end.
    """
    history: list[Exchange] = []
    questions: list[str] = []
    answer: str | None = None
    last: Message | None = None
    for message in messages:
        text = _own_words(message.text) if message.role == "user" else ""
        if text:
            if answer is not None:
                history.append(chat_text.exchange("\n".join(questions), answer))
                questions, answer = [], None
            questions.append(text)
            last = message
        elif message.role == "assistant" and questions:
            answer = message.text.strip() or answer or ""
        elif message.role == "tool" and answer:
            answer = ""
    if last is None or answer:
        raise InputError("messages: the last one must be a question: role user, with a text.")
    # Open WebUI may put the texts of files into the system's message.
    texts = [message.text for message in messages if message is last or message.role == "system"]
    sources = max(map(int, _SOURCE_NUMBER.findall("\n".join(texts))), default=0)
    caveat = UNREAD if sources or last.has_attachments else ""
    return ChatQuestion("\n".join(questions), history, caveat, sources)


def _around_files(text: str) -> tuple[str, str] | None:
    """Return what stands before and after the names and texts of attached files, None without any."""
    begin, end = len(text), 0
    for tag in _TAGS:
        start, stop = text.find(f"<{tag}>"), text.rfind(f"</{tag}>")
        if 0 <= start < stop:
            begin, end = min(begin, start), max(end, stop + len(f"</{tag}>"))
    return (text[:begin], text[end:]) if end else None


def _own_words(text: str) -> str:
    """Return a user's own words: those after the attached files, or else before them."""
    parts = _around_files(text)
    if parts is None or _requested_field(text) is not None:
        return text.strip()
    before, after = parts
    return _QUERY_TAG.sub("", after).strip() or before.partition(_TASK)[0].strip()


def _requested_field(prompt: str) -> str | None:
    """Return the field of the JSON that a client asks for on its own, "" for a plain title, None for a question."""
    if _TITLE_PROMPT.match(prompt):
        return ""
    parts = _around_files(prompt)
    instructions = "".join(parts or prompt)
    is_task = parts is None and prompt.lstrip().startswith(_TASK)
    field = _ERRAND.search(instructions)
    if field is None or "JSON" not in instructions or not (is_task or "<chat_history>" in instructions):
        return None
    return field[1]


def reply_to_errand(asked: ChatQuestion, examples: Sequence[str]) -> str | None:
    """Reply to a prompt that a client sends on its own, without a search; None for a question.

    A title is the first question. Follow-ups are the examples that were not asked.
    """
    prompt = asked.question
    field = _requested_field(prompt)
    if field is None:
        return None
    match = _FIRST_QUESTION.search("".join(_around_files(prompt) or prompt))
    first = asked.history[0].question if asked.history else ""
    title = shorten(
        match[1] if match else first,
        _MAX_TITLE_CHARS,
        placeholder=" ...",
    )
    replies = {
        "title": title,
        "tags": [],
        "queries": [],
        "follow_ups": [question for question in examples if question not in prompt],
    }
    return orjson.dumps({field: replies.get(field, "")}).decode() if field else title
