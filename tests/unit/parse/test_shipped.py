"""Exports of log collectors, in the forms in which they come, most of them newest first."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from forensics import clock
from forensics.model import Diagnosis, PartKind
from forensics.parse import shipped
from tests.unit.reason.telling import diagnosed

SAMPLE = Path(__file__).resolve().parents[3] / "samples" / "silent-crash" / "journal.txt"
UNIT = "sglang-qwen.service"


class Row:
    """A line of the sample's journal in its parts."""

    def __init__(self, number: int, line: str) -> None:
        found = re.fullmatch(r"(\S+)\+0000 (\S+) ([^\[:]+)\[(\d+)\]: (.*)", line)
        assert found is not None
        self.line = line
        self.host, self.ident, self.pid, self.text = found[2], found[3], found[4], found[5]
        self.iso = f"{found[1]}.{number:03d}Z"  # a collector keeps the order of one second
        self.ms = round(datetime.fromisoformat(self.iso.replace("Z", "+00:00")).timestamp() * 1000)
        self.kibana = datetime.fromtimestamp(self.ms / 1000, tz=timezone.utc).strftime("%b %d, %Y @ %H:%M:%S.") + f"{number:03d}"
        self.unit = "init.scope" if self.ident == "systemd" else UNIT


ROWS = [Row(number, line) for number, line in enumerate(SAMPLE.read_text(encoding="utf-8").splitlines()[-45:])]
SERVER = [row for row in ROWS if row.ident != "systemd"]


