"""What the commands need of the pipeline, so that a test can hand in another. Imports the real one only when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import click

if TYPE_CHECKING:
    from forensics.model import Diagnosis


class Pipeline(Protocol):
    """The part of ``forensics.api`` that the command line uses."""

    def diagnose(self, target_words: Sequence[str] | str, /, **how: Any) -> Sequence[Diagnosis]: ...

    def exit_code(self, diagnoses: Sequence[Diagnosis], /) -> int: ...


def pipeline(ctx: click.Context) -> Pipeline:
    """The pipeline given to ``main``, else the real one."""
    if ctx.obj is not None:
        given: Pipeline = ctx.obj
        return given
    from forensics import api

    class Real:
        def diagnose(self, target_words: Sequence[str] | str, /, **how: Any) -> Sequence[Diagnosis]:
            return api.diagnose(target_words, **how)

        def exit_code(self, diagnoses: Sequence[Diagnosis], /) -> int:
            return api.exit_code(diagnoses)

    return Real()
