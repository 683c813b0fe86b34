"""Say what a refused word of a command line was meant for: a slip, another version's flag, another server's, a fork's. Knows flags only by the tables of the profiles.

The order is that of ``argparse``: a flag that is there, then an unambiguous beginning of one, then the nearest by letters; and only flags that the version has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from forensics import lazily
from forensics.model import Advice, Role, Signal
from forensics.reason.good import last_good
from forensics.reason.place import Story
from forensics.reason.slips import MOST_LETTERS, begun, either, slip, turned_round
from forensics.ruleset import flags
from forensics.ruleset.schema import Profile
from forensics.ruleset.versions import spoken
from forensics.units import edit

MOST_WORDS, MOST_SHOWN = 4, 12
_SECRET = lazily.pattern(r"key|token|secret|passw|auth|credential")  # the value of such a flag is not said again
_FLAG = lazily.pattern(r"--?[A-Za-z][\w.+-]*")


class Reader(NamedTuple):
    """Who refused the words: the server and the version as far as they are known, and all servers there are."""

    profile: Profile | None
    version: str | None
    profiles: Sequence[Profile]
    before: tuple[frozenset[str], str | None] = (frozenset(), None)  # arguments of the last good life, and its version

    @property
    def title(self) -> str:
        """The server's name for people."""
        return (self.profile.title or self.profile.name) if self.profile is not None else "it"


def advice(story: Story, signals: Iterable[Signal]) -> list[Advice]:
    """What to write instead, of the first signal that says which words were not taken; empty where no rule captured any."""
    for signal in signals:
        rule = story.rules.rule(signal.rule)
        words = {type_: signal.captures[name] for name, type_ in (rule.captures.items() if rule is not None else ()) if signal.captures.get(name)}
        option = signal.captures.get("option", "")
        reader = reader_of(story)
        if "unknown-flags" in words and (meant := _suggested(story)) is not None:
            return [
                Advice(
                    text=f"{words['unknown-flags']}: the program itself asks whether {meant} is meant", flag=meant if meant.startswith("--") else None
                )
            ]
        if "unknown-flags" in words:
            return [explain(word, value, reader) for word, value in _worth_telling(_pairs(words["unknown-flags"]), reader)[:MOST_WORDS]]
        if "ambiguous-flag" in words:
            return [_ambiguous(words["ambiguous-flag"], words.get("choices", ""), reader)]
        if "choice" in words:
            return [_choice(option, words["choice"], words.get("choices", ""))]
    return []


def _suggested(story: Story) -> str | None:
    """What the program itself takes the word for, where a line of it says so."""
    for signal in story.of_issue(Role.CONTEXT):
        rule = story.rules.rule(signal.rule)
        for name, type_ in rule.captures.items() if rule is not None else ():
            if type_ == "meant-flag" and _FLAG.fullmatch(signal.captures.get(name, "")):
                return signal.captures[name]
    return None


def reader_of(story: Story) -> Reader:
    """Who read the command line of the life at issue."""
    good = last_good(story)
    before = (frozenset(good.arguments), good.version) if good is not None else (frozenset[str](), None)
    return Reader(profile=story.profile, version=story.issue.version, profiles=story.rules.profiles, before=before)


def _pairs(text: str) -> list[tuple[str, str]]:
    """The flags among words, each with what stands behind it; words that belong to no flag stand for themselves."""
    found: list[tuple[str, str]] = []
    for word in text.split():
        name, _, value = word.partition("=")
        if _FLAG.fullmatch(name):
            found.append((name, value))
        elif found and found[-1][0].startswith("-"):
            found[-1] = (found[-1][0], f"{found[-1][1]} {word}".strip())
        elif found:  # words that stand together
            found[-1] = (f"{found[-1][0]} {word}", "")
        else:
            found.append((word, ""))
    return list(dict.fromkeys(found))


def _worth_telling(pairs: list[tuple[str, str]], reader: Reader) -> list[tuple[str, str]]:
    """Behind a word that belongs to no flag good flags are refused as well: they are not the matter."""
    if not pairs or pairs[0][0].startswith("-") or reader.profile is None:
        return pairs
    known = _known(reader.profile)
    return [pair for pair in pairs if pair is pairs[0] or pair[0] not in known]


