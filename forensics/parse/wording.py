"""What kind of failure one line of a client tells of. Never looks at two lines, never counts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forensics import lazily

MAX_LINE = 8192  # of a line that is matched

# in the order in which they win: what explains more comes first
KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "too-long",
        lazily.pattern(
            r"longer than the model.{0,4}s context|maximum (?:context|model|input) length|(?<![\x22'])max_model_len|context length (?:is only|exceeded)|context_length_exceeded"
            r"|(?:prompt|input|request|message)s? (?:\([^)]{0,60}\) )?(?:is|are) too long|Requested token count exceeds|exceeds? the (?:model's |maximum )?(?:allowed |context )length"
        ),
    ),
    (
        "tls",
        lazily.pattern(
            r"WRONG_VERSION_NUMBER|wrong version number|SSLError|\[SSL: |\[SSL\]|CERTIFICATE_VERIFY_FAILED|SSL_ERROR_|packet length too long|curl: \((?:35|60)\)"
            r"|ClientConnectorSSLError|record layer failure|unexpected TLS packet|Unable to establish SSL connection|server gave HTTP response to HTTPS client"
        ),
    ),
    (
        "dns",
        lazily.pattern(
            r"Name or service not known|[Nn]ame resolution|nodename nor servname|getaddrinfo|Could not resolve host|gaierror|curl: \(6\)|unable to resolve host|ENOTFOUND"
            r"|no such host"
        ),
    ),
    (
        "refused",
        lazily.pattern(
            r"[Cc]onnection refused|ConnectionRefused|ECONNREFUSED|\[Errno (?:111|61)\]|actively refused|WinError 10061|Connect call failed"
            r"|curl: \(7\)(?!.*(?:No route|unreachable|timed out))|Couldn't connect to server"
        ),
    ),
    (
        "reset",
        lazily.pattern(
            r"[Cc]onnection reset|ConnectionReset|ECONNRESET|\[Errno (?:104|54)\]|RemoteDisconnected|Remote end closed|ended prematurely|[Ss]erver ?[Dd]isconnected"
            r"|RemoteProtocolError|peer closed connection|IncompleteRead|incomplete chunked read|incomplete message body|Empty reply from server|Connection aborted"
            r"|Broken ?[Pp]ipe|curl: \((?:18|52|55|56)\)|socket hang up|unexpected EOF|ClientPayloadError|Connection closed by"
        ),
    ),
    (
        "http",
        lazily.pattern(
            r"HTTP Error (\d{3})|\b(\d{3}) (?:Client|Server) Error|(?:Client|Server) error '(\d{3})|[Ee]rror code: (\d{3})\b|\b[Ss]tatus(?:[ _]?[Cc]ode)?\W{1,4}(\d{3})\b"
            r"|HTTP/\d(?:\.\d)?\"? (\d{3})\b|returned error: (\d{3})|ERROR (\d{3}):|[\"']code[\"']: ?(\d{3})\b|\b(\d{3}), message=|<HTTPError (\d{3})"
            r"|awaiting response\.\.\. (\d{3})|\bHTTP (\d{3})\b|<Response \[(\d{3})\]>|^OK (\d{3})\b"
        ),
    ),
    (
        "phrase",
        lazily.pattern(
            r"(?:^|[:>\"'] ?|\d{3} )(Bad Request|Unauthorized|Not Found|Method Not Allowed|Request Entity Too Large|Payload Too Large|Unprocessable Entity|Too Many Requests"
            r"|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)[\"'}\s.]*$|[\"']detail[\"']: ?[\"'](Not Found|Method Not Allowed|Unauthorized)[\"']|(queue is full)|(?<![A-Za-z])(NotFoundError)|(RateLimitError)|(model [`'\"][^`'\"]{1,200}[`'\"] does not exist)"
        ),
    ),
    (
        "timed-out",
        lazily.pattern(
            r"[Tt]imed out|TimeoutError|Timeout(?:Exception)?\b|(?:Read|Connect|Pool|Write)Timeout|deadline exceeded|curl: \(28\)|ETIMEDOUT|Request time-?out|timeout specified has expired"
        ),
    ),
    ("unconnected", lazily.pattern(r"ConnectError: All connection attempts failed")),
    ("not-ready", lazily.pattern(r"did not become ready|\bnot (?:yet )?ready\b|not become (?:available|healthy)")),
    (
        "other",
        lazily.pattern(
            r"^(?:[\w.]+\.)?\w*(?:Error|Exception)\b[:(]|No route to host|Network is unreachable|Connection error\.|curl: \(\d+\)|\bunhealthy\b"
        ),
    ),
)
_PHRASES = {
    "Bad Request": 400,
    "Unauthorized": 401,
    "Not Found": 404,
    "Method Not Allowed": 405,
    "Request Entity Too Large": 413,
    "Payload Too Large": 413,
    "Unprocessable Entity": 422,
    "Too Many Requests": 429,
    "Internal Server Error": 500,
    "Bad Gateway": 502,
    "Service Unavailable": 503,
    "Gateway Timeout": 504,
    "Gateway Time-out": 504,
    "queue is full": 503,
    "NotFoundError": 404,
    "RateLimitError": 429,
}
_ORDER = {kind: number for number, (kind, _) in enumerate(KINDS)}
# One of these, in small letters, is in every text that a pattern above can match: most lines tell of nothing and are let go for 3 µs instead of 40.
WORDS = (
    "error", "exception", "refused", "http", "status", "code", "response", "message=", "ok ", "curl: (", "errno", "timed out", "timeout", "time-out", "timedout", "deadline", "reset",
    "disconnect", "end closed", "prematurely", "peer closed", "incomplete", "empty reply", "aborted", "pipe", "hang up", "unexpected eof", "connection closed", "length", "long",
    "max_model_len", "token count", "ssl", "tls packet", "version number", "wrong_version", "record layer", "certificate", "name or service", "name resolution", "nodename", "getaddrinfo", "resolv",
    "enotfound", "no such host", "connect call failed", "couldn't connect", "bad request", "unauthorized", "not found", "method not", "too large", "unprocessable", "too many",
    "internal server", "gateway", "unavailable", "queue is full", "does not exist", "detail", "become", "not ready", "not yet ready", "no route", "unreachable", "unhealthy",
)  # fmt: skip


def classify(text: str, words: Sequence[str] = WORDS) -> str | None:
    """The kind of failure that a line (or message) tells of: refused, reset, timed-out, dns, tls, too-long, http-NNN, unconnected, not-ready, other; None for none.

    ``words`` are those of ``WORDS`` that are worth looking for (``words_in`` of the whole text, where there is one).
    """
    text = text[:MAX_LINE]
    if not worth_a_look(text, words):
        return None
    for kind, pattern in KINDS:
        found = pattern.search(text)
        if found is None:
            continue
        if kind == "http":
            codes = [int(code) for match in pattern.finditer(text) for code in match.groups() if code]
            bad = next((code for code in codes if 400 <= code <= 599), None)
            if bad is None:
                continue
            return f"http-{bad}"
        if kind == "phrase":
            phrase = next(group for group in found.groups() if group)
            return f"http-{_PHRASES.get(phrase, 404)}"
        return kind
    return None


def words_in(text: str) -> tuple[str, ...]:
    """Those of the words that a failure is told with that a whole text has at all: few, so that its lines are looked through quickly."""
    low = text.lower()
    return tuple(word for word in WORDS if word in low)


def worth_a_look(text: str, words: Sequence[str] = WORDS) -> bool:
    """False for a text that none of the patterns can match."""
    low = text.lower()
    for word in words:  # noqa: SIM110 (any() takes twice as long)
        if word in low:
            return True
    return False


def weight(kind: str) -> int:
    """The smaller, the more a kind explains; of the lines of one attempt the smallest is its kind."""
    return _ORDER["http"] if kind.startswith("http-") else _ORDER.get(kind, len(_ORDER))
