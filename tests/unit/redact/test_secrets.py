"""What leaves the program is harmless on a terminal and holds no secrets; what helps a reader survives."""

from __future__ import annotations

import time
from pathlib import Path

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
    "ddforensics: /etc/passwd: permission denied",
    "passwd: permission denied",
    "token usage: 0.86",
    "tokens: 4096",
    "#token: 141473",
    "#new-token: 512, #cached-token: 0, token usage: 0.00",
    "--max-tokens 5 --tokenizer /m --pad-token-id 3 --tokens 5",
    "max_tokens=16, completion_tokens=5, pad_token_id=151643, bos_token=None",
    '{"token": "hello", "logprob": -0.1, "bytes": [1]}',
    '"prompt_tokens": 12, "completion_tokens": 4, "total_tokens": 16',
    'audit: type=1701 comm="x" exe="/usr/bin/x" sig=11 res=1',
    "sig: 9, sig=SIGKILL signature: (a, b) -> c",
    "cat: /run/secrets/db_password: No such file or directory",
    "systemd-ask-password-wall.path: Deactivated successfully.",
    "--- PASS: TestX1 (0.00s)",
    "pass: 3 n_pass=2 forward_pass=1",
    "pam_unix(sudo:auth): auth could not identify password for [x]",
    "api_key: str, hf_token: Optional[str] = None",
    "http://127.0.0.1:30000/users/@me http://h:8000/v1?email=a@b.c",
    "pip install git+ssh://git@github.com:org/repo.git@v1.0 docker://reg:5000/img@sha256:abc",
    "docker pull: Digest: sha256:0123 Status: ok",
    "Use --api-key to set the key; --api-key is required",
    'WWW-Authenticate: Bearer realm="x"',
    "Bearer token missing; Basic auth disabled",
    "PWD=/root OLDPWD=~ pwd=/x",
    "KeyError: 'token'",
    "token_type: bearer, keys: 3, key=value, cache_key=abc",
    "choices: ('token', 'user')",
    "password=None, api_key=None, hf_token=None)",
    "auth: none",
    "self.token = self.config.token",
    "stop_token_ids=[1, 2], eos_token_id=[151645, 151643], stop_token=['</s>']",
    "Qwen/Qwen3-32B deepseek-ai/DeepSeek-R1-0528 sk-learn llama-3.1-70b",
    "[--api-key API_KEY] [--ssl-keyfile-password SSL_KEYFILE_PASSWORD]",
    "---------------Inter-Token Latency----------------",
    "Environment=HF_TOKEN= PORT=30000",
    "deploy ALL=(ALL) NOPASSWD: ALL",
    "docker run -p 8080:80 -u 1000:1000 img; mysqld --port 3306; curl -u ann http://h/",
    "wandb: Syncing to git commit 0123456789abcdef0123456789abcdef01234567",
    "Failed to set up credentials: Invalid argument",
    "llm.service: Failed to set up credentials: Permission denied",
    "cannot read the token: No such file or directory; giving up",
    "the password is required; password is too short; password is sha256 hashed, is base64",
    "Failed password for ann from 10.0.0.1 port 22 ssh2",
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "  Boot ID: 3f0c2b6d7e8a4c51b2d39a60f1e2c3d4 _SYSTEMD_INVOCATION_ID=5a17c0ffee0000000000000000000001",
    "GPU-8f2f6a7e-1c2d-4e5f-9a0b-123456789abc (UUID)",
    "__CURSOR=s=0639ab;i=1f;b=3f0c2b6d7e8a4c51b2d39a60f1e2c3d4;m=2d1;t=5b;x=77",
    "gzip -P dir; unzip x.zip; ldapsearch -h host; vault login -method=oidc; echo done | sudo tee x",
    "max_total_num_tokens=412306 token usage: 0.5 eos_token_id 2 --tokenizer-path /m access token usage is 12",
    "/usr/lib/python3/dist-packages/A1bcdefghijklmnopqrstuvwxyz/ABCDEFGH/abc/def/g",
    "api key validation took 3 ms; access key rotation v2",
    "mysql.service: Main process exited, code=exited, status=1/FAILURE",
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

