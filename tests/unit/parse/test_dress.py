"""Pastes: what stands around the lines comes off, and the lines keep their numbers."""

from __future__ import annotations

import html

import pytest

from forensics.parse import dress
from tests.unit.reason.telling import diagnosed

STATUS = """\
× sglang-qwen.service - SGLang Qwen
     Loaded: loaded (/etc/systemd/system/sglang-qwen.service; enabled; preset: enabled)
     Active: failed (Result: signal) since Sat 2026-05-09 10:15:51 UTC; 9min ago
   Duration: 32.969s
    Process: 4711 ExecStart=/opt/sglang/bin/python -m sglang.launch_server --model-path /models/Qwen3-32B --tp 1 --port 30000 --mem-fraction-static 0.88 (code=killed, signal=KILL)
   Main PID: 4711 (code=killed, signal=KILL)
        CPU: 41.228s
"""
JOURNAL = """\
2026-05-09T10:15:18+0000 gpu01 systemd[1]: Started sglang-qwen.service - SGLang Qwen.
2026-05-09T10:15:34+0000 gpu01 python[4822]: [2026-05-09 10:15:34 TP0] Load weight begin. avail mem=94.30 GB
2026-05-09T10:15:50+0000 gpu01 python[4822]: [2026-05-09 10:15:50 TP0] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=10.92 GB, mem usage=83.38 GB.
2026-05-09T10:15:50+0000 gpu01 python[4822]: [2026-05-09 10:15:50 TP0] Scheduler hit an exception: Traceback (most recent call last):
2026-05-09T10:15:50+0000 gpu01 python[4822]:   File "/opt/sglang/lib/python3.11/site-packages/sglang/srt/model_executor/model_runner.py", line 1189, in init_memory_pool
2026-05-09T10:15:50+0000 gpu01 python[4822]: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
2026-05-09T10:15:51+0000 gpu01 systemd[1]: sglang-qwen.service: Main process exited, code=killed, status=9/KILL
2026-05-09T10:15:51+0000 gpu01 systemd[1]: sglang-qwen.service: Failed with result 'signal'.
"""
PASTE = f"""\
user@gpu01:~$ systemctl is-active sglang-qwen.service
failed
user@gpu01:~$ journalctl -u sglang-qwem.service --no-pager
-- No entries --
user@gpu01:~$ systemctl status sglang-qwen.service --no-pager
{STATUS}user@gpu01:~$ journalctl -u sglang-qwen.service --no-pager
{JOURNAL}user@gpu01:~$
"""
ROOT_LINE = next(number for number, line in enumerate(PASTE.split("\n"), 1) if "Not enough memory" in line)


def each(before: str, text: str = PASTE) -> str:
    return "".join(before + line + "\n" for line in text.splitlines())


def wrapped(columns: int, text: str = PASTE) -> str:
    return "\n".join("\n".join(line[at : at + columns] for at in range(0, max(1, len(line)), columns)) for line in text.split("\n"))


BARE = "".join(line.strip().removeprefix("× ") + "\n" for line in STATUS.splitlines())
PASTES = {
    "quote marks": each("> "),
    "quote marks of two levels": each("> > "),
    "a fence": f"It fails:\n\n```bash\n{PASTE}```\n\nAny idea?\n",
    "a fence within quote marks": each("> ", f"```\n{PASTE}```\n"),
    "indentation": each("    "),
    "indentation below a sentence": "It fails:\n\n" + each("    "),
    "tabs": each("\t"),
    "numbers": "".join(f"{n:4d}  {line}\n" for n, line in enumerate(PASTE.splitlines(), 1)),
    "numbers with a colon": "".join(f"{n}: {line}\n" for n, line in enumerate(PASTE.splitlines(), 1)),
    "numbers of cat -n": "".join(f"{n:6d}\t{line}\n" for n, line in enumerate(PASTE.splitlines(), 1)),
    "numbers and a bar": "".join(f"{n:4d} | {line}\n" for n, line in enumerate(PASTE.splitlines(), 1)),
    "entities": html.escape(PASTE),
    "entities and quote marks": html.escape(each("> ")),
    "code of Jira": f"Hi\n{{code:bash}}\n{PASTE}{{code}}\n",
    "noformat of Jira": f"{{noformat}}{PASTE}{{noformat}}\n",
    "details of GitHub": f"<details>\n<summary>what I see</summary>\n\n```\n{PASTE}```\n</details>\n",
    "spaces at the ends": "".join(f"{line}     \n" for line in PASTE.splitlines()),
    "carriage returns": PASTE.replace("\n", "\r\n"),
    "spaces that do not break": PASTE.replace(" ", "\u00a0"),
    "line breaks of HTML": PASTE.replace("\n", "<br>\n"),
    "a terminal of 80 columns": wrapped(80),
    "a terminal of 120 columns": wrapped(120),
    "what less leaves": PASTE.replace(STATUS, STATUS + "~\n~\nlines 1-7/7 (END)\n"),
    "a status without its indentation": PASTE.replace(STATUS, BARE),
}


