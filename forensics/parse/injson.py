"""Recognise what a stretch holds that is JSON (or a report in XML) as a whole: a journal, a result, what an engine or a cluster says. Never reads a figure."""

from __future__ import annotations

import json
from collections.abc import Sequence

from forensics import lazily
from forensics.model import PartKind
from forensics.parse import container, junit, pod, shape

_BENCH_KEY = lazily.pattern(r'"(?:request_throughput|output_throughput|total_token_throughput|mean_ttft_ms|median_ttft_ms|mean_tpot_ms|p99_\w+_ms|completed|num_prompts|total_input_tokens'
                        r'|total_output_tokens|request_rate|max_concurrency|accept_len\w*|accept_rate|tok_per_s|coding_pass|greedy_match|accuracy|ttfts|itls|topk|budget|benchmark\w*|successful_requests'
                        r'|failed_requests|output_lens|first_error\w*|pass_rate|latency\w*|throughput\w*|tps|lm_eval_version|request_totals|request_start_ns|tokens_per_second|requests_per_second)"\s*:')  # fmt: skip
_KNOWN_JSON = ((PartKind.CONTAINER, container.is_inspect), (PartKind.POD, pod.is_pod), (PartKind.EVENTS, pod.is_events))


def is_spread(texts: Sequence[str], first: int, stop: int) -> bool:
    """A journal with its fields, an entry over several lines: json-pretty, or verbose."""
    while first < stop and shape.is_head(texts[first]):
        first += 1
    if first == stop:
        return False
    if shape.VERBOSE_HEAD.match(texts[first]):
        return True
    return texts[first].strip() in ("{", "[") and any(shape.PRETTY_FIELD.match(text) for text in texts[first + 1 : min(stop, first + 80)])


def json_kind(texts: Sequence[str], first: int, stop: int) -> PartKind | None:
    """CLIENT for a report of tests in XML; BENCH_JSON or CLIENT where all of it is JSON (an array, an object, or one object a line) and no journal; a cut-off array counts by its keys."""
    start = texts[first].lstrip()[:1]
    if start == "<" and junit.is_junit("\n".join(texts[first : min(stop, first + 4)])):
        return PartKind.CLIENT
    if (
        start not in ("[", "{")
        or shape.DOCKER_LOG.match(texts[first])
        or shape.JSON_ENTRY.match(texts[first])
        or shape.LOGGED.match(texts[first])
        or shape.UNIT_SECTION.match(texts[first])
    ):
        return None
    text = "\n".join(texts[first:stop])
    keyed = bool(_BENCH_KEY.search(text))
    try:
        value = json.loads(text)
        for kind, known in _KNOWN_JSON:
            if known(value):
                return kind
    except ValueError:
        if not _is_json_lines(texts[first:stop]) and not (keyed and _breaks_off(texts, first, stop)):
            return None
    return PartKind.BENCH_JSON if keyed else PartKind.CLIENT


def _breaks_off(texts: Sequence[str], first: int, stop: int) -> bool:
    """JSON of which only the head is here: laid out over lines, or one line full of such keys."""
    return texts[first].strip() in ("[", "[{", "{") or (stop - first == 1 and len(_BENCH_KEY.findall(texts[first])) > 2)


def _is_json_lines(texts: Sequence[str]) -> bool:
    full = [t for t in texts if t.strip()]
    for text in full[:20]:
        try:
            if not isinstance(json.loads(text), dict):
                return False
        except ValueError:
            return False
    return all(t.lstrip().startswith("{") for t in full)