def explain(word: str, value: str, reader: Reader) -> Advice:
    """What a word was meant for that the parser did not take."""
    if not word.startswith("-"):
        why = "a quote is missing, a line continuation has something behind its backslash, or the image starts the program itself and its name is one word too many"
        return Advice(text=f"{_quoted(word)} belongs to no flag: mostly {why}")
    profile, asked = reader.profile, word
    if profile is None:
        return _of_nobody(word, reader)
    table = profile.flags
    tail = ""
    if table is not None and table.dotted and "." in asked:
        asked, dot, rest = asked.partition(".")
        tail = dot + rest
    known = _known(profile)
    plain = asked.replace("_", "-") if table is not None and table.underscores else asked
    if plain in known:
        return _other_version(plain, tail, reader)
    there = [name for name in known if flags.has(profile, name, reader.version) is not False]
    if (
        table is not None and table.abbreviations and (whole := begun(asked, there)) is not None
    ):  # it would have been taken for that flag, were it there
        told = _other_version(whole, tail, reader)
        return Advice(text=f"{asked} is short for {whole}: {told.text}", flag=told.flag)
    return _near(asked, tail, value, there, reader)


def _known(profile: Profile) -> frozenset[str]:
    """All flags that are known of a server; where nobody listed them, those that have another spelling."""
    return flags.all_flags(profile) or frozenset({*profile.aliases, *(other for others in profile.aliases.values() for other in others)})


def _near(asked: str, tail: str, value: str, there: Sequence[str], reader: Reader) -> Advice:
    """The nearest flag by letters; another server's flag, to the letter, and the switch of the contrary are more than a distant likeness."""
    profile = reader.profile
    assert profile is not None
    made = slip(asked, there)
    if made is None or made[2] > 1:
        others = [p for p in reader.profiles if p is not profile and asked in flags.all_flags(p)]
        if others or (profile.flags is not None and asked in profile.flags.elsewhere):
            return _other_server(asked, others, reader)
        contrary = turned_round(asked.replace("_", "-"), there)
        if contrary is not None:
            return Advice(text=f"leave {asked} away: {reader.title} only has {contrary}, and does the other where that is not given")
    if made is None:
        gone = slip(asked, _known(profile))  # a slip in a flag that this version does not have anyway
        return _unknown(asked, reader) if gone is None or " or " in gone[0] else _slip_of_another(asked, gone[0], gone[1], reader)
    name, how, _ = made
    when = "" if " or " in name or flags.has(profile, name, reader.version) is True else _when(name, reader)
    return _meant(asked, tail, name, f"{how}; {when}" if when else how, value)


def _slip_of_another(asked: str, name: str, how: str, reader: Reader) -> Advice:
    """A slip in a flag of other versions: what is to be done about that flag, and that it was misspelt on top."""
    told = _other_version(name, "", reader)
    return Advice(text=f"{asked} looks like {name} ({how}), which this version does not have either; {told.text}", flag=told.flag)


def _meant(asked: str, tail: str, name: str, how: str, value: str | None) -> Advice:
    alone = " or " not in name
    plain = value if alone and value and not _SECRET.search(name) and re.fullmatch(r"[\w./:,+-]{1,60}", value) else None
    return Advice(text=f"{asked}{tail}: did you mean {name}{tail if alone else ''}? ({how})", flag=name if alone else None, to=plain)


def _of_nobody(word: str, reader: Reader) -> Advice:
    holders = [p for p in reader.profiles if word in flags.all_flags(p)]
    whose = f"; {listed([p.title or p.name for p in holders])} has a flag of that name" if holders else ""
    return Advice(text=f"take {word} out of the command line, or spell it as --help of that program does{whose}")


def _when(name: str, reader: Reader) -> str:
    """``NAME has --x from 0.5.9 on; this is 0.5.4``; "" where every version has it."""
    profile = reader.profile
    span = flags.span_in(profile, name) if profile is not None else None
    if profile is None or profile.flags is None or span is None or not profile.flags.checked:
        return ""
    lasts = flags.lasts(profile.flags, span)
    this = f"; this is {spoken(reader.version)}" if reader.version else ""
    return f"{reader.title} has {name} {lasts}{this}" if lasts else ""


def _other_version(word: str, tail: str, reader: Reader) -> Advice:
    """A flag that the table has, and the parser did not know."""
    profile = reader.profile
    assert profile is not None
    table, span = profile.flags, flags.span_in(profile, word)
    when = _when(word, reader)
    if table is None or span is None or not when:
        checked = f" ({table.checked[0]} … {table.checked[-1]})" if table is not None and table.checked else ""
        return Advice(
            text=f"{word} is a flag of every version of {reader.title} that was looked at{checked}: an older one, or another program, has read this command line"
        )
    if flags.has(profile, word, reader.version) is True:
        return Advice(text=f"{when}, which should know it: another program, or another build, has read this command line")
    gone = span.until != table.checked[-1]
    early = span.since != table.checked[0] and not gone
    told = f"{when}{_took_it(word, reader)}"
    new = _successor(profile, word, reader.version, older=early)
    if new is not None:
        return Advice(text=f"write {new}{tail} for {word}{tail}: it is the same under another name ({told})", flag=new)
    instead = next((one for one in table.replaced if word in one.flags), None)
    by = [spelling.flag for name in (instead.by if instead else ()) if (spelling := flags.spelled(profile, name, reader.version)) is not None]
    if instead is not None and by and not early:
        return Advice(text=f"say it with {' and '.join(by)} instead of {word}: {instead.says} ({told})", flag=by[0])
    if early:
        return Advice(text=f"leave {word} away, or update: {told}")
    return Advice(text=f"leave {word} away: {told}, and nothing is in its place")


