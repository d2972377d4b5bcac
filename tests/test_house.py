"""The house: directions of imports, light import, what may not be in the repository, the wheel."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from size import TESTING, Size, sizes

ROOT = Path(__file__).resolve().parents[1]

# Imports go downwards only: a module may import from layers with a smaller number.
LAYERS = [
    {"domain"},
    {"errors"},
    {"files", "places", "plugins", "safe_yaml", "validation", "workers"},
    {"text"},
    {"metrics", "stores", "models"},
    {"exports"},
    {"components", "tasks"},
    {"documents", "pipeline"},
    {"driver", "indexing", "evaluation"},
    {"qa", "training", "haystack"},
    {"sharc"},
    {"experiments"},
    {"server"},
    {"cli"},
    {"testing"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def imports():
    """(file, importing part, imported part) for every import inside the package, those for type checking too."""
    for path in sorted((ROOT / "convqa").rglob("*.py")):
        part = path.relative_to(ROOT / "convqa").parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module] if node.module != "convqa" else [f"convqa.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            for name in names:
                if name and name.startswith("convqa."):
                    yield path.name, part, name.split(".")[1]


def test_imports_go_downwards_only():
    seen = list(imports())
    wrong = [
        f"{file}: {here} imports {there}"
        for file, here, there in seen
        if here not in {"__init__", "__main__", there} and there != "__version__" and RANK[there] >= RANK[here]
    ]
    assert len(seen) > 50
    assert wrong == []


@pytest.mark.parametrize("part", ["sharc", "testing"])
def test_nothing_imports_what_entry_points_and_tests_load(part):
    assert [f"{file}: {here}" for file, here, there in imports() if there == part != here] == []


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_imports_go_in_a_circle():
    """Neither at the top of modules nor inside functions, where a circle hides."""
    trees = {module_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "convqa").rglob("*.py")}
    graph = {name: set() for name in trees}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                named = [f"{node.module}.{alias.name}" for alias in node.names]
                graph[name] |= {module if module in trees else node.module for module in named}
            elif isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names}
        graph[name] &= trees.keys() - {name}
    assert len(graph) > 200
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_the_package_imports_nothing_that_is_not_shipped():
    outside = re.compile(r"^\s*(?:from|import) (?:recipes|benchmarks|scripts|tests)\b", re.MULTILINE)
    wrong = [path.name for path in (ROOT / "convqa").rglob("*.py") if outside.search(path.read_text(encoding="utf-8"))]
    assert wrong == []


def test_importing_convqa_is_light():
    heavy = {"torch", "transformers", "elasticsearch", "haystack", "tantivy", "numpy", "pydantic", "pytest"}
    code = f"import sys, convqa; print(sorted(set(sys.modules) & {heavy!r}))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_testing_without_pytest_says_what_to_install():
    code = "import sys; sys.modules['pytest'] = None; import convqa.testing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "pip install pytest" in done.stderr


@pytest.mark.parametrize("command", [[], ["evaluate"]])
def test_the_commands_help_is_light(command):
    heavy = {"elasticsearch", "haystack", "numpy", "tantivy", "torch"} | (set() if command else {"convqa.tasks"})
    code = (
        f"import sys\nfrom convqa.cli import main\nsys.argv = {['convqa', *command, '--help']!r}\n"
        f"try:\n    main()\nfinally:\n    print(sorted(set(sys.modules) & {heavy!r}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stdout
    assert out.strip().endswith("[]") and "Usage" in out


def test_a_pipeline_loads_without_what_it_does_not_use():
    heavy = {"torch", "transformers", "posthog", "elasticsearch", "ray", "jpype", "fastapi", "mcp", "matplotlib"}
    code = (
        "import sys\nfrom convqa.cli import ask, screen\nfrom convqa.qa import load_pipeline\nload_pipeline('talk')\n"
        f"print('haystack' in sys.modules, sorted(set(sys.modules) & {heavy!r}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "True []"


DISTRIBUTIONS = {
    "docutils": "docutils", "elastic_transport": "elastic-transport", "huggingface_hub": "huggingface-hub",
    "jpype": "jpype1", "lxml": "lxml", "markdown_it": "markdown-it-py", "mcp_types": "mcp-types",
    "mdit_py_plugins": "mdit-py-plugins", "charset_normalizer": "charset-normalizer", "haystack": "haystack-ai",
    "sse_starlette": "sse-starlette", "Stemmer": "pystemmer", "yaml": "pyyaml", "ir_measures": "ir-measures",
    "typing_extensions": "typing-extensions", "pydantic_core": "pydantic",
}  # fmt: skip
"""Imported name -> the distribution that has it, where they differ; pydantic_core is pinned by pydantic."""


def test_whatever_is_imported_is_declared():
    """Not left to the requirements of other packages, which may drop it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for name, lines in extras.items() if name != "all" for line in lines)]
    declared = {re.split(r"[\[<>=;! ]", line)[0].lower() for line in lines}
    imported = set()
    for path in (ROOT / "convqa").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(node.module.partition(".")[0])
    foreign = imported - sys.stdlib_module_names - {"convqa"}
    assert len(foreign) > 20
    assert {name for name in foreign if DISTRIBUTIONS.get(name, name).lower() not in declared} == set()


