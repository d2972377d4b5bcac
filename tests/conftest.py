"""Fixtures that every test may use. No test writes into the home folder or asks the network."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import json
import logging
import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
for name in ("CONVQA_COLLECTION", "CONVQA_HOME"):
    os.environ.pop(name, None)
# make test-all takes Hypothesis' own hundred, by --hypothesis-profile=default.
settings.register_profile("brief", max_examples=30)
settings.load_profile("brief")
# The workers fill the cores; torch's threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

LANES = {
    "services": {
        "elasticsearch",
        "secure_elasticsearch",
        "elasticsearch_cluster",
        "index_url",
        "anserini_index",
        "ray_cluster",
        "start_ray",
    },
    "models": {"make_generator", "tiny_generator", "tiny_reader", "tiny_encoder", "cross_encoder"},
    "browser": {"browser"},
    "slow": {"elasticsearch_cluster"},
}
"""Markers, and the fixtures whose tests have them without writing them."""

MAY_BE_SKIPPED = re.compile(
    "data is not|are not here|corpora|/dev/full|IPv6|this user|every place|no fork|no GPU|this engine|git checkout"
    "|no Compose"
)
"""Reasons that no package is the cure for. In CI a test that is skipped for another reason fails."""


def pytest_configure() -> None:
    """Let SIGINT reach what tests start: a background job of a shell ignores it, and so do its children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures, before ``-m`` chooses among them."""
    for item in items:
        for marker, fixtures in LANES.items():
            if fixtures.intersection(getattr(item, "fixturenames", ())):
                item.add_marker(marker)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Import torch and models before the call of the first test that needs them, so that none pays for the others."""
    if item.get_closest_marker("models") and importlib.util.find_spec("torch"):
        from convqa.models.engines.torch.runtime import import_torch

        import_torch()
        importlib.import_module("transformers.models.bert.modeling_bert")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, fail a test that is skipped because something of its lane is not installed."""
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(call.excinfo.value) if call.excinfo else ""
        if not MAY_BE_SKIPPED.search(reason):
            report.outcome, report.longrepr = "failed", f"{item.nodeid} is skipped: {reason}"
    return report


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
    """A server of this test run; where none can be had its tests are skipped."""
    services = _services()
    server = services.Server(brief=True, **options)
    try:
        server.start()
    except services.Unavailable as error:
        pytest.skip(f"Elasticsearch: {error}")
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
def index_url(elasticsearch: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an index that no other test uses; there is none yet."""
    # Each change waits for the searches that began before it. A test's are over.
    monkeypatch.setattr("convqa.stores.elasticsearch.index._GRACE_SECONDS", 0.0)
    return f"{elasticsearch}/t-{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def anserini_index(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes an Anserini index of records ``{"id", "contents", ...}`` with Anserini's own IndexCollection.

    Where Java or Anserini's jar is missing its tests are skipped.
    """
    from convqa.errors import InputError
    from convqa.stores.anserini.java import OPTIONS, java_class

    # Tests end before Java's second compiler would pay.
    os.environ.setdefault(OPTIONS, "-XX:TieredStopAtLevel=1")
    try:
        indexer = java_class("io.anserini.index.IndexCollection")
    except InputError as error:
        pytest.skip(f"Anserini: {error}")

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
    return tiny_bert(tmp_path_factory.mktemp("cross-encoder"), "BertForSequenceClassification", num_labels=1)


@pytest.fixture
def encoder_of_german(tmp_path: Path) -> Path:
    """An exported encoder of another family than the shipped one, for German and Polish: that one with a prompt."""
    from convqa.models.folder import write_folder
    from convqa.models.source import SHIPPED

    files: dict[str, Path | bytes] = {
        name: SHIPPED / "encoder" / name for name in ("README.md", "model.onnx", "tokenizer.json")
    }
    about = {"kind": "encoder", "name": "made", "precision": "int8", "dimension": 384, "pooling": "mean"}
    about |= {"languages": ["de", "pl"], "settings": {"prefixes": {"passage": "passage: "}}}
    write_folder(tmp_path / "of-german", about, files)
    return tmp_path / "of-german"


TINY_WORDS = ("only", "goethe", ".", "faust", "and", "again", "wrote", "?")


def tiny_bert(folder: Path, model: str, words: Sequence[str] = TINY_WORDS, length: int = 64, **settings: Any) -> Path:
    """A BERT of some thousand random weights with these words, as a folder that transformers wrote."""
    pytest.importorskip("torch")
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    names = {name: number for number, name in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(names, unk_token="[UNK]"))
    plain.normalizer = tokenizers.normalizers.Lowercase()
    plain.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    plain.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=length,
    ).save_pretrained(folder)  # fmt: skip
    config = transformers.BertConfig(
        vocab_size=len(names), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=length, **settings,
    )  # fmt: skip
    transformers.set_seed(3)
    getattr(transformers, model)(config).save_pretrained(folder)
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
def command_line() -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """Calls the command line in forks of one process (tests/services/forking_cli.py)."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80"}
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "services" / "forking_cli.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    source, sink = process.stdin, process.stdout
    assert source is not None and sink is not None

    def call(request: dict[str, Any]) -> dict[str, Any]:
        source.write(json.dumps(request) + "\n")
        source.flush()
        return json.loads(sink.readline())

    yield call
    source.close()
    sink.close()
    process.wait(60)


