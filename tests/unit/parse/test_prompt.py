"""Prompts and the commands behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.parse import prompt, sniff
from tests.unit.parse.framing import written


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# ssh is needed for the tunnel", id="a comment that begins like a command"),
        pytest.param("# Comment in a configuration file", id="a comment"),
        pytest.param("> GET /v1/models HTTP/1.1", id="curl -v"),
        pytest.param("100% |████| 14/14", id="a progress bar"),
        pytest.param("admin@example.com reported a load of 50% today", id="a sentence with an address"),
        pytest.param("May 09 10:15:50 gpu01 python[1]: $ journalctl -u x", id="a line of a journal"),
        pytest.param("2026-05-09T10:15:50+0000 gpu01 bash[1]: user@host:~$ systemctl stop x", id="what a service prints"),
        pytest.param("[2026-05-09 10:15:50 TP0] # journalctl", id="a server's own stamp"),
        pytest.param("  $ journalctl -u x", id="an indented line: a further line of a message"),
        pytest.param("-- No entries --", id="an empty answer"),
        pytest.param("● x.service - Costs 5 $ a day", id="a status"),
        pytest.param(
            'C:\\src\\llama-context.cpp:1220: GGML_ASSERT((cparams.n_ubatch >= n_tokens) && "too many") failed',
            id="a path of Windows before a message",
        ),
    ],
)
def test_what_only_looks_like_a_prompt_is_none(text):
    assert prompt.command_in(text) is None


@pytest.mark.parametrize(
    "shown",
    [
        "user@host:~$ ", "root@host:~# ", "[user@host ~]$ ", "[root@gpu01 sglang]# ", "❯ ", "➜  ~ ", "➜  sglang git:(main) ✗ ", "(venv) $ ", "(base) user@host:~/x$ ",
        "(sglang) root@gpu01:/opt/sglang# ", "$ ", "# ", "% ", "> ", "user@MacBook-Pro ~ % ", "gpu01% ", "gpu01:~ # ", "user@suse:~> ", "PS C:\\Users\\me> ", "bash-5.1$ ", "sh-4.4# ",
        "~$ ", "└─$ ", "╰─❯ ", "user@host ~/src (main)$ ", "user@host:~/a b$ ", "[10:22:01] user@host:~$ ", "root@gpu01[~]# ", "λ ",
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["journalctl -u x.service", "sudo systemctl status x", "ssh gpu01 'dmesg -T | tail'"])
def test_a_command_is_known_behind_every_usual_prompt(shown, command):
    assert prompt.command_in(shown + command) == command


@pytest.mark.parametrize("shown", ["user@host:~$", "[user@host ~]$ ", "❯", "$", "root@host:~# "])
def test_a_prompt_with_nothing_behind_it_is_one(shown):
    assert prompt.command_in(shown) == ""


def test_what_stands_at_the_right_edge_is_no_part_of_the_command():
    assert prompt.command_in("❯ journalctl -u x                                       ✔ 10:22:01") == "journalctl -u x"
    assert prompt.command_in("➜  ~ systemctl status x                    [10:22:01]") == "systemctl status x"


def test_quotes_and_dashes_of_a_chat_are_made_straight():
    assert prompt.command_in("$ journalctl \u2014unit \u2018x.service\u2019 \u2013n 5") == "journalctl --unit 'x.service' --n 5"


def commands(tmp_path: Path, text: str) -> list[tuple[str | None, int, int, str]]:
    return [(part.command, part.command_line, part.first_line, str(part.kind)) for part in sniff.parts(written(tmp_path, text))]


def test_a_command_that_goes_on_in_the_next_line_is_one(tmp_path):
    text = "user@host:~$ journalctl -u x.service \\\n>   --no-pager\n-- No entries --\nuser@host:~$\n"
    assert commands(tmp_path, text) == [("journalctl -u x.service --no-pager", 1, 3, "empty")]


def test_a_prompt_over_two_lines_is_no_part_of_the_answer_above_it(tmp_path):
    text = "┌──(kali㉿kali)-[~]\n└─$ journalctl -u x\n-- No entries --\n\n┌──(kali㉿kali)-[~]\n└─$ systemctl is-active x\nfailed\n"
    assert [(c, k) for c, _, _, k in commands(tmp_path, text)][-2:] == [("journalctl -u x", "empty"), ("systemctl is-active x", "is-active")]


def test_a_prompt_that_was_met_ends_an_answer_also_when_it_stands_alone(tmp_path):
    text = "gpu01% journalctl -u x | grep error\ngpu01% systemctl is-active x\nactive\ngpu01%\n"
    assert [(c, k) for c, _, _, k in commands(tmp_path, text)] == [("journalctl -u x | grep error", "empty"), ("systemctl is-active x", "is-active")]


def test_a_fence_ends_an_answer(tmp_path):
    text = "I tried:\n```\n$ journalctl -u x\n-- No entries --\n```\nand nothing came.\n"
    assert [(c, k) for c, _, _, k in commands(tmp_path, text) if c] == [("journalctl -u x", "empty")]


def test_a_command_without_a_prompt_is_known_by_what_stands_below_it(tmp_path):
    text = "```\nsystemctl is-active x\n```\n```\nfailed\n```\n```\njournalctl -u x\n-- No entries --\n```\n"
    assert [(c, k) for c, _, _, k in commands(tmp_path, text)][-1] == ("journalctl -u x", "empty")


def test_a_prompt_that_a_service_prints_into_the_journal_asks_nothing(tmp_path):
    text = "May 09 10:15:50 gpu01 app[1]: begin\n                              $ journalctl -u other.service\n                              -- No entries --\nMay 09 10:15:51 gpu01 app[1]: end\n"
    assert commands(tmp_path, text) == [(None, 0, 1, "journal-text")]
