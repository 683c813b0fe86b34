"""Say how to go back to the last good configuration: each former value, the file where it is changed, the command that opens it. Never says that a change is the cause."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from forensics.model import LAST_GOOD, Advice, Cause, Change
from forensics.reason.manager import SYSTEMD, fitting, kind_of, operand
from forensics.reason.mistyped import listed
from forensics.reason.place import Story
from forensics.reason.verdict import Verdict
from forensics.ruleset import flags

# nothing that a setting of the unit could have brought about
OF_THE_HOST = (Cause.HOST_REBOOT, Cause.OPERATOR_STOP, Cause.PORT_IN_USE, Cause.DISK_FULL, Cause.GPU_HARDWARE)
MOST = 6


def advice(story: Story, verdict: Verdict, changed: Sequence[Change]) -> Advice | None:
    """The way back; None where nothing is known to have changed since a life that was good, or where no setting could have done it."""
    since = [c for c in changed if c.since == LAST_GOOD and not (c.what.startswith("/") and verdict.cause in OF_THE_HOST)]
    if verdict.by not in ("root", "mechanism") or not since:
        return None
    settings = [c for c in since if c.what.startswith("-")]
    files = [c.what for c in since if c.what.startswith("/")]
    others = [c for c in since if not c.what.startswith(("-", "/"))]
    steps = [_setting(c, story) for c in settings[:MOST]] + [_other(c) for c in others[: MOST - len(settings[:MOST])]]
    more = f" and {len(settings) + len(others) - len(steps)} more (see what changed)" if len(settings) + len(others) > len(steps) else ""
    where = f" in {listed(files[:3])}" if files else ""
    back = f"{', '.join(steps)}{more}{where}" if steps else f"undo what was written since then{where}"
    only = settings[0] if len(since) == len(settings) == 1 else None
    return Advice(
        text=f"or roll back to {LAST_GOOD}: {back}",
        flag=_spelled(only.what, story) if only is not None else None,
        from_=only.after if only is not None else None,
        to=only.before if only is not None else None,
        command=place_to_edit(story, files[0] if files else None),
    )


def place_to_edit(story: Story, file: str | None = None) -> str | None:
    """The command that opens the file in which a setting of the unit stands; where that is not known, the one that shows all of them."""
    state, unit = story.state, operand(story.unit)
    if kind_of(state) != SYSTEMD:
        return fitting(f"systemctl cat {unit}", state)
    if file is not None and not file.startswith("-") and not (state is not None and file == state.fragment):
        return f"sudoedit {shlex.quote(file)}"
    if story.unit is None or unit == "UNIT":
        return None
    whole = file is not None or (state is not None and state.fragment is not None and not state.drop_ins)
    return f"systemctl edit --full {unit}" if whole else f"systemctl cat {unit}"


def _setting(change: Change, story: Story) -> str:
    flag = _spelled(change.what, story)
    if change.before is None:
        return f"without {flag} (now {_short(change.after)})"
    return f"{flag} {_short(change.before)} (now {_short(change.after)})"


def _other(change: Change) -> str:
    return f"{change.what} {_short(change.before)} (now {_short(change.after)})"


def _short(value: str | None) -> str:
    return "unset" if value is None else value if len(value) <= 60 else f"{value[:60]}…"


def _spelled(flag: str, story: Story) -> str:
    """As the version at hand writes it; a flag that nobody knows, of a fork perhaps, stays as it is."""
    found = flags.spelled(story.profile, flag, story.issue.version) if story.profile is not None else None
    return found.flag if found is not None else flag