def lines(values: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def table(head: list[str], rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()


OF_SERVER = {
    "text of Grafana": "".join(f"{r.iso}\t{r.text}\n" for r in reversed(SERVER)),
    "CSV of Loki": table(["Time", "Line"], [(f"{r.ms}000000", r.text) for r in reversed(SERVER)]),
    "CSV of Kibana": table(["@timestamp", "message"], [(r.kibana, r.text) for r in reversed(SERVER)]),
    "CSV of CloudWatch": table(["timestamp", "message"], [(r.ms, r.text) for r in SERVER]),
    "events of CloudWatch": json.dumps(
        {"events": [{"timestamp": r.ms, "message": r.text, "ingestionTime": 1} for r in SERVER], "nextForwardToken": "f/1"}, indent=4
    ),
    "lines of Elastic": lines([{"@timestamp": r.iso, "message": r.text, "host": {"name": r.host}} for r in reversed(SERVER)]),
    "lines of a logger": lines([{"ts": r.iso, "level": "info", "msg": r.text} for r in SERVER]),
    "a log turned by tac": "".join(f"{r.text}\n" for r in reversed(SERVER)),
}
OF_JOURNAL = {
    "vector": lines([
        {"SYSLOG_IDENTIFIER": r.ident, "_COMM": r.ident, "_PID": r.pid, "_SYSTEMD_UNIT": r.unit, "_TRANSPORT": "journal" if r.ident == "systemd" else "stdout", "_UID": "0",
         "__REALTIME_TIMESTAMP": str(r.ms * 1000), "host": r.host, "message": r.text, "source_type": "journald", "timestamp": r.iso} for r in ROWS
    ]),
    "fluent-bit": lines([{"date": r.ms / 1000, "MESSAGE": r.text, "_SYSTEMD_UNIT": r.unit, "SYSLOG_IDENTIFIER": r.ident, "_PID": r.pid} for r in ROWS]),
    "lines of Loki": lines([{"labels": {"unit": r.unit, "hostname": r.host}, "line": r.text, "timestamp": r.iso} for r in reversed(ROWS)]),
    "hits of Elastic": json.dumps([
        {"_index": "x", "_source": {"@timestamp": r.iso, "message": r.text, "systemd": {"unit": r.unit}, "process": {"pid": int(r.pid)}, "syslog": {"identifier": r.ident}}}
        for r in reversed(ROWS)
    ], indent=1),
    "a syslog that was shipped": lines([{"@timestamp": r.iso, "message": r.line} for r in ROWS]),
}  # fmt: skip


def of(folder: Path, text: str) -> Diagnosis:
    (folder / "export.txt").write_text(text, encoding="utf-8")
    return diagnosed(folder)


@pytest.mark.parametrize("text", OF_SERVER.values(), ids=OF_SERVER.keys())
def test_a_log_says_the_same_in_every_export(text, tmp_path):
    found = of(tmp_path, text)
    assert (str(found.cause), str(found.phase), found.coverage["log"]) == ("gpu-oom-init", "kv-pool", "given")
    assert found.evidence[0].text == "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    assert found.died_after_s == pytest.approx(24.0, abs=0.1)


@pytest.mark.parametrize("text", OF_JOURNAL.values(), ids=OF_JOURNAL.keys())
def test_a_journal_keeps_its_unit_its_pids_and_its_systemd_in_every_export(text, tmp_path):
    found = of(tmp_path, text)
    assert (found.unit, str(found.cause), found.coverage["journal"]) == (UNIT, "gpu-oom-init", "given")
    assert (found.end.signal, str(found.end.by)) == ("SIGKILL", "itself")
    assert found.died_after_s == pytest.approx(33.0, abs=0.1)


def test_an_entry_is_cited_by_the_line_it_stands_on(tmp_path):
    text = OF_SERVER["lines of a logger"]
    root = of(tmp_path, text).evidence[0]
    assert root.text in json.loads(text.split("\n")[root.line - 1])["msg"]


def test_a_message_of_several_lines_in_a_table_is_one_entry(tmp_path):
    message = '[2026-05-09 10:15:50 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File "x.py", line 1\nRuntimeError: Not enough memory. Please try to increase --mem-fraction-static.'
    root = of(
        tmp_path, table(["timestamp", "message"], [(1778321748000, "[2026-05-09 10:15:48 TP0] Load weight begin."), (1778321750123, message)])
    ).evidence[0]
    assert (root.line, root.at) == (3, 1778321750.123)


def test_entries_that_share_a_line_are_counted_and_that_is_said(tmp_path):
    found = of(tmp_path, json.dumps([{"timestamp": r.ms, "message": r.text} for r in SERVER]))
    assert str(found.cause) == "gpu-oom-init"
    assert any("entries that are counted" in w.text for w in found.warnings)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"request_throughput": 1.0, "completed": 3, "date": "20260509-101550"}\n', id="a result of a benchmark"),
        pytest.param('{"id": 1, "timestamp": "2026-05-09T10:15:50Z"}\n', id="rows without a message"),
        pytest.param('{"log":"x\\n","stream":"stderr","time":"2026-05-09T10:15:50Z"}\n', id="a file of Docker"),
        pytest.param('{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1778321750000000","MESSAGE":"x"}\n', id="a journal in json"),
        pytest.param("[2026-05-09 10:15:50] a, b\n", id="a log with commas"),
        pytest.param("name,value\na,1\n", id="some table"),
        pytest.param("{" * 5000, id="braces without end"),
        pytest.param("a\tb\n", id="a tab"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_is_no_export_is_left_alone(text):
    assert shipped.export_of(text.encode()) is None


@pytest.mark.parametrize("text", [*OF_SERVER.values(), *OF_JOURNAL.values()], ids=[*OF_SERVER, *OF_JOURNAL])
def test_an_export_is_known_by_its_head_and_a_log_is_not(text):
    assert shipped.looks(text[: 1 << 14].encode()) is not text.startswith("[2026")
    assert not shipped.looks(b"2026-05-09 10:15:50, INFO: a, b\tc\n" * 100)
    assert not shipped.looks(b"")


def test_an_error_beside_a_message_is_part_of_it():
    export = shipped.export_of(b'{"ts":1778321750.5,"level":"error","msg":"failed","error":"CUDA out of memory"}\n')
    assert export is not None
    assert export.kind is PartKind.SERVER
    assert json.loads(export.text) == {"__REALTIME_TIMESTAMP": "1778321750500000", "MESSAGE": "failed\nCUDA out of memory"}


@pytest.mark.parametrize(
    ("value", "at"),
    [
        (None, None), (True, None), ("", None), ("12345", None), ("soon", None), ({}, None), (1e300, None),
        (1778321750, 1778321750.0), (1778321750123, 1778321750.123), ("1778321750123456", 1778321750.123456), ("1778321750123456789", 1778321750.123456789), (1778321750.5, 1778321750.5),
        ("2026-05-09T10:15:50.123456789Z", 1778321750.123456), ("2026-05-09 10:15:50.5", 1778321750.5), ("May 9, 2026 @ 10:15:50.500", 1778321750.5),
    ],
)  # fmt: skip
def test_times_of_exports_are_read(value, at):
    assert clock.parse_exported(value) == (pytest.approx(at) if at is not None else None)


def test_plain_lines_between_json_ones_are_read_and_stand_where_they_stood(tmp_path):
    told = '{"timestamp":"2026-01-02T10:00:0%d.000000Z","level":"INFO","fields":{"message":"%s"},"target":"launcher"}'
    lines = (
        told % (0, "Starting shard"),
        "Traceback (most recent call last):",
        "  print({1: 2})",
        "RuntimeError: weight a.b.weight does not exist",
        told % (1, "Shutting down"),
    )
    export = shipped.export_of("\n".join(lines).encode())
    assert export is not None
    found = [json.loads(line)["MESSAGE"] for line in export.text.decode().splitlines()]
    assert found == ["Starting shard", *lines[1:4], "Shutting down"]
    (tmp_path / "log.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = diagnosed(tmp_path)
    assert (said.cause, said.evidence[0].line) == ("model-load", 4)


def test_a_line_in_the_midst_of_which_a_brace_stands_is_no_object():
    told = '{"time":"2026-01-02T10:00:00Z","msg":"one"}'
    export = shipped.export_of(f"{told}\nleft {{over}} at the end\n{told}".encode())
    assert export is not None
    assert [json.loads(line)["MESSAGE"] for line in export.text.decode().splitlines()] == ["one", "left {over} at the end", "one"]


def test_what_is_left_of_a_line_behind_an_object_is_no_line_of_its_own():
    told = '{"time":"2026-01-02T10:00:00Z","msg":"one"}'
    export = shipped.export_of(f"{told},\n{told} \n\n{told}\n".encode())
    assert export is not None
    assert [json.loads(line)["MESSAGE"] for line in export.text.decode().splitlines() if line] == ["one", "one", "one"]
