"""Texts that are about no service, and documents that only talk about failures: no false alarm, and a plain word about what was seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from forensics.model import Cause, Diagnosis, Status
from tests.unit.reason.telling import diagnosed, folder

UNRELATED = Path(__file__).parents[2] / "data/unrelated"
LABELS = yaml.safe_load((UNRELATED / "labels.yaml").read_text(encoding="utf-8"))
FIRM = (Status.SUPPORTED, Status.ESTABLISHED)

REAL = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static=0.88"
ISSUE = f"""\
### Describe the bug

Hi, since the update my server does not start any more. I have tried to lower the fraction, and it did not help.

```
{REAL}
```

Has somebody seen this before?
"""
CHAT = f"""\
ana: my server does not start any more, I get this:
{REAL}
ben: then you have to raise the fraction
"""
MAIL = f"""\
Hi,

this is what I see:

{REAL}

Thanks, Ana
"""
TRACEBACK = f"""\
Traceback (most recent call last):
  File "/opt/server/pool.py", line 12, in allocate
    raise RuntimeError("Not enough memory. Please try to increase --mem-fraction-static.")
{REAL}
"""
BUSY = "2025-03-11 02:{:02d}:00 INFO worker: job {} done\n"


def _of(name: str) -> Diagnosis:
    return diagnosed(UNRELATED / name)


def test_every_text_has_a_label() -> None:
    assert set(LABELS) == {p.name for p in UNRELATED.iterdir()} - {"labels.yaml"}
    assert len(LABELS) >= 40


@pytest.mark.parametrize("name", sorted(LABELS))
def test_a_text_about_no_service_raises_no_alarm(name: str) -> None:
    found = _of(name)
    assert found.status not in FIRM, (str(found.cause), found.evidence[:1])
    assert found.status is Status.POSSIBLE or str(found.cause) in LABELS[name].get("causes", ["unknown"])
    assert not [h for h in found.hypotheses if h.status in FIRM]


@pytest.mark.parametrize("name", sorted(LABELS))
def test_the_headline_says_what_was_given(name: str) -> None:
    assert re.search(LABELS[name]["saw"], _of(name).headline)


@pytest.mark.parametrize("text", [ISSUE, CHAT, MAIL, TRACEBACK], ids=["issue", "chat", "mail", "traceback"])
def test_a_printed_line_that_somebody_pasted_is_still_read(text: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, paste=text))
    assert (found.cause, found.status in FIRM) == (Cause.GPU_OOM_INIT, True)


def test_what_a_document_tells_of_is_shown_as_no_more_than_possible() -> None:
    found = _of("postmortem.md")
    told = [h for h in found.hypotheses if h.cause is Cause.GPU_OOM_INIT]
    assert [h.status for h in told] == [Status.POSSIBLE]
    assert "no program printed" in told[0].against[0]


@pytest.mark.parametrize("text", ["", "\n\n  \n\n"], ids=["empty", "blank"])
def test_an_empty_file_is_called_empty(text: str, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(text, encoding="utf-8")
    found = diagnosed(tmp_path / "log.txt")
    assert found.cause is Cause.EVIDENCE_MISSING
    assert found.headline.startswith("log.txt: there is nothing in it")


def test_a_program_that_wrote_on_for_long_did_not_die_of_a_line(tmp_path: Path) -> None:
    before = "".join(BUSY.format(n, n) for n in range(20))
    line = "2025-03-11 02:19:30 ERROR worker: OSError: [Errno 28] No space left on device: '/var/tmp/x'\n"
    (tmp_path / "went-on.log").write_text(before + line + "".join(BUSY.format(20 + n % 40, n) for n in range(40)), encoding="utf-8")
    (tmp_path / "ended.log").write_text(before + line, encoding="utf-8")
    assert diagnosed(tmp_path / "went-on.log").status not in FIRM
    assert diagnosed(tmp_path / "ended.log").cause is Cause.DISK_FULL


@pytest.mark.parametrize("kind", ["bench", "kernel", "journal"])
@pytest.mark.parametrize("name", ["readme.md", "issue.md", "mail.txt", "german.txt", "novel.txt", "source.c", "chat.txt"])
def test_a_document_is_no_evidence_under_any_name(name: str, kind: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, **{kind: (UNRELATED / name).read_text(encoding="utf-8")}))
    assert found.status not in FIRM, (str(found.cause), found.evidence[:1])
