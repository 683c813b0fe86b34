"""Take a POSIX shell script apart into its simple commands, wherever they stand: in lists, cases, functions, substitutions. Runs nothing; what it does not know it refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

KEYWORDS = frozenset({"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"})
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_REDIRECT = re.compile(r"([0-9]*)(<<-?|<&|>&|<>|>>|>\||<|>)")
_BREAKS = " \t\n;&|()<>"


class Refused(Exception):
    """The script holds what this reader does not follow, so nothing can be said for it."""


@dataclass
class Command:
    """``words`` without their quotes, expansions as written; ``redirects`` as (operator, target)."""

    words: list[str] = field(default_factory=list)
    redirects: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Script:
    """All simple commands of a text, the values that variables are given, and the functions that it defines."""

    commands: list[Command] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)


class Reader:
    """Reads one text from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.script = text, 0, Script()

    def whole(self) -> Script:
        """The script; Refused where something is left over."""
        self._list("")
        if self.at < len(self.text):
            raise Refused(f"a {self.text[self.at]!r} that closes nothing: {self.text[self.at :][:40]!r}")
        return self.script

    # ---- structure

    def _list(self, stop: str) -> None:
        """Commands up to ``stop``: the end (""), a closing bracket, or the end of one branch of a case (";;")."""
        while True:
            self._skip(" \t\n")
            while not self._starts(";;") and self.at < len(self.text) and self.text[self.at] in ";&|":
                self.at += 1
                self._skip(" \t\n")
            if self.at >= len(self.text):
                if stop:
                    raise Refused(f"no {stop} comes")
                return
            if self._starts("#"):
                self.at = (self.text + "\n").index("\n", self.at)
            elif self._starts(";;") or (stop == ";;" and re.match(r"esac\b", self.text[self.at :])):
                if stop != ";;":
                    raise Refused("a ;; outside of a case")
                return
            elif self._starts(")"):
                if stop != ")":
                    raise Refused("a ) that closes nothing")
                return
            elif self._starts("("):
                self.at += 1
                self._list(")")
                self.at += 1
            else:
                self._command()

    def _command(self) -> None:
        command = Command()
        while self.at < len(self.text):
            self._skip(" \t")
            redirect = _REDIRECT.match(self.text, self.at)
            if redirect:
                self._redirect(command, redirect)
                continue
            if self.at >= len(self.text) or self.text[self.at] in "\n;&|)":
                break
            if self._starts("("):
                if len(command.words) != 1 or not self._starts("()"):
                    raise Refused(f"a bracket after {command.words}")
                self.script.functions.add(command.words[0])
                self.at += 2
                return
            start = self.at
            word = self._word()
            plain = self.text[start : self.at] == word  # a quoted keyword is none
            if not command.words and plain and word in KEYWORDS:
                if word not in ("}", "fi", "done"):
                    return
                continue
            if not command.words and plain and word in ("for", "case"):
                (self._for if word == "for" else self._case)()
                continue
            if not command.words and _ASSIGNMENT.match(self.text, start):
                name, _, value = word.partition("=")
                self.script.values.setdefault(name, []).append(value)
                continue
            command.words.append(word)
        if command.words or command.redirects:
            self.script.commands.append(command)

    def _redirect(self, command: Command, found: re.Match[str]) -> None:
        if found[2].startswith("<<"):
            raise Refused("a here document")
        self.at = found.end()
        self._skip(" \t")
        command.redirects.append((found[2], self._word()))

    def _for(self) -> None:
        self._skip(" \t")
        self._word()
        self._skip(" \t")
        while self.at < len(self.text) and self.text[self.at] not in ";\n":
            self._word()
            self._skip(" \t")

    def _case(self) -> None:
        self._skip(" \t")
        self._word()
        self._skip(" \t\n")
        if self._word() != "in":
            raise Refused("a case without in")
        while True:
            self._skip(" \t\n;")
            if re.match(r"esac\b", self.text[self.at :]):
                self.at += 4
                return
            self._skip("(")
            while not self._starts(")"):  # the patterns
                self._word()
                self._skip(" \t|")
            self.at += 1
            self._list(";;")

    # ---- words

    def _word(self) -> str:
        start, out = self.at, ""
        while self.at < len(self.text) and self.text[self.at] not in _BREAKS:
            c = self.text[self.at]
            if c == "'":
                stop = self.text.index("'", self.at + 1)
                out += self.text[self.at + 1 : stop]
                self.at = stop + 1
            elif c == '"':
                out += self._double()
            elif c == "\\":
                out += self.text[self.at + 1].replace("\n", "")
                self.at += 2
            else:
                out += self._piece()
        if self.at == start:
            raise Refused(f"no word: {self.text[self.at : self.at + 40]!r}")
        return out

    def _double(self) -> str:
        out = ""
        self.at += 1
        while not self._starts('"'):
            if self.at >= len(self.text):
                raise Refused("a quote that is not closed")
            if self._starts("\\"):
                out += self.text[self.at + 1] if self.text[self.at + 1] in '$`"\\' else self.text[self.at : self.at + 2]
                self.at += 2
            else:
                out += self._piece()
        self.at += 1
        return out

    def _piece(self) -> str:
        """One character, or one expansion as it is written; the commands of a substitution are taken."""
        start = self.at
        if self._starts("`"):
            raise Refused("backquotes")
        if self._starts("$(("):
            self.at = self.text.index("))", self.at) + 2
            if "$(" in self.text[start + 3 : self.at]:
                raise Refused("a substitution within arithmetic")
        elif self._starts("$("):
            self.at += 2
            self._list(")")
            self.at += 1
        elif self._starts("${"):
            self.at = self.text.index("}", self.at) + 1
            if re.search(r"[$`]", self.text[start + 2 : self.at]):
                raise Refused("an expansion within an expansion")
        else:
            self.at += 1
        return self.text[start : self.at]

    def _skip(self, what: str) -> None:
        while self.at < len(self.text) and (self.text[self.at] in what or self._starts("\\\n")):
            self.at += 2 if self._starts("\\\n") else 1

    def _starts(self, what: str) -> bool:
        return self.text.startswith(what, self.at)
