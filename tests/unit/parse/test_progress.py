"""Progress bars that write over themselves, and messages that are not in what was saved."""

from __future__ import annotations

from pathlib import Path

from forensics.model import PartKind
from tests.unit.parse.framing import DATA, blocks_of, frames_of, section_of, written
from tests.unit.reason.telling import diagnosed, folder

BAR = "\r".join(f"Loading safetensors checkpoint shards: {p:3d}% Completed | {p * 14 // 100}/14 [00:00<00:14,  1.10it/s]" for p in (0, 25, 50, 75))
HEAD = "2026-05-09T10:15:18+0000 gpu01 systemd[1]: Started sglang-qwen.service - SGLang Qwen.\n"
LINE = "2026-05-09T10:15:{second}+0000 gpu01 python[4822]: {text}\n"


def test_what_was_logged_while_a_bar_stood_there_is_of_its_rank(tmp_path: Path) -> None:
    text = f"{BAR}\r[2026-05-09 10:15:50 TP3] Load weight end.\n"
    (frame,) = frames_of(written(tmp_path, text, part=PartKind.SERVER))
    assert (frame.rank, frame.inner) == ("TP3", "2026-05-09 10:15:50")
    assert frame.text.split("\r")[-1] == "Load weight end."


def test_a_line_written_over_is_cited_once_and_as_a_terminal_shows_it(tmp_path: Path) -> None:
    said = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    found = diagnosed(folder(tmp_path, journal=HEAD + LINE.format(second=40, text=BAR) + LINE.format(second=50, text=f"{said}\r{said}")))
    texts = [line.text for line in found.evidence if line.line == 3]
    assert texts == [said]
    assert [line.text for line in found.evidence if line.line == 2] == [BAR.split("\r")[-1]]


def test_progress_is_that_of_the_last_update(tmp_path: Path) -> None:
    text = HEAD + LINE.format(second=34, text="[2026-05-09 10:15:34 TP0] Load weight begin. avail mem=94.30 GB") + LINE.format(second=40, text=BAR)
    found = diagnosed(folder(tmp_path, journal=text, is_active="active\n"))
    assert found.progress is not None
    assert (found.progress.done, found.progress.of) == (10, 14)


def test_blob_data_is_counted_in_text_and_a_message_of_that_name_is_not(tmp_path: Path) -> None:
    text = (
        LINE.format(second=40, text="[85B blob data]")
        + LINE.format(second=41, text="[1.2K blob data]")
        + LINE.format(second=42, text="see [85B blob data] above")
    )
    assert sum(block.blobs for block in blocks_of(written(tmp_path, text))) == 2


def test_messages_that_are_null_are_counted(tmp_path: Path) -> None:
    text = '{"MESSAGE":null,"_PID":"1"}\n{"_PID":"1","MESSAGE" : null}\n{"MESSAGE":"null"}\n'
    assert sum(block.blobs for block in blocks_of(written(tmp_path, text))) == 2


def test_a_journal_of_a_real_host_counts_as_many_as_it_shows() -> None:
    name = "oom-memorymax.short.txt"
    shown = (DATA / name).read_text(encoding="utf-8").count(" blob data]")
    assert sum(block.blobs for block in blocks_of(section_of(DATA / name))) == shown > 0


def test_unsaved_messages_are_told_only_where_the_words_are_missing(tmp_path: Path) -> None:
    blob = LINE.format(second=41, text="[85B blob data]")
    end = LINE.format(second=51, text="bye").replace(
        "python[4822]: bye", "systemd[1]: sglang-qwen.service: Main process exited, code=exited, status=1/FAILURE"
    )
    unknown = diagnosed(folder(tmp_path / "a", journal=HEAD + blob + end))
    assert [w.text for w in unknown.warnings if w.kind == "blobs"] == [
        "one message is not in journal.txt (blob data: colours, progress bars, or too long): journalctl -a shows them"
    ]
    said = LINE.format(second=50, text="RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")
    assert not [w for w in diagnosed(folder(tmp_path / "b", journal=HEAD + blob + said + end)).warnings if w.kind == "blobs"]
