"""None of two hundred planted secrets survives in a bundle, a report or the JSON, as they are made when nobody says otherwise."""

from __future__ import annotations

from pathlib import Path

from forensics import api, collect, redact, ruleset
from forensics.collect import order
from forensics.model import Advice, Cause, Change, Diagnosis, Evidence, Health, Hypothesis, Moment, PartKind, Status, Warn
from forensics.report import json as json_report
from forensics.report import markdown, text
from tests.unit.redact import corpus

SECRETS = corpus.secrets()
STARTED = "2026-05-09T10:15:00+0000 gpu01 systemd[1]: Started llm.service - LLM.\n"
ENDED = "".join(
    f"2026-05-09T10:15:30+0000 gpu01 systemd[1]: llm.service: {what}\n"
    for what in ("Main process exited, code=exited, status=1/FAILURE", "Failed with result 'exit-code'.")
)


def surviving(shown: str) -> list[tuple[str, str]]:
    return [(secret.kind, secret.line) for secret in SECRETS if any(part in shown for part in secret.parts)]


def reports(diagnosis: Diagnosis) -> str:
    """Everything that the command line prints or writes of a diagnosis by default."""
    shown = [text.render(diagnosis, width=120, verbose=True), text.render(diagnosis), markdown.render(diagnosis), json_report.render(diagnosis)]
    return "\n".join(shown)


def unwrapped(shown: str) -> str:
    return "".join(shown.split())


def test_the_corpus_is_what_it_is_said_to_be() -> None:
    assert len(SECRETS) >= 200
    assert len({secret.kind for secret in SECRETS}) >= 15
    assert corpus.secrets() == SECRETS
    assert len({part for secret in SECRETS for part in secret.parts}) >= len(SECRETS)


def test_all_of_them_are_in_the_capture_and_none_in_the_bundle(tmp_path: Path) -> None:
    capture = corpus.capture(tmp_path / "raw")
    raw = "".join(file.read_text(encoding="utf-8", errors="replace") for file in (tmp_path / "raw").iterdir())
    assert len(surviving(raw)) == len(SECRETS)
    for name, mask in (("all", redact.Redactor.for_capture(capture)), ("secrets", redact.secrets_in_bytes)):
        collect.save(capture, tmp_path / name, mask=mask)
        for file in (tmp_path / name).iterdir():
            assert surviving(file.read_text(encoding="utf-8", errors="replace")) == [], file.name


def test_what_is_no_secret_is_still_in_the_bundle(tmp_path: Path) -> None:
    capture = corpus.capture(tmp_path / "raw")
    collect.save(capture, tmp_path / "saved", mask=redact.Redactor.for_capture(capture))
    again = collect.load(tmp_path / "saved")
    assert [s.name for s in again.sections] == [s.name for s in capture.sections]
    for before, after in zip(capture.sections, again.sections, strict=True):
        assert after.path.read_bytes().count(b"\n") == before.path.read_bytes().count(b"\n"), before.name
    journal = next(s for s in again.sections if s.part is PartKind.JOURNAL_EXPORT).path.read_bytes()
    export = next(s for s in capture.sections if s.part is PartKind.JOURNAL_EXPORT).path.read_bytes()
    assert len(list(order.export_entries(journal))) == len(list(order.export_entries(export))) == export.count(b"__CURSOR=")
    assert journal.count(b"_BOOT_ID=3f0c2b6d7e8a4c51b2d39a60f1e2c3d4\n") == export.count(b"__CURSOR=")


def test_none_is_in_a_report_that_cites_their_lines() -> None:
    lines = [part for secret in SECRETS for part in secret.line.split("\n")]
    every = Diagnosis(
        target="t", headline=lines[0], health=Health.FAILED, cause=Cause.UNKNOWN,
        evidence=tuple(Evidence(source="journal", line=n, text=line) for n, line in enumerate(lines, 1)),
        hypotheses=(Hypothesis(cause=Cause.HOST_OOM, status=Status.RULED_OUT, against=tuple(lines), next=lines[3]),),
        advice=tuple(Advice(text=line, command=line) for line in lines),
        changed=tuple(Change(what="--x", before=line, after=line, since=line) for line in lines),
        timeline=tuple(Moment(at=1.0, source="journal", text=line) for line in lines),
        warnings=tuple(Warn(kind="k", text=line, asked=line) for line in lines),
    )  # fmt: skip
    assert len(surviving(json_report.render(every, mask=str).replace("\\", ""))) == len(SECRETS)
    shown = reports(every)
    assert surviving(shown) == []
    assert surviving(unwrapped(shown)) == []


def test_none_is_in_the_report_of_a_service_that_died_over_it(tmp_path: Path) -> None:
    rules = ruleset.load()
    cited = 0
    for number in range(0, len(SECRETS), 8):
        told = [part for secret in SECRETS[number : number + 2] for part in secret.line.split("\n")]
        lines = "".join(f"2026-05-09T10:15:{k + 1:02d}+0000 gpu01 python[4711]: ERROR: cannot start: {line}\n" for k, line in enumerate(told))
        (tmp_path / "journal.txt").write_text(STARTED + lines + ENDED)
        (target,) = collect.parse_targets([str(tmp_path)])
        with collect.open_target(target) as session:
            (capture,) = api.look(session, rules, unit=None, since=None, progress=lambda text: None)
            found = api.diagnose_capture(capture, rules)
            session.discard()
        cited += len(surviving(json_report.render(found, mask=str).replace("\\", "")))
        assert surviving(unwrapped(reports(found))) == []
    assert cited >= 20
