"""Two hundred secrets of twenty-two kinds, made from a fixed seed, each in a line as programs write them, spread over all that a capture holds."""

from __future__ import annotations

import base64
import json
import random
import shlex
import string
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forensics.model import Capture, Coverage, PartKind, Pick, Problem, Section, Target, TargetKind

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
SEED = 20260509
COUNT = 220


@dataclass(frozen=True)
class Secret:
    """``parts`` are what must not be found anywhere afterwards; ``line`` is where it was found."""

    kind: str
    parts: tuple[str, ...]
    line: str


def _of(rng: random.Random, letters: str, length: int) -> str:
    return "".join(rng.choice(letters) for _ in range(length))


def _password(rng: random.Random) -> str:
    return _of(rng, ALNUM, 6) + rng.choice("!#%+_.~^") + _of(rng, ALNUM, 5) + rng.choice(string.digits)


def _jwt(rng: random.Random) -> str:
    return ".".join(["eyJ" + _of(rng, ALNUM, 20), "eyJ" + _of(rng, ALNUM, 40), _of(rng, ALNUM + "-_", 43)])


# kind, its values, the lines they stand in
KINDS: tuple[tuple[str, Callable[[random.Random], str], tuple[str, ...]], ...] = (
    ("hugging-face", lambda r: "hf_" + _of(r, ALNUM, 34), ("login with {v} failed", "HF_TOKEN={v}", "--hf-token {v} --tp 2", "https://huggingface.co/api?token={v}")),
    ("openai", lambda r: r.choice(("sk-", "sk-proj-")) + _of(r, ALNUM, 40), ("Incorrect API key provided: {v}.", "OPENAI_API_KEY={v}", "--api-key {v} --port 1", "client(api_key='{v}')")),
    ("anthropic", lambda r: "sk-ant-api03-" + _of(r, ALNUM + "-_", 60), ("x-api-key: {v}", "ANTHROPIC_API_KEY={v}", "key {v} has no credit")),
    ("aws-id", lambda r: "AKIA" + _of(r, string.ascii_uppercase + string.digits, 16), ("aws_access_key_id = {v}", "AWS_ACCESS_KEY_ID={v}", "InvalidAccessKeyId: {v}")),
    ("aws-secret", lambda r: _of(r, ALNUM + "/+", 38) + "9a", ("aws_secret_access_key = {v}", "AWS_SECRET_ACCESS_KEY={v}", "aws configure set aws_secret_access_key {v}", "AKIAIOSFODNN7EXAMPLE {v}")),
    ("aws-session", lambda r: "FwoGZXIvYXdz" + _of(r, ALNUM + "/+", 80), ("aws_session_token={v}", "AWS_SESSION_TOKEN={v}", "s3://b/k?X-Amz-Security-Token={v}&X-Amz-Date=1")),
    ("google", lambda r: "AIza" + _of(r, ALNUM + "-_", 35), ("GET /v1beta/models?key={v}", "GOOGLE_API_KEY={v}", "API key not valid: {v}")),
    ("github", lambda r: r.choice(("ghp_", "ghs_", "github_pat_")) + _of(r, ALNUM, 36), ("git clone https://{v}@github.com/o/r.git", "GITHUB_TOKEN={v}", "remote: {v} expired")),
    ("slack", lambda r: "xoxb-" + _of(r, string.digits, 12) + "-" + _of(r, ALNUM, 24), ("SLACK_BOT_TOKEN={v}", "slack: invalid_auth {v}")),
    ("bearer", lambda r: _of(r, ALNUM + "-_", 40), ("Authorization: Bearer {v}", 'curl -H "Authorization: Bearer {v}" http://127.0.0.1:30000/v1/models', "headers={{'authorization': 'Bearer {v}'}}")),
    ("basic", lambda r: base64.b64encode(f"ann:{_password(r)}".encode()).decode(), ("Authorization: Basic {v}", "Proxy-Authorization: Basic {v}")),
    ("jwt", _jwt, ("invalid token {v}", "id_token={v}", "JWT {v} expired")),
    ("url-login", _password, ("redis://:{v}@cache:6379/0", "postgres://ann:{v}@db:5432/x", "amqp://ann:{v}@mq/", "mongodb+srv://ann:{v}@m.example.net/x", "https://ann:{v}@reg.example.net/v2/")),
    ("url-token", lambda r: _of(r, HEX, 64), ("https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature={v}", "http://h:1/x?access_token={v}&y=1", "https://a.blob.core.windows.net/c?sv=2020&sig={v}")),
    ("command-line", _password, (
        "mysql -u root -p{v} db", "sshpass -p {v} ssh box", "curl -u ann:{v} http://h/", "redis-cli -a {v} ping", "docker login -u ann -p {v} ghcr.io",
        "PGPASSWORD={v} psql", "./serve --password {v} --port 1", "./serve --admin-api-key={v}", "wget --http-password={v} http://h",
    )),
    ("environment", _password, ("WANDB_API_KEY={v}", "DB_PASSWORD={v}", "SECRET_KEY={v}", "MYSQL_PWD={v}", "export API_TOKEN='{v}'")),
    ("wandb", lambda r: _of(r, HEX, 39) + "a", ("wandb: Appending key for api.wandb.ai to your netrc file: {v}", "wandb login --relogin {v}")),
    ("netrc", _password, ("machine api.wandb.ai login user password {v}", "default login ann password {v}")),
    ("docker-config", lambda r: base64.b64encode(f"ann:{_password(r)}".encode()).decode(), ('{{"auths":{{"ghcr.io":{{"auth":"{v}"}}}}}}', '"identitytoken": "{v}"')),
    ("kubernetes", lambda r: _of(r, ALNUM, 40) + "1", ("    token: {v}", "client-key-data: {v}", "kubectl create secret generic x --from-literal=password={v}")),
    ("prose", lambda r: _of(r, string.ascii_lowercase, 6) + _of(r, string.digits, 3), ("the password is {v}", "db password: {v}", "pwd={v} refused", 'password "{v}" does not match'.replace("password ", "password = "))),
    ("webhook", lambda r: f"T{_of(r, string.digits, 8)}/B{_of(r, string.digits, 8)}/{_of(r, ALNUM, 24)}", ("POST https://hooks.slack.com/services/{v} 404",)),
)  # fmt: skip