def tracked():
    out = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=False)
    if out.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in out.stdout.splitlines() if (ROOT / name).is_file()]


def test_nothing_large_and_no_machine_paths_are_tracked():
    files = tracked()
    # The models that ship have a budget of their own (tests/models/test_source.py).
    weights = ROOT / "convqa" / "models" / "weights"
    assert [str(path) for path in files if path.stat().st_size > 1_000_000 and weights not in path.parents] == []
    pattern = re.compile(rb"(?<![\w.])/(work|farm|root/\.pyenv)/")
    text = [path for path in files if path.suffix in {".py", ".md", ".yaml", ".yml", ".toml", ".sh", ""}]
    assert [str(path) for path in text if path.name != "test_house.py" and pattern.search(path.read_bytes())] == []


MAX_TOKENS = {
    "components": 44_269,
    "stores": 25_355,
    "tasks": 26_923,
    "documents": 23_657,
    "models": 19_904,
    "server": 16_129,
    "sharc": 14_848,
    "cli": 13_089,
    "text": 11_954,
    "training": 9_020,
    "experiments": 8_708,
    "driver": 8_148,
    "(modules)": 6_922,
    "pipeline": 6_202,
    "exports": 4_435,
    "domain": 4_368,
    "indexing": 3_715,
    "evaluation": 3_646,
    "metrics": 3_607,
    "workers": 2_138,
}
"""The budget of each package in tokens of code (scripts/size.py), with a little to spare."""

MAX_TOKENS_OF_TESTING = 11_450
"""The budget of convqa.testing, which runs only in tests and is not part of the total."""
MAX_TOKENS_IN_ALL = 257_050
MAX_TOKENS_A_LINE = 8.5


@pytest.fixture(scope="module")
def packages():
    """The sizes of the package's parts without convqa.testing."""
    parts = sizes(ROOT / "convqa")
    assert parts.pop(TESTING).tokens <= MAX_TOKENS_OF_TESTING
    return parts


def test_each_package_keeps_its_budget_of_tokens(packages):
    assert packages.keys() == MAX_TOKENS.keys(), "give a new package a budget"
    over = {name: own.tokens - MAX_TOKENS[name] for name, own in packages.items() if own.tokens > MAX_TOKENS[name]}
    assert over == {}
    assert sum(MAX_TOKENS.values()) <= MAX_TOKENS_IN_ALL


def test_code_is_not_folded(packages):
    total = sum(packages.values(), Size())
    assert total.density <= MAX_TOKENS_A_LINE


def test_no_class_name_means_two_things():
    names = Counter(
        node.name
        for path in (ROOT / "convqa").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_only_tables_of_data_are_laid_out_by_hand():
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "convqa").rglob("*.py")]
    assert sum(source.count("# fmt: skip") for source in sources) <= 10


@pytest.mark.slow
def test_the_wheel_works_outside_the_checkout(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    names = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*")}
    assert {
        "convqa/share/pipelines/default.yaml",
        "convqa/share/configs/collections/elasticsearch.yaml",
        "convqa/share/examples/qrecc-trec/questions.json",
        "convqa/py.typed",
        "convqa/models/weights/encoder/model.onnx",
        "convqa/experiments/templates/report.html",
        "convqa/server/page/index.html",
        "convqa/server/page/static/app.js",
        "convqa/testing/stations.py",
    } <= names
    code = (
        "import convqa, sys; from convqa.places import shipped\n"
        f"assert convqa.__file__.startswith({str(tmp_path)!r}), convqa.__file__\n"
        "from convqa.models import load_encoder\n"
        "assert load_encoder('encoder').encode(['a text']).shape == (1, 384)\n"
        "assert 'torch' not in sys.modules\n"
        "qa = convqa.load(collection=shipped('examples', 'qrecc-trec', 'passages.jsonl.gz'))\n"
        'print(qa.conversation().ask("What is a physician\'s assistant?").answer.text)\n'
    )
    environment = {"PYTHONPATH": str(tmp_path / "site"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    assert "assistant" in done.stdout.lower()
