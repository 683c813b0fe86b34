"""The closed vocabularies: enums whose values are the ids in the rule files and in the JSON. An id never changes its meaning."""

from __future__ import annotations

from enum import Enum


class Word(str, Enum):
    """An id out of a closed vocabulary; prints as the id itself."""

    def __str__(self) -> str:
        return str(self.value)


class Cause(Word):
    """What a diagnosis may name. The ids never change their meaning."""

    STARTUP_RACE = "startup-race"
    STARTUP_HANG = "startup-hang"
    STARTUP_TIMEOUT = "startup-timeout"
    SIGNAL_DEATH = "signal-death"
    EXIT_CODE_DEATH = "exit-code-death"
    RESTART_LOOP = "restart-loop"
    HOST_OOM = "host-oom"
    GPU_OOM_INIT = "gpu-oom-init"
    GPU_OOM_RUNTIME = "gpu-oom-runtime"
    CUDA_GRAPH_SIZE_MISMATCH = "cuda-graph-size-mismatch"
    CUDA_GRAPH_CAPTURE = "cuda-graph-capture"
    MASK_CORRUPTION = "mask-corruption"
    CUDA_FAULT = "cuda-fault"
    GPU_HARDWARE = "gpu-hardware"
    COLLECTIVE_FAILURE = "collective-failure"
    WATCHDOG_TIMEOUT = "watchdog-timeout"
    BAD_ARGUMENTS = "bad-arguments"
    BAD_ENVIRONMENT = "bad-environment"
    MODEL_LOAD = "model-load"
    PORT_IN_USE = "port-in-use"
    WRONG_ENDPOINT = "wrong-endpoint"
    EXEC_FAILURE = "exec-failure"
    FILE_ACCESS = "file-access"
    HOST_REBOOT = "host-reboot"
    DISK_FULL = "disk-full"
    OPERATOR_STOP = "operator-stop"
    MISTYPED_UNIT = "mistyped-unit"
    UNIT_MISSING = "unit-missing"
    EVIDENCE_MISSING = "evidence-missing"
    BENCH_OVERLOAD = "bench-overload"
    HEALTHY = "healthy"
    UNKNOWN = "unknown"


class Phase(Word):
    """A stretch of a server's life; phases may recur and come in any order."""

    LAUNCH = "launch"
    DISTRIBUTED_INIT = "distributed-init"
    WEIGHTS = "weights"
    KV_POOL = "kv-pool"
    ATTENTION_BACKEND = "attention-backend"
    CUDA_GRAPH = "cuda-graph"
    DRAFT_WORKER = "draft-worker"
    WARMUP = "warmup"
    BIND = "bind"
    READY = "ready"
    SERVING = "serving"
    STOPPING = "stopping"


class Role(Word):
    """What a matched line may be used for."""

    ROOT = "root"
    CASCADE = "cascade"
    MECHANISM = "mechanism"
    STATE = "state"
    SYMPTOM = "symptom"
    CONTEXT = "context"
    ADVICE_TEXT = "advice-text"
    BENIGN = "benign"


class Status(Word):
    """How firm a hypothesis is."""

    ESTABLISHED = "established"
    SUPPORTED = "supported"
    POSSIBLE = "possible"
    RULED_OUT = "ruled-out"


class Health(Word):
    """The state now, which need not be the state of the life that is explained."""

    HEALTHY = "healthy"
    STARTING = "starting"
    FAILED = "failed"
    STOPPED = "stopped"
    DEGRADED = "degraded"
    UNKNOWN = "unknown"


class EndKind(Word):
    """How the main process of a life ended."""

    SIGNAL = "signal"
    EXIT = "exit"
    OOM_KILL = "oom-kill"
    TIMEOUT = "timeout"
    WATCHDOG = "watchdog"
    STOPPED = "stopped"
    REBOOT = "reboot"
    NONE = "none"
    UNKNOWN = "unknown"


class EndBy(Word):
    """Who ended it."""

    ITSELF = "itself"
    CHILD = "a child"
    KERNEL = "kernel"
    SYSTEMD = "systemd"
    OPERATOR = "operator"
    UNKNOWN = "unknown"


class Direction(Word):
    """Which way a memory fraction (or another flag) has to go."""

    RAISE = "raise"
    LOWER = "lower"
    REBALANCE = "rebalance"


class Coverage(Word):
    """What is known about a piece of evidence; only READ proves an absence."""

    READ = "read"
    GIVEN = "given"
    EMPTY = "empty"
    CUT = "cut"
    DENIED = "denied"
    NOT_COLLECTED = "not-collected"


class Origin(Word):
    """Who wrote a line."""

    SERVER = "server"
    SYSTEMD = "systemd"
    KERNEL = "kernel"
    CLIENT = "client"
    ANY = "any"


class MaterialKind(Word):
    """What a text is that nobody recognised as a service's, for what can be concluded from it."""

    EMPTY = "empty"
    LOG = "log"  # its lines have times
    OUTPUT = "output"  # printed by a program, without times
    TEXT = "text"  # lines of which nothing can be said
    OTHER = "other"  # no program printed it while it served: a novel, code, a test run, requests


class PartKind(Word):
    """What a stretch of a section holds."""

    IS_ACTIVE = "is-active"
    STATUS = "status"
    SHOW = "show"
    UNIT_FILE = "unit-file"
    UNITS = "units"
    SOCKETS = "sockets"
    HEALTH = "health"
    GPU = "gpu"
    CLOCK = "clock"
    BOOTS = "boots"
    BOOT_ENDS = "boot-ends"
    PROCESSES = "processes"
    MACHINE = "machine"  # memory, pressure, driver, whether the clock is synchronised
    DISKS = "disks"
    UNIT_NOW = "unit-now"  # the files of the unit and its control group
    COREDUMPS = "coredumps"
    PACKAGES = "packages"
    JOURNAL_TEXT = "journal-text"
    JOURNAL_JSON = "journal-json"
    JOURNAL_EXPORT = "journal-export"
    KERNEL = "kernel"
    CONTAINER = "container"  # docker or podman inspect
    POD = "pod"  # kubectl get pod -o json, or describe
    EVENTS = "events"  # what a container engine or a cluster did
    SERVER = "server"
    CLIENT = "client"
    BENCH_JSON = "bench-json"
    NOTICE = "notice"  # a message of the tool that was asked ("No journal files were opened due to …")
    EMPTY = "empty"


class MarkKind(Word):
    """What a profile's line says about the course of a life."""

    # of a server
    ARGUMENTS = "arguments"
    BEGIN = "begin"
    END = "end"
    PROGRESS = "progress"
    LISTENING = "listening"
    READY = "ready"
    SERVING = "serving"
    STOPPING = "stopping"
    SELF_KILL = "self-kill"
    CHILD_EXIT = "child-exit"
    FINISHED = "finished"
    # of systemd
    STARTING = "starting"
    STARTED = "started"
    START_FAILED = "start-failed"
    STOP_ASKED = "stop-asked"
    STOPPED = "stopped"
    DEACTIVATED = "deactivated"
    EXITED = "exited"
    FAILED = "failed"
    RESTART = "restart"
    START_LIMIT = "start-limit"
    OOM_KILL = "oom-kill"
    START_TIMEOUT = "start-timeout"
    STOP_TIMEOUT = "stop-timeout"
    WATCHDOG = "watchdog"
    KILL_SENT = "kill-sent"
    # of the machine
    BOOT = "boot"
    SHUTDOWN = "shutdown"
    SOFTWARE = "software"  # a version, a driver, an environment: what a life ran on, no step of it
