"""Two diagnoses to print: incident A (died in kv-pool) and incident B (still loading). Made by hand, with the words of the real logs."""

from __future__ import annotations

from forensics.model import (
    Advice,
    Cause,
    Change,
    ClientView,
    Coverage,
    Diagnosis,
    Direction,
    End,
    EndBy,
    EndKind,
    Evidence,
    Health,
    Hypothesis,
    Life,
    Moment,
    Phase,
    PhaseSpan,
    Progress,
    Role,
    Status,
    Warn,
)

A = 1778321718.0  # 2026-05-09 10:15:18 UTC
B = 1778324530.0  # 2026-05-09 11:02:10 UTC
OOM = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."


def died() -> Diagnosis:
    """A server that killed itself after 32.969 s, while a health check went on asking."""
    end = End(kind=EndKind.SIGNAL, by=EndBy.ITSELF, signal="SIGKILL", result="signal")
    phases = (
        PhaseSpan(phase=Phase.LAUNCH, started_at=A, took_s=16.0),
        PhaseSpan(phase=Phase.DISTRIBUTED_INIT, rank="TP0", started_at=A + 16, took_s=1.0),
        PhaseSpan(phase=Phase.WEIGHTS, rank="TP0", started_at=A + 17, took_s=15.0),
        PhaseSpan(phase=Phase.KV_POOL, rank="TP0", started_at=A + 32, took_s=0.969),
    )
    return Diagnosis(
        target="samples/silent-crash",
        host="gpu01",
        unit="sglang-qwen.service",
        server="sglang",
        server_version="0.5.4…0.5.9",
        captured_at=A + 33 + 540,
        took_s=0.214,
        health=Health.FAILED,
        cause=Cause.GPU_OOM_INIT,
        status=Status.ESTABLISHED,
        direction=Direction.RAISE,
        also=(Cause.SIGNAL_DEATH,),
        headline="sglang-qwen.service died after 32.9s in kv-pool: nothing of the static fraction is left for the KV-cache pool once the weights are loaded",
        phase=Phase.KV_POOL,
        progress=None,
        started_at=A,
        died_at=A + 32.969,
        died_after_s=32.969,
        end=end,
        client=ClientView(tool="health check", first_error_at=A, last_error_at=A + 600, refused=61, asked=61, wasted_s=567.031),
        evidence=(
            Evidence(source="journal.txt", line=26, at=A + 32, text=OOM, rule="sglang.kv-pool-too-small", role=Role.ROOT),
            Evidence(
                source="journal.txt",
                line=18,
                at=A + 32,
                text="Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=10.92 GB, mem usage=83.38 GB.",
                rule="sglang:end:weights#1",
                role=Role.CONTEXT,
            ),
            Evidence(
                source="journal.txt",
                line=27,
                at=A + 32,
                text="Received sigquit from a child process. It usually means the child failed.",
                rule="sglang:self-kill#1",
                role=Role.CASCADE,
            ),
            Evidence(
                source="journal.txt",
                line=28,
                at=A + 33,
                text="sglang-qwen.service: Main process exited, code=killed, status=9/KILL",
                rule="systemd:exited#1",
                role=Role.MECHANISM,
            ),
            Evidence(source="status.txt", line=4, at=A + 33, text="Duration: 32.969s", rule=None, role=Role.MECHANISM),
        ),
        hypotheses=(
            Hypothesis(
                cause=Cause.GPU_OOM_INIT,
                status=Status.ESTABLISHED,
                for_=("the server says so itself, in the life at issue", "0.88 of 94.30 GiB leaves -0.4 GiB beside weights of 83.38 GiB"),
                next="nvidia-smi --query-gpu=memory.total,memory.used --format=csv",
            ),
            Hypothesis(
                cause=Cause.MODEL_LOAD,
                status=Status.POSSIBLE,
                for_=("the draft model is new",),
                missing=("its files",),
                next="ls -l /models/Qwen3-32B-draft",
            ),
            Hypothesis(
                cause=Cause.HOST_OOM,
                status=Status.RULED_OUT,
                against=("the server logged that it kills its own process tree 1 s before the SIGKILL",),
            ),
            Hypothesis(cause=Cause.STARTUP_RACE, status=Status.RULED_OUT, against=("it died before it was ready",)),
        ),
        advice=(
            Advice(text="Raise --mem-fraction-static to at least 0.91", flag="--mem-fraction-static", direction=Direction.RAISE, from_=0.88, to=0.91),
            Advice(text="or roll back to the last good arguments", flag="--speculative-algorithm", from_="DDTREE", to="NEXTN"),
            Advice(
                text="then restart, and wait until it is ready",
                command="systemctl restart sglang-qwen.service && ddforensics wait gpu01 --unit sglang-qwen.service",
            ),
        ),
        changed=(Change(what="--speculative-algorithm", before="NEXTN", after="DDTREE", since="the last good life"),),
        phases=phases,
        lives=(
            Life(
                index=0,
                started_at=A - 86400,
                ended_at=A - 60,
                ready=True,
                ready_at=A - 86400 + 94.9,
                lived_s=86340.0,
                alive=False,
                end=End(kind=EndKind.STOPPED, by=EndBy.OPERATOR, result="success"),
            ),
            Life(index=1, started_at=A, ended_at=A + 32.969, lived_s=32.969, alive=False, phase=Phase.KV_POOL, end=end, phases=phases),
        ),
        timeline=(
            Moment(at=A - 60, source="systemd", text="Stopped sglang-qwen.service - SGLang Qwen with DDTree."),
            Moment(at=A, source="systemd", text="Started sglang-qwen.service - SGLang Qwen with DDTree."),
            Moment(at=A + 17, source="server", text="Load weight begin. avail mem=94.30 GB"),
            Moment(at=A + 32, source="server", text=OOM),
            Moment(at=A + 32.969, source="systemd", text="sglang-qwen.service: Main process exited, code=killed, status=9/KILL"),
        ),
        warnings=(),
        coverage={"journal": Coverage.READ, "status": Coverage.READ, "kernel": Coverage.NOT_COLLECTED, "bench": Coverage.GIVEN},
    )


