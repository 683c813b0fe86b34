"""The arrows of the design, held: who may import whom, where processes and sockets may be opened, that Python names no server, and that modules stay small."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "forensics"

# Each room, and the rooms it may import from (all may import model, errors and lazily, and the package itself for __version__).
# Left may import right and never back:
#   cli → wait | run | hook | sweep → history → api → report → reason → ruleset → clock → model, errors
#   api → collect, parse, units, redact → clock → model, errors;   report → redact;   wait → collect
BUILT_ON = {"wait", "run", "hook", "sweep", "compare"}
DOMAIN = {"report", "reason", "ruleset", "collect", "parse", "units", "redact", "clock", "significance"}
MAY_IMPORT = {
    "model": set(),
    "errors": {"model"},
    "lazily": set(),
    "clock": set(),
    "significance": set(),
    "redact": {"clock"},
    "units": {"clock"},
    "collect": {"clock", "redact"},  # redact: a bundle is where bytes leave
    "parse": {"clock"},
    "ruleset": {"clock"},
    "reason": {"ruleset", "units", "clock", "significance"},  # units: near names out of the evidence
    "report": {"reason", "ruleset", "redact", "clock"},
    "reading": {"parse", "ruleset"},  # where frames meet the scan
    "api": {"reading", *DOMAIN},
    "history": {"api", *DOMAIN},
    **{name: {"history", "api", *DOMAIN} for name in BUILT_ON},
    "cli": {*BUILT_ON, "history", "api", *DOMAIN},
    "__main__": {"cli"},
    "__init__": {"api", "ruleset"},
}
EVERYBODY = {"model", "errors", "lazily"}

PROCESSES = {"subprocess", "multiprocessing", "pty"}
SOCKETS = {"socket", "http", "urllib", "ssl", "socketserver"}
EXECUTORS = {"concurrent"}
MAY_START_PROCESSES = {"collect", "run"}
MAY_OPEN_SOCKETS = {"collect", "wait", "history", "sweep"}
MAY_USE_EXECUTORS = {"ruleset/scan", "sweep", "collect"}
THIRD_PARTY = {  # where the design names the only place
    "tabulate": {"report/text", "report/comparison", "report/grid", "cli/rules"},
    "dateutil": {"clock"},
    "rapidfuzz": {"units", "ruleset", "cli/rules_known", "reason"},
    "click": {"cli"},
    "yaml": {"ruleset"},
    "pyparsing": {"ruleset", "parse", "clock"},
}
SERVERS = re.compile(r"sglang|vllm|ollama|trtllm|tensorrt[-_]?llm", re.IGNORECASE)
MOST_LINES = 600
MOST_BYTES = 24_000


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def room_of(name: str) -> str:
    return name.split("/", maxsplit=1)[0]


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything imported, in functions too; ``from forensics import x`` counts as ``forensics.x``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import on line {node.lineno}"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def breaches(name: str, tree: ast.AST) -> list[str]:
    """What a module imports and may not."""
    room = room_of(name)
    found = []
    for line, imported in imports_of(tree):
        top, _, rest = imported.partition(".")
        where = f"forensics/{name}.py:{line}: {imported}"
        if top == "forensics":
            goal = rest.split(".", maxsplit=1)[0]
            if goal in MAY_IMPORT and goal not in {room, *EVERYBODY, *MAY_IMPORT[room]}:
                found.append(f"{where}: {room} may not import {goal}")
            continue
        for names, places, what in (
            (PROCESSES, MAY_START_PROCESSES, "processes"),
            (SOCKETS, MAY_OPEN_SOCKETS, "sockets"),
            (EXECUTORS, MAY_USE_EXECUTORS, "executors"),
            *(({library}, places, library) for library, places in THIRD_PARTY.items()),
        ):
            if top in names and imported != "urllib.parse" and not imported.startswith("urllib.parse.") and not {room, name} & places:
                found.append(f"{where}: {what} may be used in {', '.join(sorted(places))} only")
    return found


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_module_imports_only_what_the_design_allows(path: Path) -> None:
    name = name_of(path)
    assert room_of(name) in MAY_IMPORT, f"the design has no room for {name}: add it there and here"
    assert breaches(name, tree_of(path)) == []


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_no_python_names_a_server(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [f"{number}: {line.strip()}" for number, line in enumerate(lines, 1) if SERVERS.search(line)] == []


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_process_is_forked_in_one_place_only(path: Path) -> None:
    forks = [node.lineno for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute) and node.attr in {"fork", "forkpty", "posix_spawn"}]
    assert not forks or name_of(path) == "ruleset/spread"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_module_stays_small(path: Path) -> None:
    text = path.read_bytes()
    assert text.count(b"\n") <= MOST_LINES
    assert len(text) <= MOST_BYTES


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_module_says_what_it_does(path: Path) -> None:
    assert ast.get_docstring(tree_of(path)), "no module docstring"


def test_model_and_errors_use_the_standard_library_only() -> None:
    import sys

    for path in (*(PACKAGE / "model").glob("*.py"), PACKAGE / "errors.py"):
        tops = {imported.split(".")[0] for _, imported in imports_of(tree_of(path))}
        assert tops <= {"forensics", *sys.stdlib_module_names}, path.name


def test_the_rooms_make_no_circle() -> None:
    done: set[str] = set()
    waiting = dict(MAY_IMPORT)
    while ready := [room for room, needs in waiting.items() if needs <= done]:
        done.update(ready)
        for room in ready:
            del waiting[room]
    assert not waiting


@pytest.mark.parametrize(
    ("name", "source", "breach"),
    [
        ("parse/frame", "from forensics.ruleset.scan import scan", "parse may not import ruleset"),
        ("ruleset/scan", "from forensics import parse", "ruleset may not import parse"),
        ("reason/lives", "def f():\n    import forensics.api", "reason may not import api"),
        ("report/text", "from forensics.collect import plan", "report may not import collect"),
        ("report/text", "import subprocess", "processes may be used in"),
        ("reason/lives", "from urllib.request import urlopen", "sockets may be used in"),
        ("parse/frame", "import yaml", "yaml may be used in"),
    ],
    ids=lambda value: value if "/" in value and "\n" not in value and " " not in value else "",
)
def test_a_breach_would_be_found(name: str, source: str, breach: str) -> None:
    assert any(breach in found for found in breaches(name, ast.parse(source)))


def test_help_imports_nothing_heavy() -> None:
    import subprocess
    import sys

    heavy = "{'yaml', 'rapidfuzz', 'pyparsing', 'dateutil', 'tabulate', 'forensics.api', 'forensics.model'}"
    code = (
        f"import sys; from forensics.cli.main import main; assert main(['--help']) == 0; print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_the_public_api_is_lazy_and_complete() -> None:
    import subprocess
    import sys

    code = (
        "import sys, forensics; assert 'forensics.api' not in sys.modules and 'yaml' not in sys.modules\n"
        "assert all(getattr(forensics, name) is not None for name in forensics.__all__)\n"
        "assert forensics.load_rules().rules and callable(forensics.diagnose)\n"
        "try: forensics.nothing_of_that_name\nexcept AttributeError: pass\nelse: raise SystemExit('no AttributeError')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, check=True)
