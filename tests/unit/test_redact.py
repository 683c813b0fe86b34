"""What leaves the program is harmless on a terminal and holds no secrets; what helps a reader survives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics import redact

SURVIVES = [
    "--mem-fraction-static 0.88 --max-total-tokens 524288 --tokenizer-path /models/Qwen3-32B",
    "server_args=ServerArgs(model_path='/models/Qwen3-32B', api_key=None, hf_token=None, max_total_tokens=1024, port=30000)",
    "max_total_num_tokens=412306, chunked_prefill_size=8192, max_prefill_tokens=16384, token usage: 0.42, #queue-req: 3",
    "Decode batch, #running-req: 3, #token: 1234, token usage: 0.10, gen throughput (token/s): 41.20",
    "eos_token='<|im_end|>', pad_token='<|endoftext|>', bos_token: <s>",
    "KeyError: 'model.layers.0.self_attn.q_proj.weight'",
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    "sglang-qwen.service: Main process exited, code=killed, status=9/KILL",
    "json.decoder.JSONDecodeError: unexpected token: identifier",
    "OSError: You are trying to access a gated repo. Access to model meta-llama/Llama-3 is restricted. Please log in with a token",
    "permission denied (publickey,password).",
    "http://127.0.0.1:30000/v1/models and postgresql://db:5432/x",
    "--add-bos-token true --api-key --port 30000",
    "commit 3f0c2b6d7e8a4c51b2d39a60f1e2c3d4 of task-scheduler-with-a-long-name",
    "Environment: PWD=/root HOME=/root KEY=value cache key: 7, monkey=1",
    "basic configuration ok; bearer of bad news",
]

MASKED = [
    ("Authorization: Bearer abcDEF123456789", "abcDEF123456789"),
    ("curl -H 'Authorization: Basic dXNlcjpwYXNz='", "dXNlcjpwYXNz="),
    ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123", "abcdefghijklmnopqrstuvwxyz0123"),
    ("using hf_abcdefghijklmnopqrstuvwxyz0123 for downloads", "abcdefghijklmnopqrstuvwxyz0123"),
    ("OpenAI key sk-proj-Ab12Cd34Ef56Gh78Ij90 used", "Ab12Cd34Ef56Gh78Ij90"),
    ("aws_access_key_id AKIAIOSFODNN7EXAMPLE here", "IOSFODNN7EXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("python -m server --api-key s3cr3t --port 30000", "s3cr3t"),
    ("python -m server --api-key=s3cr3t --port 30000", "s3cr3t"),
    ("--admin-api-key 'two words' --port 1", "two words"),
    ("api_key='abc def', port=1", "abc def"),
    ('{"api_key": "abc", "port": 30000}', '"abc"'),
    ("PASSWORD=12345678 started", "12345678"),
    ("db password: hunter2;", "hunter2"),
    ("docker run -e PGPASSWORD=hunter2 postgres", "hunter2"),
    ("X-API-Key: 0123abc", "0123abc"),
    ("GET /v1?token=abc123def&x=1", "abc123def"),
    ("git clone https://user:pa55word@example.com/x.git", "pa55word"),
    ("git clone https://0123456789abcdef0123456789abcdef@example.com/x.git", "0123456789abcdef"),
    ("redis://:pa55word@cache:6379/0", "pa55word"),
    ("pushed with ghp_0123456789abcdefghij0123456789abcdef", "0123456789abcdefghij"),
    ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "eyJzdWIiOiIxIn0"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----", "MIIEow"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ==", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"),
    ("key=-----BEGIN PRIVATE KEY-----\\nMIIEow\\n-----END PRIVATE KEY-----", "MIIEow"),
]


@pytest.mark.parametrize("text", SURVIVES)
def test_what_is_no_secret_survives(text: str) -> None:
    assert redact.secrets(text) == text


@pytest.mark.parametrize(("text", "secret"), MASKED, ids=[text[:40] for text, _ in MASKED])
def test_a_secret_is_masked(text: str, secret: str) -> None:
    masked = redact.secrets(text)
    assert secret not in masked
    assert redact.MASK in masked


def test_the_flags_and_figures_around_a_secret_stay() -> None:
    masked = redact.secrets("llm --api-key s3cr3t --tp 8 --mem-fraction-static 0.88")
    assert masked == f"llm --api-key {redact.MASK} --tp 8 --mem-fraction-static 0.88"


@given(st.text(alphabet=st.sampled_from("aA0=:'\" -_/@.tokenpwdsikey\n\\[]m"), max_size=120))
def test_masking_twice_is_masking_once(text: str) -> None:
    once = redact.secrets(text)
    assert redact.secrets(once) == once


@pytest.mark.parametrize("text", [text for text, _ in MASKED])
def test_masking_a_masked_secret_changes_nothing(text: str) -> None:
    once = redact.secrets(text)
    assert redact.secrets(once) == once


def test_a_private_key_in_a_journal_keeps_its_stamps_and_its_number_of_lines() -> None:
    lines = [
        "10:15:18 app[1]: -----BEGIN RSA PRIVATE KEY-----",
        "10:15:18 app[1]: MIIEowIBAAK",
        "10:15:18 app[1]: -----END RSA PRIVATE KEY-----",
        "10:15:19 up",
    ]
    masked = redact.secrets("\n".join(lines)).split("\n")
    assert masked == [lines[0], f"10:15:18 app[1]: {redact.MASK}", *lines[2:]]


def test_a_message_that_names_the_marker_of_a_key_does_not_cost_the_log_behind_it() -> None:
    text = "ssl: expected -----BEGIN PRIVATE KEY-----\nRuntimeError: Not enough memory.\nanother line\n"
    assert redact.secrets(text) == text


def test_bytes_that_are_no_text_pass_unchanged() -> None:
    assert redact.secrets_in_bytes(b"\xff\xfe\x00 PASSWORD=x \xc3\xa9") == b"\xff\xfe\x00 PASSWORD=" + redact.MASK.encode() + b" \xc3\xa9"


def test_a_long_line_costs_little_time() -> None:
    import time

    text = "a_token_" * 20_000 + "key=" * 20_000
    began = time.perf_counter()
    redact.secrets(text)
    assert time.perf_counter() - began < 2.0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[1;36m(EngineCore_0 pid=12)\x1b[0;0m ERROR", "(EngineCore_0 pid=12) ERROR"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H"),
        ("a\x00b", "a\\x00b"),
        ("one\ttwo", "one two"),
        ("50%\r100%", "50%\\r100%"),
        ("two\nlines", "two\\nlines"),
        ("exe\u202egpj", "exe\\u202egpj"),
        ("\u2066\u200b\ufeff", "\\u2066\\u200b\\ufeff"),
        ("\x9b31m", "\\x9b31m"),
        ("caf\udce9", "caf\\xe9"),
        ("\U000e0041", "\\U000e0041"),
        ("模型 →", "模型 →"),
        ("no\u00a0break", "no break"),
        ("a\u2028b", "a\\u2028b"),
    ],
)
def test_control_characters_are_shown(text: str, shown: str) -> None:
    assert redact.neutralise(text) == shown


@given(st.text())
def test_anything_neutralised_is_printable(text: str) -> None:
    assert redact.neutralise(text).isprintable()
