"""A rule file of one's own, for the tests of the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

OWN = """\
- id: my.truncated
  cause: model-load
  role: root
  line: 'shard (?P<shard>[0-9]{1,5}) is (?P<left>[0-9]+ [KMG]iB) short'
  captures: {shard: int, left: mib}
  says: 'shard {shard} is {left} short'
  source: seen here
  samples: {hit: [{text: shard 7 is 3 GiB short}], miss: [{text: shard 7 is well}]}
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rule file, in a folder to stand in; no home folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "mine.yaml"
    path.write_text(OWN, encoding="utf-8")
    return path