@pytest.mark.parametrize("paste", PASTES.values(), ids=PASTES.keys())
def test_a_paste_says_the_same_in_every_dress(paste, tmp_path):
    (tmp_path / "paste.txt").write_text(paste, encoding="utf-8", newline="")
    found = diagnosed(tmp_path)
    assert (found.unit, str(found.cause), str(found.phase), found.died_after_s) == ("sglang-qwen.service", "gpu-oom-init", "kv-pool", 32.969)
    assert [(w.asked, w.meant) for w in found.warnings if w.kind == "mistyped-unit"] == [("sglang-qwem.service", "sglang-qwen.service")]
    assert found.coverage["journal"] == "given"
    assert found.coverage["status"] == "given"


@pytest.mark.parametrize(
    "name", ["quote marks", "indentation", "numbers", "entities", "spaces that do not break", "a status without its indentation"]
)
def test_a_line_is_cited_by_its_number_in_the_file(name, tmp_path):
    (tmp_path / "paste.txt").write_text(PASTES[name], encoding="utf-8")
    root = diagnosed(tmp_path).evidence[0]
    assert (root.line, root.text) == (ROOT_LINE, "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")


def test_a_broken_line_is_cited_where_it_begins(tmp_path):
    paste = PASTES["a terminal of 80 columns"]
    (tmp_path / "paste.txt").write_text(paste, encoding="utf-8")
    root = diagnosed(tmp_path).evidence[0]
    assert root.text == "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    assert "RuntimeError" in paste.split("\n")[root.line - 1]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PASTE, id="a paste as it should be"),
        pytest.param("> GET /v1/models HTTP/1.1\n> Host: x\n> User-Agent: curl/8\n> Accept: */*\n>\n< HTTP/1.1 200 OK\n", id="curl -v"),
        pytest.param("  0 s unhealthy x\n 10 s unhealthy x\n 20 s unhealthy x\n", id="a health loop"),
        pytest.param("1 OK\n2 OK\n3 ERROR x\n4 OK\n", id="a table of tasks"),
        pytest.param("Traceback (most recent call last):\n  File \"x\", line 1, in y\n    z()\nValueError: &lt;b&gt; is not > 3\n", id="an entity in a message"),
        pytest.param("     Loaded: loaded (/x)\n     Active: active (running)\n", id="a status that has lost its head"),
        pytest.param("a" * 80 + "\n" + "b" * 80 + "\n" + "c" * 80 + "\n", id="lines of one length"),
        pytest.param("[2026-05-09 10:15:34] prompt:\n> quoted by a user\n> twice\n[2026-05-09 10:15:35] end\n", id="a quote within a log"),
        pytest.param("", id="nothing"),
    ],
)  # fmt: skip
def test_what_is_no_dress_stays(text):
    assert dress.undressed(text.encode()) is None


def test_a_text_of_which_every_line_is_quoted_is_a_quotation_whatever_its_lines_are() -> None:
    lines = [f"slot update_slots: id {n} | task {n} | kv cache rm [0, end)" for n in range(8)]
    quoted = "".join(f"> {line}\n" for line in lines)
    assert dress.undressed(quoted.encode()) == "".join(f"{line}\n" for line in lines).encode()
    assert dress.undressed((quoted + "said somebody\n").encode()) is None
    assert dress.undressed("".join(f"> {line}\n" for line in lines[:4]).encode()) is None


def test_the_border_of_a_pane_comes_off() -> None:
    lines = ["ValueError: 'type' must be a string", *(f'  File "/opt/x.py", line {n}, in f{n}' for n in range(9))]
    pane = lines[0] + "\n" + "".join(f"│ {line:<60} │\n" for line in lines[1:])
    assert dress.undressed(pane.encode()) == ("\n".join(lines) + "\n").encode()
    table = "".join(f"│ gpu{n} │ {n} GiB │\n" for n in range(12))
    assert dress.undressed(table.encode()) is None


def test_a_message_that_is_said_again_and_again_is_no_line_broken_at_a_width() -> None:
    loud = "webui-1   | 2025-05-09 12:00:03.120 | ERROR    | open_webui.routers.openai:send_get_request:72 - Cannot connect to host vllm:8000"
    text = f"$ docker compose logs\n{loud}\nvllm-1    | INFO loading\n{loud.replace('03.120', '19.331')}\nvllm-1    | INFO still loading\n"
    assert dress.undressed(text.encode()) is None


def test_a_line_that_says_whose_it_is_belongs_to_none_above() -> None:
    loud = ["webui-1   | " + "a" * 88, "webui-1   | " + "b" * 88]
    text = f"May 09 10:15:18 gpu01 systemd[1]: Started x.service.\n{loud[0]}\nvllm-1    | INFO loading\n{loud[1]}\nvllm-1    | INFO still loading\n"
    assert dress.undressed(text.encode()) is None
