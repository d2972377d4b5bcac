"""Containers without Docker: what the files of ``docker/`` say is held against what they build on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import orjson
import pytest
import yaml
from pytest import param

ROOT = Path(__file__).resolve().parents[1]
DOCKER = ROOT / "docker"
PAGE = (ROOT / "docs" / "reference" / "docker.md").read_text(encoding="utf-8")
IMAGES = [param(DOCKER / "Dockerfile", id="server"), param(DOCKER / "tira" / "Dockerfile", id="tira")]


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def services(compose):
    return compose["services"]


@pytest.fixture(scope="module")
def config():
    pytest.importorskip("fastapi")
    from convqa.server.config import read_config

    return read_config(str(DOCKER / "server.yaml"))


def stages(dockerfile):
    """The instructions of each stage: lists of (instruction, its text), continued lines made one."""
    text = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", dockerfile.read_text(encoding="utf-8")))
    found = []
    for line in text.splitlines():
        name, _, rest = line.strip().partition(" ")
        if name == "FROM":
            found.append([])
        elif found and name:
            found[-1].append((name, rest.strip()))
    return found


def argument(dockerfile, name):
    return re.search(rf"(?m)^ARG {name}=(.*)$", dockerfile.read_text(encoding="utf-8"))[1].strip('"')


def test_elasticsearch_is_the_version_of_the_tests(services):
    source = (ROOT / "tests" / "services" / "elasticsearch_server.py").read_text(encoding="utf-8")
    version = re.search(r'(?m)^VERSION = .*"([\d.]+)"\)?$', source)[1]
    assert services["elasticsearch"]["image"].endswith(f"/elasticsearch:{version}")


@pytest.mark.parametrize("name", ["elasticsearch", "server"])
def test_a_service_has_limits_and_no_rights(services, name):
    service = services[name]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["user"].partition(":")[0] not in {"0", "root"}
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert {"mem_limit", "pids_limit", "volumes", "restart"} <= service.keys()


def test_the_server_waits_for_elasticsearch_and_writes_only_into_its_volume(services, compose):
    server = services["server"]
    assert server["read_only"] is True
    assert server["depends_on"] == {"elasticsearch": {"condition": "service_healthy"}}
    assert "test" in services["elasticsearch"]["healthcheck"]
    assert {volume.partition(":")[0] for service in services.values() for volume in service["volumes"]} == set(
        compose["volumes"]
    )


def test_the_file_of_the_server_is_read_and_fits_the_container(services, compose, config):
    server = services["server"]
    assert (DOCKER / compose["configs"]["server"]["file"]) == DOCKER / "server.yaml"
    assert server["command"] == ["serve", "--config", server["configs"][0]["target"]]
    assert {key.file for key in config.keys.values()} == {f"/run/secrets/{name}" for name in server["secrets"]}
    assert server["ports"] == [f"127.0.0.1:8000:{config.port}"]
    assert config.collection.startswith("elasticsearch://elasticsearch:9200/")
    assert config.conversations.startswith(server["volumes"][0].partition(":")[2] + "/")
    assert not config.is_local and not config.without_keys


def test_the_server_refuses_to_start_without_its_key(config):
    from convqa.errors import InputError

    with pytest.raises(InputError, match=r"keys\.default: the file named under file cannot be read"):
        config.checked()


def test_the_key_stays_out_of_git_and_of_the_image(compose):
    place = re.search(r":-\./(.*)\}", compose["secrets"]["convqa_key"]["file"])[1]
    assert place.split("/")[0] + "/" in [
        line.removeprefix("docker/") for line in (ROOT / ".gitignore").read_text().splitlines()
    ]
    for image in (DOCKER / "Dockerfile.dockerignore", DOCKER / "tira" / "Dockerfile.dockerignore"):
        assert "!docker" not in image.read_text()


@pytest.mark.parametrize("dockerfile", IMAGES)
def test_the_extras_of_an_image_exist_and_bring_no_torch(dockerfile):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name in argument(dockerfile, "EXTRAS").split(","):
        assert not any("torch" in requirement or "convqa[" in requirement for requirement in extras[name]), name
    assert "models" in extras  # docs/reference/docker.md builds with it


@pytest.mark.parametrize("dockerfile", IMAGES)
def test_the_context_of_an_image_is_what_the_package_is_made_of(dockerfile):
    ignored = dockerfile.with_name("Dockerfile.dockerignore").read_text().splitlines()
    rules = [line for line in ignored if not line.startswith("#")]
    assert rules[0] == "*" and rules[-1] == "**/__pycache__"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    wanted = {*wheel["packages"], *wheel["force-include"], *project["project"]["license-files"]}
    wanted |= {"pyproject.toml", project["project"]["readme"]}
    assert {rule.removeprefix("!") for rule in rules[1:-1]} == wanted


@pytest.mark.parametrize("dockerfile", IMAGES)
def test_the_last_stage_of_an_image_installs_nothing(dockerfile):
    last = stages(dockerfile)[-1]
    assert ("ENTRYPOINT", '["convqa"]') in last
    assert [text for name, text in last if name == "RUN" and re.search("pip|apt", text)] == []


def test_the_image_of_the_server_is_no_roots_and_checks_its_health(config):
    last = dict(stages(DOCKER / "Dockerfile")[-1])
    assert last["USER"] == "1000:1000"
    assert last["EXPOSE"] == str(config.port)
    assert f"http://127.0.0.1:{config.port}/healthz" in last["HEALTHCHECK"]
    assert f"XDG_DATA_HOME={last['VOLUME']}" in last["ENV"]


@pytest.fixture(scope="module")
def documents():
    return yaml.safe_load((DOCKER / "documents.yaml").read_text(encoding="utf-8"))


def test_a_folder_of_documents_is_indexed_and_served_by_one_command(documents):
    """The parts fit: what is indexed is served, originals are mounted, and Open WebUI finds the server."""
    pytest.importorskip("fastapi")
    from convqa.pipeline.llm import read_llm
    from convqa.server.config import read_config

    services = documents["services"]
    config = read_config(str(DOCKER / documents["configs"]["server"]["file"]))
    index = services["index"]["command"]
    assert index[0] == "index" and "--watch" in index and index[index.index("--collection") + 1] == config.collection
    assert services["index"]["healthcheck"]["test"][1:] == ["convqa", "collections", "show", config.collection]
    assert services["server"]["depends_on"] == {"index": {"condition": "service_healthy"}}
    targets = [each["target"] for each in services["server"]["configs"]]
    assert targets == ["/etc/convqa/server.yaml", config.pipelines["written"].llm]
    mounts = {mount.rsplit(":", 2)[1] for mount in services["server"]["volumes"] if mount.endswith(":ro")}
    assert mounts == {config.originals} == {index[1]}
    llm = read_llm(str(DOCKER / documents["configs"]["llm"]["file"]))
    assert llm.url == "http://ollama:11434/v1" and services["model"]["entrypoint"][-1] == llm.model
    assert services["webui"]["environment"]["OPENAI_API_BASE_URL"] == f"http://server:{config.port}/v1"
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    for name in ("index", "server"):
        service = services[name]
        assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["user"] == "1000:1000"


def test_compose_reads_its_file():
    compose = ["docker", "compose"]
    if not shutil.which("docker") or subprocess.run([*compose, "version"], capture_output=True).returncode:
        pytest.skip("there is no Compose on this machine")
    command = [*compose, "-f", str(DOCKER / "compose.yaml"), "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def without_network():
    """A prefix of commands that cuts them off, where the user may do that."""
    prefix = ["unshare", "--net"]
    allowed = shutil.which("unshare") and subprocess.run([*prefix, "true"], capture_output=True).returncode == 0
    return prefix if allowed else []


def test_the_command_for_tira_writes_what_tiras_own_client_accepts(tmp_path, example_cache):
    check = pytest.importorskip("tira.check_format")
    command = re.search(r"(?m)^(convqa run --input \$inputDataset --output \$outputDir)$", PAGE)[1]
    example, given, out = ROOT / "examples" / "qrecc-trec", tmp_path / "input", tmp_path / "output"
    given.mkdir()
    out.mkdir()
    turns = [turn for turn in orjson.loads((example / "questions.json").read_bytes()) if turn["Conversation_no"] == 1]
    (given / "questions.json").write_bytes(orjson.dumps(turns))
    shutil.copy(example / "passages.jsonl.gz", given)
    given.chmod(0o555)
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(example_cache),
        "inputDataset": str(given),
        "outputDir": str(out),
    }
    done = subprocess.run(
        [*without_network(), "sh", "-c", command], env=environment, cwd="/", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    run = orjson.loads((out / "run.json").read_bytes())
    assert [(turn["Conversation_no"], turn["Turn_no"]) for turn in run] == [
        (turn["Conversation_no"], turn["Turn_no"]) for turn in turns
    ]
    for formats in (["ir_metadata"], ["*.jsonl"], ["ir_metadata", "*.jsonl"]):
        assert check.check_format(out, formats)[0] == check._fmt.OK, formats
    (out / "ir-metadata.yml").unlink()
    assert check.check_format(out, "ir_metadata")[0] == check._fmt.ERROR