def _successor(profile: Profile, word: str, version: str | None, *, older: bool) -> str | None:
    """What the version at hand calls it; of a version that is not known only that it does not have ``word``: an older one, or a later one."""
    table = profile.flags
    own = flags.span_in(profile, word)
    if table is None or own is None:
        return None
    names = [
        n
        for n in flags.spellings(profile, word)
        if n != word and flags.has(profile, n, version) is not False and (span := flags.span_in(profile, n)) and span != own
    ]
    sure = [n for n in names if flags.has(profile, n, version) is True]

    def place(name: str) -> int:
        span = flags.span_in(profile, name)
        return table.checked.index(span.until) if span is not None else 0

    near = [n for n in names if (place(n) < table.checked.index(own.until)) is older]
    return sure[0] if sure else max(near, key=place, default=None)


def _took_it(word: str, reader: Reader) -> str:
    """The last good life had that setting: then it is the program that has changed."""
    names, version = reader.before
    plain = word.lstrip("-").replace("-", "_")
    if plain not in names:
        return ""
    return f"; the last good life{f' ({spoken(version)})' if version else ''} had it: the program has been changed since"


def _other_server(word: str, others: Sequence[Profile], reader: Reader) -> Advice:
    profile = reader.profile
    assert profile is not None
    told = (
        f"{word} is a flag of {listed([p.title or p.name for p in others])}, not of {reader.title}"
        if others
        else f"{word} is no flag of {reader.title}"
    )
    here = flags.called_here(profile, word, reader.version)
    if here is None:
        return Advice(text=f"leave {word} away: {told}")
    return Advice(text=f"{told}, where {here.flag} is for that: look up what values it takes", flag=here.flag)


def _unknown(word: str, reader: Reader) -> Advice:
    profile = reader.profile
    table = profile.flags if profile is not None else None
    if table is None or not table.checked:
        return Advice(text=f"take {word} out of the command line, or spell it as --help of {reader.title} does")
    told = f"no release of {reader.title} that was looked at ({table.checked[0]} … {table.checked[-1]}) knows {word}, and no flag of it is near"
    return Advice(text=f"{told}: it is of a fork, of a plug-in or of a version before or after those; start the build that has it, or leave it away")


# --------------------------------------------------------------------------- what else a parser says


def _ambiguous(word: str, choices: str, reader: Reader) -> Advice:
    name = word.partition("=")[0]
    profile = reader.profile
    span = flags.span_in(profile, name) if profile is not None else None
    if profile is not None and span is not None:  # it was a flag of its own once
        return _other_version(name, "", reader)
    listed = _choices(choices)
    return Advice(text=f"write {name} out: {either(listed)}" if listed else f"write {name} out, as it can be short for several")


def _choice(option: str, value: str, choices: str) -> Advice:
    """The nearest of the values that are taken."""
    from rapidfuzz.distance import OSA

    asked, listed = value.strip("'\""), _choices(choices)
    flag = option.split("/", maxsplit=1)[0]
    named = flag if flag.startswith("--") else None
    allowed = 1 if len(asked) < 6 else 2
    scored = sorted((OSA.distance(asked.lower(), one.lower(), score_cutoff=allowed), one) for one in listed)
    scored = [pair for pair in scored if pair[0] <= allowed]
    if scored and (len(scored) == 1 or scored[0][0] < scored[1][0]):
        meant = scored[0][1]
        return Advice(text=f"{option} {asked}: did you mean {meant}? ({edit(asked, meant)})", flag=named, to=meant)
    if not listed:
        return Advice(text=f"{option} does not take {asked}: --help lists what it takes", flag=named)
    more = f" and {len(listed) - MOST_SHOWN} more" if len(listed) > MOST_SHOWN else ""
    return Advice(text=f"{option} does not take {asked} in this version: it takes {', '.join(listed[:MOST_SHOWN])}{more}", flag=named)


def _choices(text: str) -> list[str]:
    """The values or flags that a parser lists; one that was cut off at the end is left out."""
    whole = text.rstrip().endswith(")") or not text.startswith(("'", '"')) or text.rstrip().endswith(("'", '"'))
    words = [word.strip().strip("'\"") for word in text.rstrip().rstrip(")").split(",")]
    words = [word for word in words if word]
    return words if whole or len(words) < 2 else words[:-1]


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _quoted(word: str) -> str:
    return f"'{word[:MOST_LETTERS]}{'…' if len(word) > MOST_LETTERS else ''}'"
