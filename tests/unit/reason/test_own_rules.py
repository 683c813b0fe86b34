"""Of a line that a rule of this server knows, that rule speaks: one for any server need not be named to be outdone."""

from __future__ import annotations

from pathlib import Path

import pytest

import forensics
from forensics.model import Cause

LINE = "RuntimeError: CUDA out of memory. Tried to allocate 9.28 GiB."
PROFILE = """\
profile: acme
title: Acme server
launch: ['acme serve']
marks:
  - {mark: arguments, line: '^acme started with \\((?P<args>.+)\\)$', style: kwargs, samples: {hit: ['acme started with (port=80)']}}
"""
RULE = """\
- id: acme.oom
  cause: model-load
  role: root
  from: server
  server: [SERVER]
  line: 'CUDA out of memory\\. Tried to allocate (?P<gib>[0-9.]{1,8}) GiB'
  says: the weights do not fit
  source: a test
  samples:
    hit: [{text: 'RuntimeError: CUDA out of memory. Tried to allocate 9.28 GiB.'}]
    miss: [{text: 'CUDA out of luck'}]
"""
JOURNAL = f"""\
2026-05-09T10:00:00+0000 gpu07 systemd[1]: Started acme.service - Acme.
2026-05-09T10:00:01+0000 gpu07 acme[4100]: acme started with (port=80)
2026-05-09T10:00:26+0000 gpu07 acme[4100]: {LINE}
2026-05-09T10:00:27+0000 gpu07 systemd[1]: acme.service: Main process exited, code=exited, status=1/FAILURE
2026-05-09T10:00:27+0000 gpu07 systemd[1]: acme.service: Failed with result 'exit-code'.
"""


@pytest.mark.parametrize(("server", "cause"), [("acme", Cause.MODEL_LOAD), ("sglang", Cause.GPU_OOM_INIT)], ids=["of this server", "of another"])
def test_a_rule_of_the_server_itself_speaks(tmp_path: Path, server: str, cause: Cause) -> None:
    rules, evidence = tmp_path / "rules", tmp_path / "evidence"
    for folder in (rules, evidence):
        folder.mkdir()
    (rules / "acme.yaml").write_text(PROFILE, encoding="utf-8")
    (rules / "causes.yaml").write_text(RULE.replace("SERVER", server), encoding="utf-8")
    (evidence / "journal.txt").write_text(JOURNAL, encoding="utf-8")
    (found,) = forensics.diagnose([str(evidence)], unit="acme.service", rules=forensics.load_rules(rules))
    assert found.cause is cause
