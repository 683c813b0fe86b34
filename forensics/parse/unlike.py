"""Say in what two results were measured differently, so that they are not of the same benchmark. Judges no figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forensics.model import BenchRun
from forensics.parse.called import called

OTHER_LOAD = 0.1  # of the tokens a request has: beyond it the two were asked for other things
RECKONED_ALIKE = ({"guidellm"}, {"aiperf", "genai_perf"})


def unlike(base: Sequence[BenchRun], new: Sequence[BenchRun]) -> Iterator[str]:
    """Settings in which the two differ: then it is not the same benchmark."""
    ours, theirs = dict(new[0].configuration), dict(base[0].configuration)
    for name in sorted(ours.keys() & theirs.keys()):
        if ours[name] != theirs[name]:
            yield f"{name} was {theirs[name]}, and is {ours[name]} now"
    if before_and_after := _other_number(base[0], new[0]):
        yield "{} requests were asked, and {} are now".format(*before_and_after)
    for what, name in (("input", "total_input_tokens"), ("output", "total_output_tokens")):
        before, after = (_a_request(name, side) for side in (base, new))
        if before and after and abs(after - before) > OTHER_LOAD * before:
            yield f"a request had {before:.0f} {what} tokens on the mean, and has {after:.0f} now: that is another load"
    if base[0].tool != new[0].tool:
        own = "; gaps between tokens are reckoned each in its own way, and not judged" if reckoned(base[0]) != reckoned(new[0]) else ""
        yield f"the base is of {base[0].tool}, the new one of {new[0].tool}{own}"


def _other_number(base: BenchRun, new: BenchRun) -> tuple[int, int] | None:
    """How many requests each was asked, where a result block counts them, no configuration says so, and they differ."""
    said = {"num_prompts", "num_requests"} & base.configuration.keys() & new.configuration.keys()
    counted = not said and all("completed" in called(run.metrics) for run in (base, new))
    return (base.asked, new.asked) if counted and base.asked and new.asked and base.asked != new.asked else None


def _a_request(name: str, runs: Sequence[BenchRun]) -> float | None:
    """The mean of a total over the requests that were answered."""
    told = [(called(run.metrics).get(name), run.ok) for run in runs]
    known = [(total, ok) for total, ok in told if total is not None and ok]
    return sum(total for total, _ in known) / sum(ok for _, ok in known) if known else None


def reckoned(run: BenchRun) -> int:
    return next((n for n, tools in enumerate(RECKONED_ALIKE) if run.tool in tools), -1)
