from __future__ import annotations

import os
from pathlib import Path

import pytest

from forensics.collect import parse_targets
from forensics.errors import TargetError, UsageError
from forensics.model import TargetKind


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "word",
    [
        "-oProxyCommand=touch x", "--", "-v", "user@-oProxyCommand=x", "ssh:-oProxyCommand=x", "ssh:", "a b", "host;reboot", "$(reboot)", "`id`", "host|id", "a\nb",
        "host'", 'host"', "host<x", "ho*st", "ssh://-oProxyCommand=x/", "ssh://host:22/path", "ssh:a/b", "höst", "",
    ],
)  # fmt: skip
def test_a_word_that_ssh_or_a_shell_could_misread_is_no_host(word: str) -> None:
    with pytest.raises(UsageError):
        parse_targets([word])


@pytest.mark.parametrize(
    "word",
    [
        "docker:", "docker:-it", "docker:--help", "docker:a b", "docker:a/b", "docker:$(id)", "docker:.a", "docker:ä", "podman:-a", "podman:a;b", "podman:a\nb", f"docker:{'a' * 254}",
        "k8s:", "k8s:pod", "k8s:-n/pod", "k8s:ns/-pod", "k8s:ns/pod/-c", "k8s:ns/pod/c/d", "k8s:NS/pod", "k8s:ns/Pod", "k8s:ns/pod_1", "k8s:ns//c", "k8s:ns/pod-", "k8s:n.s/pod",
        f"k8s:ns/{'a' * 64}", f"k8s:ns/{'a.' * 127}a", "k8s:--kubeconfig=x/pod",
    ],
)  # fmt: skip
def test_a_word_that_a_client_could_take_for_an_option_is_no_container(word: str) -> None:
    with pytest.raises(UsageError):
        parse_targets([word])


@pytest.mark.parametrize(
    ("word", "kind", "inside"),
    [
        ("docker:web_1.old-a", TargetKind.DOCKER, ("web_1.old-a",)),
        ("podman:0aBc", TargetKind.PODMAN, ("0aBc",)),
        ("k8s:serving/vllm-7c9d5b6f4d-x2x7q", TargetKind.K8S, ("serving", "vllm-7c9d5b6f4d-x2x7q")),
        ("k8s:default/my.pod-0/main", TargetKind.K8S, ("default", "my.pod-0", "main")),
    ],
)
def test_containers_are_said_outright(word: str, kind: TargetKind, inside: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "docker:web_1.old-a").write_text("a file of that name has a path\n")
    [target] = parse_targets([word])
    assert (target.kind, target.inside, target.name, target.host) == (kind, inside, word, None)


def test_a_path_that_does_not_exist_is_not_taken_for_a_host() -> None:
    with pytest.raises(TargetError, match="no such file"):
        parse_targets(["logs/journal.txt"])
    with pytest.raises(TargetError, match="no such file"):
        parse_targets(["journal.txt"])


@pytest.mark.parametrize(
    "word", ["gpu01", "root@gpu01", "gpu01.example.org", "10.0.0.7", "fe80::1%eth0", "[::1]", "ad\\user@gpu-01", "user@realm@host"]
)
def test_a_word_that_is_no_path_is_an_ssh_destination(word: str) -> None:
    [target] = parse_targets([word])
    assert (target.kind, target.host, target.name) == (TargetKind.SSH, word, word)


def test_a_host_can_be_said_outright(tmp_path: Path) -> None:
    (tmp_path / "gpu01").write_text("a file of that name\n")
    assert parse_targets(["gpu01"])[0].kind is TargetKind.FILES
    assert parse_targets(["ssh:gpu01"])[0].host == "gpu01"
    assert parse_targets(["ssh://root@gpu01:2222"])[0].host == "ssh://root@gpu01:2222"


def test_this_machine_is_local_and_a_file_of_that_name_has_a_path(tmp_path: Path) -> None:
    (tmp_path / "local").write_text("x\n")
    assert parse_targets(["local"])[0].kind is TargetKind.LOCAL
    assert parse_targets(["./local"])[0].kind is TargetKind.FILES


def test_all_files_and_standard_input_together_are_one_target_at_the_first_ones_place(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("x\n")
    targets = parse_targets(["gpu01", "a.txt", "gpu02", "-", "b.txt", "-"])
    assert [t.kind for t in targets] == [TargetKind.SSH, TargetKind.FILES, TargetKind.SSH]
    assert targets[1].paths == (Path("a.txt"), Path("-"), Path("b.txt"))


def test_each_folder_is_one_target_and_a_saved_capture_is_known_by_its_manifest(tmp_path: Path) -> None:
    for name in ("plain", "saved", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "saved/manifest.json").write_text('{"schema": "ddforensics/capture/9"}')
    (tmp_path / "other/manifest.json").write_text('{"name": "somebody else"}')
    assert [t.kind for t in parse_targets(["plain", "saved", "other"])] == [TargetKind.FILES, TargetKind.BUNDLE, TargetKind.FILES]


def test_a_target_that_is_said_twice_is_one(tmp_path: Path) -> None:
    (tmp_path / "evidence").mkdir()
    assert [t.name for t in parse_targets(["gpu01", "evidence", "gpu01", "evidence", "local", "local"])] == ["gpu01", "evidence", "local"]


@pytest.mark.parametrize("name", ["x.tar", "x.tar.zst", "x.TGZ", "x.tar.bz2", "x.txz"])
def test_an_archive_is_a_target_of_its_own_and_a_pipe_of_that_name_is_a_pipe(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    (tmp_path / "journal.txt").touch()
    words = [str(tmp_path / "journal.txt"), str(tmp_path / name)]
    assert [(t.kind, t.name) for t in parse_targets(words)] == [(TargetKind.FILES, words[0]), (TargetKind.BUNDLE, words[1])]
    (tmp_path / name).unlink()
    with pytest.raises(TargetError, match="no such file"):
        parse_targets([words[1]])
    os.mkfifo(tmp_path / name)
    assert [t.kind for t in parse_targets(words)] == [TargetKind.FILES]