def secrets() -> list[Secret]:
    """All of them; the same at every call."""
    rng = random.Random(SEED)
    found = []
    for number in range(COUNT):
        kind, make, lines = KINDS[number % len(KINDS)]
        value = make(rng)
        found.append(Secret(kind, (value,), lines[number // len(KINDS) % len(lines)].format(v=value)))
    for label in ("RSA ", "OPENSSH ", "EC ", ""):
        body = tuple(_of(rng, ALNUM + "+/", 64) for _ in range(6))
        found.append(Secret("private-key", body, "\n".join([f"-----BEGIN {label}PRIVATE KEY-----", *body, f"-----END {label}PRIVATE KEY-----"])))
    return found


def _export(entries: list[list[tuple[str, bytes]]]) -> bytes:
    out = b""
    for number, fields in enumerate(entries):
        out += f"__CURSOR=s=1;i={number:x}\n__REALTIME_TIMESTAMP={1778321718000000 + number * 1000}\n_BOOT_ID=3f0c2b6d7e8a4c51b2d39a60f1e2c3d4\n".encode()
        for name, value in fields:
            text = b"\n" not in value and b"\x1b" not in value
            out += name.encode() + (b"=" + value if text else b"\n" + len(value).to_bytes(8, "little") + value) + b"\n"
        out += b"\n"
    return out


def capture(folder: Path) -> Capture:
    """A capture that holds every secret at least once; which kind of place it gets goes round."""
    folder.mkdir(parents=True)
    places: list[list[str]] = [[] for _ in range(10)]
    for number, secret in enumerate(secrets()):
        places[number % 10].append(secret.line)
        places[0].append(secret.line)  # and all of them in the server's log
    stamp, host = "2026-05-09T10:15:18+0000", "gpu01"
    trusted = [("_HOSTNAME", b"gpu01"), ("_SYSTEMD_UNIT", b"llm.service"), ("_PID", b"4711"), ("SYSLOG_IDENTIFIER", b"python")]
    texts = {
        "journal.txt": "".join(f"{stamp} {host} python[4711]: {part}\n" for line in places[0] for part in line.split("\n")),
        "server.jsonl": "".join(json.dumps({"level": "error", "msg": line, "n": 1}) + "\n" for line in places[1]),
        "environ": "\0".join(places[2]) + "\n",
        "cmdlines": "".join("\0".join(shlex.split(s.line)) + "\n" for s in secrets() if s.kind == "command-line") + "\n".join(places[3]),
        "llm.service": "[Service]\nUser=llm\n"
        + "".join(f"ExecStart=/opt/x/python -m serve {line}\n" for line in places[4])
        + "\n".join(f"Environment={p}" for p in places[4]),
        "journal.json": "".join(json.dumps({"_HOSTNAME": "gpu01", "MESSAGE": list(f"\x1b[1m{line}\n".encode())}) + "\n" for line in places[5]),
        "compose.yaml": "services:\n" + "".join(f"  - {json.dumps(line)}\n" for line in places[6]),
        "colours.log": "".join(f"\x1b[31mERROR\x1b[0m {line}\n" for line in places[7]),
    }
    sections = []
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        sections.append(Section(name=name, path=folder / name, coverage=Coverage.GIVEN))
    entries = [[*trusted, ("MESSAGE", line.encode())] for line in places[8]]
    entries += [
        [*trusted, ("MESSAGE", f"\x1b[1m{line}\x1b[0m\nand on".encode()), ("_CMDLINE", line.replace("\n", " ").encode())] for line in places[9]
    ]
    entries += [
        [
            *trusted,
            ("COREDUMP_CMDLINE", line.replace("\n", " ").encode()),
            ("COREDUMP_ENVIRON", f"A=1\n{line}\nB=2".encode()),
            ("MY_OWN", line.encode()),
        ]
        for line in places[3]
    ]
    (folder / "export").write_bytes(_export(entries))
    sections.append(
        Section(
            name="journal", path=folder / "export", argv=f"journalctl # {places[7][0]}", part=PartKind.JOURNAL_EXPORT,
            stderr="\n".join(p for p in places[6] if "\n" not in p)
        )
    )  # fmt: skip
    return Capture(
        target=Target(kind=TargetKind.SSH, name="ann@gpu01", host="ann@gpu01"),
        host="gpu01",
        at=1778321718.0,
        sections=tuple(sections),
        pick=Pick(asked="llm", unit="llm.service", how="asked", why=places[4][0]),
        problems=tuple(Problem(source="kernel", line=1, text=line) for line in places[1] if "\n" not in line),
    )
