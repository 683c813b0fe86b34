"""What a typed line asks for."""

from __future__ import annotations

import pytest

from forensics.parse.asked import asked_unit, chosen, empties, filters, simples


@pytest.mark.parametrize(
    ("command", "unit"),
    [
        ("ls -l", None),
        ("journalctl -n 5", None),
        ("systemctl --version", None),
        ("echo journalctl -u x", None),
        ("journalctl -u x", "x.service"),
        ("journalctl -xeu sglang --no-pager", "sglang.service"),
        ("journalctl -fu vllm", "vllm.service"),
        ("journalctl -ux", "x.service"),
        ("journalctl --unit=a@1.service -b", "a@1.service"),
        ("journalctl _SYSTEMD_UNIT=x.service", "x.service"),
        ("sudo -u root journalctl -u x", "x.service"),
        ("sudo -n systemctl --no-pager show -p Result foo", "foo.service"),
        ("systemctl -n 50 status foo", "foo.service"),
        ("ssh -p 22 root@gpu01 'journalctl -u x -n 5 | grep -i err'", "x.service"),
        ("ssh a ssh b journalctl -u x", "x.service"),
        ('sudo bash -c "journalctl -u z | tail -5"', "z.service"),
        ("docker exec -it c journalctl -u q", "q.service"),
        ("kubectl exec pod -- journalctl -u q", "q.service"),
        ("watch -n 1 systemctl is-active foo", "foo.service"),
        ("cd /tmp; journalctl -u 'a b", "a.service"),
        ("service sglang status", "sglang.service"),
    ],
)
def test_the_unit_is_found_through_what_stands_around_it(command, unit):
    assert asked_unit(command) == unit


def test_a_line_of_several_commands_is_several():
    found = simples("systemctl status a; journalctl -u b | grep -i err && ssh gpu01 'dmesg -T' || true")
    assert [(one.tool, one.host, filters(one)) for one in found] == [
        ("systemctl", None, False),
        ("journalctl", None, True),
        ("dmesg", "gpu01", False),
        ("true", None, False),
    ]


@pytest.mark.parametrize(
    ("command", "is_chosen", "can_be_empty"),
    [
        ("journalctl -u x", False, ""),
        ("journalctl -u x -o json --no-pager", False, ""),
        ("journalctl -u x | less", False, ""),
        ("journalctl -u x -n 50", True, ""),
        ("journalctl -xeu x", True, ""),
        ("journalctl -u x | tail -20", True, ""),
        ("journalctl -u x --since today", True, "--since today"),
        ("journalctl -b -1 -u x", True, "-b"),
        ("journalctl -u x -p err", True, ""),
        ("journalctl -u x -g OOM", True, ""),
        ("journalctl -u x | grep -i error", True, ""),
    ],
)
def test_what_a_command_leaves_out_is_known(command, is_chosen, can_be_empty):
    (one,) = simples(command)
    assert (chosen(one), empties(one)) == (is_chosen, can_be_empty)
