"""The build hook: a wheel is made whatever becomes of the table in C."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


class _Said(list[str]):
    def display_warning(self, text: str) -> None:
        self.append(text)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook without hatchling, which only a build has."""
    interface = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object  # type: ignore[attr-defined]
    for name in ("hatchling", "hatchling.builders", "hatchling.builders.hooks", "hatchling.builders.hooks.plugin"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.CompiledRules()
    made.root, made.app = str(ROOT), _Said()
    monkeypatch.delenv("CC", raising=False)
    return made


def _compiler(folder: Path, script: str) -> str:
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'one: note' >&2; echo 'two: fatal error: Python.h: No such file' >&2; exit 1", "two: fatal error: Python.h: No such file"),
        ("exit 3", "compiler ends with 3"),
        ("printf '\\n \\n' >&2; exit 1", "compiler ends with 1"),
        ("printf 'caf\\351' >&2; exit 1", "caf�"),
    ],
)
def test_a_compiler_that_fails_costs_only_the_table(hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str) -> None:
    monkeypatch.setenv("CC", _compiler(tmp_path, script))
    assert hook._table(tmp_path) is None
    assert len(hook.app) == 1
    assert hook.app[0].startswith("no table in C")
    assert hook.app[0].endswith(said)


@pytest.mark.parametrize("compiler", ["/nowhere/cc", '"'])
def test_no_compiler_costs_only_the_table(hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str) -> None:
    monkeypatch.setenv("CC", compiler)
    assert hook._table(tmp_path) is None
    assert len(hook.app) == 1


def test_no_path_at_all_costs_only_the_table(hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hook._table(tmp_path) is None
    assert len(hook.app) == 1


def test_where_the_compiler_of_this_python_is_not_there_another_is_taken(hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pythons that are fetched ready-made name the one of the machine that they were built on."""
    import sysconfig

    monkeypatch.setitem(sysconfig.get_config_vars(), "LDSHARED", "/opt/toolchain/bin/clang -shared")
    asked: list[list[str]] = []

    def run(arguments: list[str], **_: object) -> None:
        asked.append(arguments)

    monkeypatch.setattr(subprocess, "run", run)
    assert hook._table(tmp_path) is not None
    assert asked[0][:2] == ["cc", "-shared"]
    monkeypatch.setenv("CC", "ccache gcc")
    assert hook._table(tmp_path) is not None
    assert asked[1][:3] == ["ccache", "gcc", "-shared"]