# (text, what is shown): hidden whole, and no more than the value
SHOWN = [
    ('password="""abc"""', 'password="""[masked]"""'),
    ("--api-key K1 K2 for the tests", "--api-key [masked] [masked] for the tests"),
    ("api_key=['k1x', 'k2x']", "api_key=['[masked]', '[masked]']"),
    ("{'api_key': ['k1x']}", "{'api_key': ['[masked]']}"),
    ('"api_key": ["x1x"], "port": 3', '"api_key": ["[masked]"], "port": 3'),
    ("api_key=('a1a',), port=1", "api_key=('[masked]',), port=1"),
    (
        "non-default args: {'model': '/m', 'api_key': ['k1x', 'k2x'], 'port': 8000}",
        "non-default args: {'model': '/m', 'api_key': ['[masked]', '[masked]'], 'port': 8000}",
    ),
    ("vllm serve m --api-key K1x exited with code 1", "vllm serve m --api-key [masked] exited with code 1"),
    ("--api-key exited K2x then", "--api-key [masked] [masked] then"),
    ("credentials: invalid argument1", "credentials: [masked] argument1"),
    ("credentials: permission deniedX", "credentials: [masked] deniedX"),
    ("credentials=permission denied", "credentials=[masked] denied"),
    ("api_keys=[k1x, k2x]", "api_keys=[[masked], [masked]]"),
    ("vllm serve m --api-key K1x K2x K3x --port 8000", "vllm serve m --api-key [masked] [masked] [masked] --port 8000"),
    ("['vllm', '--api-key', 'K1x', 'K2x', '--port', '8000']", "['vllm', '--api-key', '[masked]', '[masked]', '--port', '8000']"),
    ('"Cmd": ["vllm", "--api-key", "K1x"]', '"Cmd": ["vllm", "--api-key", "[masked]"]'),
    ("PASS=hunter", "PASS=[masked]"),
    ("DB_PASS=hunter", "DB_PASS=[masked]"),
    ("DB_PASS=12345678", "DB_PASS=[masked]"),
    ("MYSQL_PWD=hunter", "MYSQL_PWD=[masked]"),
    ("pwd=hunter", "pwd=[masked]"),
    ("auth=hunter", "auth=[masked]"),
    ("SECRET_KEY_BASE=hunter", "SECRET_KEY_BASE=[masked]"),
    ("API_TOKEN=1234567890", "API_TOKEN=[masked]"),
    ("API_TOKEN: 1234567890", "API_TOKEN: [masked]"),
    ("password=ab;cdx", "password=[masked]"),
    ("password=ab,cdx", "password=[masked]"),
    ("password=ab&cdx more", "password=[masked] more"),
    ("password=ab'cdx more", "password=[masked] more"),
    ("git https://user:p@ssW0rd@host/x", "git https://user:[masked]@host/x"),
    ("http://u:p/wx@host/", "http://u:[masked]@host/"),
    ("//u:pwx@h", "//u:[masked]@h"),
    ("postgresql://u:pa:ss/x@host:5432/db", "postgresql://u:[masked]@host:5432/db"),
    ('{"password": "a\\"tail", "x": 1}', '{"password": "[masked]", "x": 1}'),
    ("{'password': 'abc\\'def', 'x': 1}", "{'password': '[masked]', 'x': 1}"),
    ('"{\\"password\\": \\"abc\\", \\"x\\": 1}"', '"{\\"password\\": \\"[masked]\\", \\"x\\": 1}"'),
    ("api_key=SecretStr('xyz')", "api_key=SecretStr('[masked]')"),
    ("api_key=SecretStr(value='xyz'), port=1", "api_key=SecretStr(value='[masked]'), port=1"),
    ("Authorization: ApiKey xyz", "Authorization: ApiKey [masked]"),
    ("Authorization: xyz", "Authorization: [masked]"),
    ("Authorization: Bearer abcdefgh", "Authorization: Bearer [masked]"),
    ("bearer abcdefghijk", "bearer [masked]"),
    ('Authorization: Digest username="Mufasa", realm="r", response="6629fae4"', "Authorization: Digest [masked]"),
    ("Authorization: AWS4-HMAC-SHA256 Credential=AKID/2020, SignedHeaders=host, Signature=fe5f80f", "Authorization: AWS4-HMAC-SHA256 [masked]"),
    ("Cookie: sid=abc; csrftoken=def", "Cookie: [masked]"),
    ("Set-Cookie: sid=abc; Path=/; HttpOnly", "Set-Cookie: [masked]"),
    ('curl -H "Cookie: sid=abc; t=def" http://h:1/', 'curl -H "Cookie: [masked]" http://h:1/'),
    ('curl -H "Authorization: ApiKey xyz" http://h:1/v1', 'curl -H "Authorization: ApiKey [masked]" http://h:1/v1'),
    (
        "Headers([(b'host', b'h'), (b'authorization', b'Bearer xyz'), (b'cookie', b'sid=abc')])",
        "Headers([(b'host', b'h'), (b'authorization', b'Bearer [masked]'), (b'cookie', b'[masked]')])",
    ),
    (
        "DefaultEndpointsProtocol=https;AccountName=n;AccountKey=abc/def+gh==;EndpointSuffix=core",
        "DefaultEndpointsProtocol=https;AccountName=n;AccountKey=[masked]",
    ),
    ("https://a.blob.core.windows.net/c?sv=2020&sig=abc%2Bdef%3D&se=1", "https://a.blob.core.windows.net/c?sv=2020&sig=[masked]&se=1"),
    ("https://s3/x?X-Amz-Signature=fe5f80f77d5fa3be&X-Amz-Date=1", "https://s3/x?X-Amz-Signature=[masked]&X-Amz-Date=1"),
    ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", "https://hooks.slack.com/services/[masked]"),
    ("https://api.telegram.org/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/send", "https://api.telegram.org/bot123456789:[masked]/send"),
    ("bot token 123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "bot token 123456789:[masked]"),
    ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "sk_live_[masked]"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm_[masked]"),
    ("dckr_pat_abcdefghijklmnopqrstuvwxy", "dckr_pat_[masked]"),
    ("pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAw", "pypi-[masked]"),
    ("r8_abcdefghijklmnopqrstuvwxyz0123456789", "r8_[masked]"),
    ("gsk_abcdefghijklmnopqrstuvwxyz0123456789", "gsk_[masked]"),
    ("xoxb-123456789012-abcdefghij glpat-abcdefghij0123456789", "xoxb-[masked] glpat-[masked]"),
    ("clientSecret: abc1, accessToken=def1, dbPass=ghi1", "clientSecret: [masked], accessToken=[masked], dbPass=[masked]"),
    ('password := "hunter"', 'password := "[masked]"'),
    ("token=None,password=hunter", "token=None,password=[masked]"),
    ("hf_token=[x1y, 'q1r']", "hf_token=[[masked], '[masked]']"),
    ("auth=('us3r', 'hunter')", "auth=('[masked]', '[masked]')"),
    ("credentials={'user': 'hunter'}", "credentials={'user': '[masked]'}"),
    ("api_key=['abc def', 'ghi jkl", "api_key=['[masked]', '[masked]"),
    ('--password "a b\\" c" --tp 2', '--password "[masked]" --tp 2'),
    ('api_key="abc def', 'api_key="[masked]'),
    ("password=(abc)def", "password=[masked]"),
    ("password=[abc", "password=[masked]"),
    ("password={abc}def", "password=[masked]"),
    ("secret=b'abc'", "secret=b'[masked]'"),
    ("key=abc https://maps/x?key=qqqq1", "key=abc https://maps/x?key=[masked]"),
    ("X-Auth-Token: abc1", "X-Auth-Token: [masked]"),
    ("mysql -u root -phunter2x db", "mysql -u root -p[masked] db"),
    ("mysqldump\0-phunter2x\0db", "mysqldump\0-p[masked]\0db"),
    ("curl -s -u ann:hunter2x http://h/", "curl -s -u ann:[masked] http://h/"),
    ("['curl', '-u', 'ann:hunter2x', 'http://h/']", "['curl', '-u', 'ann:[masked]', 'http://h/']"),
    ("sshpass -p hunter2x ssh h", "sshpass -p [masked] ssh h"),
    ("redis-cli -h h -a hunter2x ping", "redis-cli -h h -a [masked] ping"),
    ("docker login -u ann -p hunter2x ghcr.io", "docker login -u ann -p [masked] ghcr.io"),
    ("docker\0login\0-u\0ann\0-p\0hunter2x\0ghcr.io", "docker\0login\0-u\0ann\0-p\0[masked]\0ghcr.io"),
    ("echo hunter2x | sudo -S ls", "echo [masked] | sudo -S ls"),
    ("machine h login ann password hunter", "machine h login ann password [masked]"),
    ("  password hunter2x", "  password [masked]"),
    ("the password is hunter2x.", "the password is [masked]"),
    (
        "wandb: Appending key for api.wandb.ai to your netrc file: 0123456789abcdef0123456789abcdef01234567",
        "wandb: Appending key for api.wandb.ai to your netrc file: [masked]",
    ),
    ("wandb login --relogin 0123456789abcdef0123456789abcdef01234567", "wandb login --relogin [masked]"),
    ("aws configure set aws_secret_access_key wJalrXUtnFEMI", "aws configure set aws_secret_access_key [masked]"),
    ("AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AKIA[masked] [masked]"),
    ('"identitytoken": "abc1"', '"identitytoken": "[masked]"'),
    ("client-key-data: LS0tLS1CRUdJTiBQUklW", "client-key-data: [masked]"),
    ("line\\nhf_abcdefghijklmnopqrstuvwxyz0123", "line\\nhf_[masked]"),
    ("\x1b[1mhf_abcdefghijklmnopqrstuvwxyz0123\x1b[0m", "\x1b[1mhf_[masked]\x1b[0m"),
    ("key 10:15:18 app: kHq0LBBoONF1BjyD41Pqu1dV8WjwB9yjzhixlTgnVxgaayFVGvwZNeQjyfbzU1q1", "key 10:15:18 app: [masked]"),
    ("ya29.a0AfH6SMBabcdefghijklmnop GOCSPX-abcdefghijklmnopqrst", "ya29.[masked] GOCSPX-[masked]"),
]


@pytest.mark.parametrize("text", SURVIVES)
def test_what_is_no_secret_survives(text: str) -> None:
    assert redact.secrets(text) == text


@pytest.mark.parametrize(("text", "secret"), MASKED, ids=[text[:40] for text, _ in MASKED])
def test_a_secret_is_masked(text: str, secret: str) -> None:
    masked = redact.secrets(text)
    assert secret not in masked
    assert redact.MASK in masked


@pytest.mark.parametrize(("text", "shown"), SHOWN, ids=[text[:40] for text, _ in SHOWN])
def test_the_whole_secret_and_nothing_else_is_masked(text: str, shown: str) -> None:
    assert redact.secrets(text) == shown
    assert redact.secrets(shown) == shown
    assert redact.secrets_in_bytes(text.encode()) == shown.encode()


def test_a_list_over_several_lines_is_masked_and_keeps_its_lines() -> None:
    text = '{\n  "api_key": [\n    "k1",\n    "k2"\n  ],\n  "port": 30000\n}\n'
    assert redact.secrets(text) == text.replace("k1", redact.MASK).replace("k2", redact.MASK)


def test_a_flag_and_its_value_in_two_lines_are_known_as_one() -> None:
    for text in ("args:\n  - --api-key\n  - k1x\n  - --port\n", '[\n  "--api-key",\n  "k1x",\n  "--port"\n]', "vllm --api-key \\\n  k1x --port 1"):
        assert redact.secrets(text) == text.replace("k1x", redact.MASK)


def test_the_values_of_a_kubernetes_secret_are_masked_and_those_of_a_config_map_are_not() -> None:
    text = "kind: Secret\nmetadata:\n  name: x\ndata:\n  user: YW5u\n  db: czNjcjN0\n---\nkind: ConfigMap\ndata:\n  user: ann\n  size: '3'\n"
    assert redact.secrets(text) == text.replace("YW5u", redact.MASK).replace("czNjcjN0", redact.MASK)


def test_a_coloured_name_and_value_are_masked_between_their_colours() -> None:
    assert redact.secrets("\x1b[36mapi_key\x1b[0m=\x1b[35mk1x\x1b[0m port=1") == f"\x1b[36mapi_key\x1b[0m=\x1b[35m{redact.MASK}\x1b[0m port=1"


PIECES = (
    *(
        "password",
        "=",
        ": ",
        "'",
        '"',
        "\\",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        ",",
        ";",
        " ",
        "\n",
        "a",
        "x1",
        "[masked]",
        "api_key",
        "--api-key",
        "token",
    ),
    *(
        "//u:",
        "@h",
        "/",
        "Authorization: ",
        "Bearer ",
        "Cookie: ",
        "hf_abcdefghijklmnopq1",
        "&",
        "?key=",
        "None",
        "5",
        "SecretStr(",
        "b'",
        "auth",
        "passwd: ",
        "curl -u a:",
        "mysql -p",
        "password is ",
        "login a password ",
        "a1b2c3",
    ),
)


@given(st.lists(st.sampled_from(PIECES), max_size=16))
def test_masking_is_idempotent_and_keeps_the_number_of_lines(pieces: list[str]) -> None:
    text = "".join(pieces)
    once = redact.secrets(text)
    assert redact.secrets(once) == once
    assert once.count("\n") == text.count("\n")


def test_an_ordinary_log_is_left_as_it_is() -> None:
    log = (Path(__file__).parents[3] / "samples" / "healthy" / "server.log").read_bytes()
    assert redact.secrets_in_bytes(log) == log


HOSTILE = (
    *(
        "password=[ ,",
        "password='",
        'password="x\\"',
        "api_key=['a',",
        "--api-key a ",
        "-",
        "//a:",
        "//a:b@",
        "//u:x/",
        "http://",
        'authorization: "',
    ),
    *(
        "cookie: a'",
        "bearer ",
        "token=1,",
        "token=(1,",
        "[masked]",
        "\\",
        "sig=/",
        "password=[\n",
        "password=['\n",
        "password=)",
        "eyJ",
        "curl -u a:",
        "mysql -p",
        "wandb key ",
        "password is ",
        "default login a password ",
        "kind: Secret\ndata:\n a: b\n",
        "AKIAIOSFODNN7EXAMPLE ",
        "123456789:",
    ),
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_repeated_text_costs_more_than_its_length(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    masked = redact.secrets(text)
    assert time.process_time() - began < 20.0
    assert masked.count("\n") == text.count("\n")


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
    text = "a_token_" * 20_000 + "key=" * 20_000
    began = time.perf_counter()
    redact.secrets(text)
    assert time.perf_counter() - began < 20.0


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"name":"DB_PASSWORD","value":"Zx81Kq9vLmW3"}', '{"name":"DB_PASSWORD","value":"[masked]"}'),
        ('{"name":"max_tokens","value":"4096"}', '{"name":"max_tokens","value":"4096"}'),
        ("SMTP_PASS: Zx81Kq9vLmW3", "SMTP_PASS: [masked]"),
        ("PASS: test_1", "PASS: test_1"),
        ("access_token%253DZq7Lm2Xw9Pb4Rt6Y", "access_token%253D[masked]"),
        ("https://Zq7Lm2Xw9Pb4Rt6Yk1Vn8Jd3@github.com/x", "https://[masked]@github.com/x"),
        ("https://Zq7Lm2Xw9Pb4Rt6Yk1Vn8Jd3:x-oauth-basic@github.com/x", "https://[masked]:[masked]@github.com/x"),
    ],
)
def test_what_was_found_by_trying_to_get_secrets_through(text: str, shown: str) -> None:
    assert redact.secrets(text) == shown


def test_a_secret_behind_escaped_quotes_of_a_web_page_is_masked() -> None:
    assert "Zq7Lm2Xw9Pb4" not in redact.secrets("{&quot;token&quot;:&quot;Zq7Lm2Xw9Pb4Rt6Y&quot;}")