def loading() -> Diagnosis:
    """A server that is still loading its weights while a benchmark is refused; the unit name was mistyped."""
    return Diagnosis(
        target="gpu01",
        host="gpu01",
        unit="sglang-k26-ddtree.service",
        server="sglang",
        captured_at=B + 171,
        health=Health.STARTING,
        cause=Cause.STARTUP_RACE,
        status=Status.SUPPORTED,
        headline="sglang-k26-ddtree.service has not crashed: it is still starting, up for 2m51.0s, in weights, 23 of 64 shards",
        phase=Phase.WEIGHTS,
        progress=Progress(done=23, of=64, what="shards", at=B + 171),
        started_at=B,
        active_for_s=171.0,
        ready_expected_at=B + 433,
        client=ClientView(tool="urllib", refused=12, asked=12),
        evidence=(
            Evidence(
                source="journal",
                line=41,
                at=B + 171,
                text="Loading safetensors checkpoint shards:  35% Completed | 23/64 [02:18<04:06,  6.02s/it]",
                role=Role.STATE,
            ),
        ),
        hypotheses=(
            Hypothesis(
                cause=Cause.STARTUP_RACE,
                status=Status.SUPPORTED,
                for_=("the process is alive and its last progress is 0.0s old", "12 of 12 requests were refused"),
            ),
            Hypothesis(cause=Cause.SIGNAL_DEATH, status=Status.RULED_OUT, against=("the unit is active and its main process lives",)),
        ),
        advice=(
            Advice(text="Wait until it is ready", command="ddforensics wait gpu01 --unit sglang-k26-ddtree.service"),
            Advice(text="A readiness check that the old process answered just before its restart is a false ready: check after the restart"),
        ),
        phases=(
            *(PhaseSpan(phase=Phase.DISTRIBUTED_INIT, rank=f"TP{n}", started_at=B + 24, took_s=7.0 + n / 4) for n in range(8)),
            *(PhaseSpan(phase=Phase.WEIGHTS, rank=f"TP{n}", started_at=B + 31) for n in range(8)),
        ),
        warnings=(
            Warn(
                kind="mistyped-unit",
                asked="sglash-k26-ddtree.service",
                meant="sglang-k26-ddtree.service",
                text="two letters differ; the empty answer to sglash-k26-ddtree.service proves nothing",
            ),
        ),
        coverage={"journal": Coverage.READ, "status": Coverage.READ, "kernel": Coverage.DENIED},
    )
