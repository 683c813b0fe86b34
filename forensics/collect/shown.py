"""What would be run on a host, to be read by a person before it is. Runs nothing."""

from __future__ import annotations

from collections.abc import Sequence

from forensics.collect import plan, script
from forensics.collect.plan import Asks

WORD = "WORD"  # stands for the random word of a run
PLACEHOLDER = "UNIT.service"

_HEAD = """\
# What a host is sent, on the standard input of: ssh HOST 'exec sh -s'
# Nothing else is run there. @{word} stands for a random word, new in each run.
"""
_FIRST = "\n# ---- first round: the clock, and which units there are\n"
_SECOND = """
# ---- second round: {what}
# Endpoints are asked only where the unit's command line is that of a server that is known: that server's, at the port that it names.
"""
_THIRD = "\n# ---- only where the journal was longer than {mib} MiB: what its oldest lives began with\n"


def shown(
    unit: str | None = None,
    *,
    ports: Sequence[int] = (),
    endpoints: Sequence[Asks] = (),
    since: float | None = None,
    pack: bool = True,
    sudo: bool = False,
) -> str:
    """The script of all rounds. Without a unit a placeholder stands for the one that would be found; each endpoint is shown at each port."""
    name = plan.unit_name(unit) if unit else PLACEHOLDER
    questions = plan.unit(name, ports=ports, endpoints=endpoints, since=since)
    what = f"all about {name}" if unit else f"all about the unit that is found to be meant, here called {name}"
    return (
        _HEAD.format(word=WORD)
        + script.first_line(WORD, pack=pack, sudo=sudo)
        + _FIRST
        + script.round_script(1, plan.overview(unit))
        + _SECOND.format(what=what)
        + script.round_script(2, [q for q in questions if not q.completes])
        + _THIRD.format(mib=plan.JOURNAL_BYTES >> 20)
        + script.round_script(3, [q for q in questions if q.completes])
    )