@pytest.fixture
def proxying() -> Callable[..., Any]:
    """``with proxying(SERVER) as proxy``: a proxy before a real server, with faults (tests/services)."""
    return _service("proxy").proxying


@pytest.fixture(scope="session")
def make_generator() -> Callable[..., Any]:
    """Makes a real generator with random weights and saves it in a folder (tests/services/tiny_generators.py)."""
    from convqa.errors import InputError
    from convqa.models.engines.torch.runtime import import_torch

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
    from convqa.models.engines.torch.runtime import import_torch

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
                from convqa.models.export import export

                export(str(made(kind.removesuffix(" int8"))), folder, "int8")
            else:
                _service("tiny_readers").make(kind, folder)
            folders[kind] = folder
        return folders[kind]

    return made


@pytest.fixture(scope="session")
def _example_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds the example's passages with their vectors; workers share it."""
    from convqa.indexing import add_vectors, collection_of
    from convqa.models import load_encoder

    folder = tmp_path_factory.getbasetemp()
    shared = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "example-cache"
    # A collection takes one writer at a time: the others wait, and find what it made.
    with FileLock(f"{shared}.lock"), pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_CACHE_HOME", str(shared))
        url = collection_of(str(ROOT / "examples" / "qrecc-trec" / "passages.jsonl.gz"))
        add_vectors(url, load_encoder("encoder"))
    return shared


@pytest.fixture
def example_cache(_example_cache: Path, _private_folders: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of the test has the example's passages already, with their vectors."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(_example_cache))
    return _example_cache


@pytest.fixture(autouse=True)
def _private_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Home and cache are folders of the test's own."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))


@pytest.fixture
def installed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Installs a package of one module, ``installed(name, group, entry_point, source)``, for this process."""

    def install(name: str, group: str, point: str, source: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        (folder / f"{name}.py").write_text(source)
        facts = folder / f"{name}-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[{group}]\n{point}\n")
        monkeypatch.syspath_prepend(str(folder))
        return folder

    return install


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


@pytest.fixture(autouse=True)
def _plain_logger() -> None:
    """Each test begins with the logger as it is without the command line, which fixtures of modules call, too."""
    logger = logging.getLogger("convqa")
    for handler in logger.handlers[:]:
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(logging.NOTSET)
    logger.propagate = True


@contextmanager
def _ray_head(**environment: str) -> Iterator[dict[str, str]]:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("the package ray is not installed")
    code = (
        "import ray, sys; found = ray.init(address='local', num_cpus=2, include_dashboard=False, log_to_driver=False)\n"
        "print(found.address_info['address'], flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    # Else Ray would make a token for the cluster, and keep it in the home folder.
    access = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid.uuid4().hex}
    with subprocess.Popen(
        [sys.executable, "-c", code], text=True, env={**os.environ, **environment, **access}, **pipes
    ) as process:
        address = process.stdout.readline().strip()
        assert address, "Ray has started no cluster"
        yield {**access, "RAY_ADDRESS": address}
        process.stdin.close()


@pytest.fixture(scope="session")
def start_ray():
    """``with start_ray(**environment) as access``: a Ray cluster of two processors, and variables that name it."""
    return _ray_head


@pytest.fixture(scope="session")
def ray_cluster(start_ray):
    """The address of a Ray cluster with two processors, to which the variables of this process lead."""
    with start_ray() as access:
        os.environ.update(access)  # Ray looks for the token when it is imported
        yield access["RAY_ADDRESS"]
        del os.environ["RAY_ADDRESS"]


@functools.cache
def _command_on(path: tuple[str, ...]) -> Any:
    """The command line with the options of the packages on a path. Typer would read all annotations at each call."""
    from typer.main import get_command

    from convqa.cli import application

    return get_command(application())


@pytest.fixture
def call():
    """``call("run", ...)`` in this process: (exit code, standard output, standard error); ``stdin``: what it reads."""
    from typer import testing

    from convqa.cli import application

    def run_it(*arguments, stdin=None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(testing, "_get_command", lambda _: _command_on(tuple(sys.path)))
            done = testing.CliRunner().invoke(application(), [str(argument) for argument in arguments], stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    return run_it
