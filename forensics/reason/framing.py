"""Tell what is around a message (source lines, carets, frames of a stack) from the message. Looks at one line at a time."""

from __future__ import annotations

from forensics import lazily

# the frame around a message: source lines, carets, rules, usage blocks, the stack of a traceback
_WARNED = r"\S+\.py:\d+: \w*Warning:"
FRAMING = lazily.pattern(
    r"\s{4,}|\s*(?:raise |File \"|Traceback \(|During handling of|(?:Current t|T)hread 0x|The above exception was|\[-{1,2}\w|usage: |[\^~=*#-]{4,})|"
    + _WARNED
    + r"|\s*[{}\[\]()]*\s*$"
)
WARNING = lazily.pattern(_WARNED)
# a frame of a native stack: an address says nothing to a reader, and of a hundred of them the last is no nearer to the cause
STACK = lazily.pattern(r"\s*(?:frame #\d{1,4}: |#\d{1,4}:?\s{1,8}(?:0x[\da-fA-F]{4}|<unknown)|Exception raised from .*\(most recent call first\))")
# a logged exception's first line: what it says is in its last, and that is cited
HEAD = lazily.pattern(r"Traceback \(most recent call last\):\s*$")
# the last line of a traceback: the exception and what it says
RAISED = lazily.pattern(r"(?:[A-Za-z_][\w.]{0,80}\.)?[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Timeout|Expired|Refused)(?:: |$)")
