"""Fixtures that every test may use. No test writes into the home folder or asks the network."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import os
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"


def _service(file: str) -> ModuleType:
    """A file of tests/services: tests are no package, so it is loaded from its file."""
    name = f"convqa_test_{file}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "tests" / "services" / f"{file}.py")
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def _services() -> ModuleType:
    return _service("elasticsearch_server")


def _server(**options: Any) -> Iterator[Any]:
    """A server of this test run; where none can be had the tests are skipped by name, but in CI they fail."""
    services = _services()
    server = services.Server(**options)
    try:
        server.start()
    except services.Unavailable as error:
        reason = f"Elasticsearch: {error}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def elasticsearch() -> Iterator[str]:
    """The URL of a real Elasticsearch, without an index: the one that the environment names, else one of our own."""
    given = os.environ.get(_services().VARIABLE)
    if given:
        yield given
    else:
        for server in _server():
            yield server.url


@pytest.fixture(scope="session")
def secure_elasticsearch() -> Iterator[Any]:
    """A real Elasticsearch with TLS and a password (tests/services: ``url``, ``ca``, ``login``)."""
    yield from _server(secure=True, heap="512m")


@pytest.fixture(scope="module")
def elasticsearch_cluster() -> Iterator[Any]:
    """Three nodes of a real Elasticsearch, which can be killed and revived (tests/services)."""
    yield from _server(nodes=3, heap="512m")


@pytest.fixture
def index_url(elasticsearch: str) -> str:
    """The URL of an index that no other test uses; there is none yet."""
    return f"{elasticsearch}/t-{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def anserini_index(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes an Anserini index of records ``{"id", "contents", ...}`` with Anserini's own IndexCollection.

    Where Java or Anserini's jar is missing the tests are skipped by name, but in CI they fail.
    """
    from convqa.errors import InputError
    from convqa.stores.anserini.java import java_class

    try:
        indexer = java_class("io.anserini.index.IndexCollection")
    except InputError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"Anserini: {error}")

    def make(records: Iterable[dict[str, Any]], *options: str, folder: Path | None = None) -> Path:
        given = tmp_path_factory.mktemp("anserini")
        folder = folder or given / "index"
        (given / "json").mkdir()
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (given / "json" / "passages.jsonl").write_text(lines, encoding="utf-8")
        chosen = options or ("-storeRaw", "-storeDocvectors")
        fixed = ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator", "-threads", "1"]
        indexer.main([*fixed, "-input", str(given / "json"), "-index", str(folder), "-optimize", *chosen])
        return folder

    return make


@pytest.fixture(scope="session")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real cross-encoder of random weights and some words, as a folder that transformers wrote."""
    pytest.importorskip("torch")
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("cross-encoder")
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "only", "goethe", ".", "faust", "and", "again", "wrote", "?"]
    words = {name: number for number, name in enumerate(names)}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    plain.normalizer = tokenizers.normalizers.Lowercase()
    plain.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    plain.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=64,
    ).save_pretrained(folder)  # fmt: skip
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64, num_labels=1,
    )  # fmt: skip
    transformers.set_seed(3)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture
def openai_server() -> Iterator[Callable[..., Any]]:
    """Starts servers that speak OpenAI's chat completions and reply by a script (tests/services)."""
    with contextlib.ExitStack() as stack:
        yield lambda reply: stack.enter_context(_service("openai_server").serving(reply))


@pytest.fixture
def file_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server of files that knows ranges and faults (tests/services); no proxy stands before it."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with _service("file_server").serving() as server:
        yield server


@pytest.fixture(scope="session")
def make_generator() -> Callable[..., Any]:
    """Makes a real generator with random weights and saves it in a folder (tests/services/tiny_generators.py)."""
    from convqa.errors import InputError
    from convqa.models.torch_runtime import import_torch

    try:
        import_torch()  # as convqa does it: threads that spin would make a busy machine slow
    except InputError as error:
        pytest.skip(str(error))
    return _service("tiny_generators").make


@pytest.fixture(scope="session")
def tiny_generator(
    make_generator: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], str]:
    """The folder of a generator of a few thousand weights: "t5", "bart", "gpt2" or "llama"."""
    folders: dict[str, str] = {}

    def made(kind: str) -> str:
        if kind not in folders:
            folders[kind] = str(tmp_path_factory.mktemp(kind))
            make_generator(kind, Path(folders[kind]))
        return folders[kind]

    return made


@pytest.fixture(scope="session")
def tiny_readers() -> ModuleType:
    """Readers in which no network is: their tokenizers, their likings (tests/services/tiny_readers.py)."""
    return _service("tiny_readers")


@pytest.fixture(scope="session")
def tiny_reader(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a reader of random weights: "Bert", "Roberta" ...; "Bert onnx" and "Bert int8" are exported."""
    from convqa.errors import InputError
    from convqa.models.torch_runtime import import_torch

    try:
        import_torch()
    except InputError as error:
        pytest.skip(str(error))
    folders: dict[str, Path] = {}

    def made(kind: str) -> Path:
        if kind not in folders:
            folder = tmp_path_factory.mktemp("reader") / "model"
            if kind.endswith(" onnx"):
                from convqa.models.export import export

                export(str(made(kind.removesuffix(" onnx"))), folder)
            elif kind.endswith(" int8"):
                from convqa.models.quantize import quantize

                quantize(str(made(kind.replace(" int8", " onnx"))), folder)
            else:
                _service("tiny_readers").make(kind, folder)
            folders[kind] = folder
        return folders[kind]

    return made


@pytest.fixture(autouse=True)
def _private_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Home and cache are folders of the test's own."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture
def data() -> Path:
    """The real data beside the checkout; without it the test is skipped."""
    if not DATA.is_dir():
        pytest.skip(f"the real data is not beside the checkout ({DATA.name})")
    return DATA


@pytest.fixture
def example() -> Path:
    """The bundled example: 32 conversations of QReCC's TREC part with 326 passages."""
    return ROOT / "examples" / "qrecc-trec"


@pytest.fixture
def call():
    """``call("run", ...)`` in this process: (exit code, standard output, standard error); ``stdin``: what it reads."""
    from typer.testing import CliRunner

    from convqa.cli import application

    logger = logging.getLogger("convqa")
    before = logger.handlers[:], logger.level, logger.propagate

    def run_it(*arguments, stdin=None):
        done = CliRunner().invoke(application(), [str(argument) for argument in arguments], stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    yield run_it
    for handler in logger.handlers:
        if handler not in before[0]:
            handler.close()
    logger.handlers, logger.level, logger.propagate = before[0], before[1], before[2]
