"""What systemd calls a unit where it does not name it: 247 and older write only its description. Opens no life."""

from __future__ import annotations

import re

from forensics import lazily
from forensics.model import Facts, Origin

# named in front of its description, as those are that a service's marks do not know
OTHER_KIND = lazily.pattern(r"(?P<unit>[A-Za-z0-9:_.\\@-]{1,250}\.(?:timer|socket|target|slice|mount|automount|path|device|swap))(?: - |$)")
_LEAST = 4  # letters of a word that two names share


def described_as(facts: Facts, unit: str | None) -> frozenset[str]:
    """What may be the unit's description as the evidence tells it: beside its name, else those of several that share a word with its name; none where neither is so."""
    if not unit:
        return frozenset()
    seen = [s for s in facts.seen if s.record.origin is Origin.SYSTEMD and s.hit.captures.get("description")]
    beside = next((s.hit.captures["description"] for s in seen if s.hit.captures.get("unit") == unit), None)
    if beside is not None:
        return frozenset({beside})
    alone = dict.fromkeys(s.hit.captures["description"] for s in seen if not s.hit.captures.get("unit"))
    words = [w for w in re.split(r"[^a-z0-9]+", unit.rpartition(".")[0].lower()) if len(w) >= _LEAST]
    return frozenset(d for d in alone if any(word in d.lower() for word in words))
