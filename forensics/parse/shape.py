"""What one line looks like: the shapes by which the parts of a file are told apart. Never looks at two lines and never decides what a part is."""

from __future__ import annotations

import re

from forensics import lazily
from forensics.model import Origin, PartKind
from forensics.parse import kernel
from forensics.parse.unwrap import SEPARATOR, journal_line

_STATES = "active|inactive|failed|activating|deactivating|reloading|refreshing|maintenance|unknown"
_UNIT = r"[\w:.\\@-]{1,250}\.(?:service|socket|target|timer|slice|scope|mount|path|device|swap|automount)"
STATE_WORD = lazily.pattern(rf"(?:{_STATES})\s*")
_STATE_ALONE = lazily.pattern(rf"(?:{_STATES})\s*\Z")

# a paste may have lost the bullet; then the description must be there
STATUS_HEAD = lazily.pattern(rf"(?:(?:[^\w\s]|[x*])\s+{_UNIT}(?: - .*)?|{_UNIT} - \S.*)\s*$")
STATUS_LOADED = lazily.pattern(r"\s{1,8}Loaded: (?:loaded|not-found|masked|error|bad-setting|bad)\b")
STATUS_KEY = lazily.pattern(r"\s{1,14}(?:Loaded|Drop-In|Transient|Active|Duration|Invocation|Docs|Process|Main PID|Cntrl PID|Status|Error|Tasks|Memory|CPU|CGroup|Condition|Assert"
                        r"|IP|IO|Triggers|TriggeredBy|FD Store|Follows|Where|What|Listen|Until|Since|Trigger|TriggerLimit|Accepted|Device): ?")  # fmt: skip
STATUS_TREE = lazily.pattern(r"\s{6,}\S|\s*[├└│]")
MISSING_UNIT = lazily.pattern(
    rf"(?:Unit {_UNIT} (?:could not be found|not found|not loaded)|No files found for {_UNIT}|Failed to (?:get properties|get unit file state).{{0,40}}: |Unit file {_UNIT} does not exist)"
)

SHOW_LINE = lazily.pattern(r"[A-Z][A-Za-z0-9]{1,60}=.*")
SHOW_SURE = lazily.pattern(
    r"(?:ActiveState|SubState|LoadState|ExecMainStatus|ExecMainCode|MainPID|NRestarts|FragmentPath|InvocationID|StatusErrno|UnitFileState|Result|ActiveEnterTimestamp)="
)
UNIT_SECTION = lazily.pattern(r"\[(?:Unit|Service|Install|Socket|Timer|Mount|Path|Slice|Scope|X-[\w-]+)\]\s*$")
UNIT_LINE = lazily.pattern(r"[A-Za-z][A-Za-z0-9-]{1,60}\s*=.*|[#;].*|\s*$")
UNIT_PATH = lazily.pattern(rf"# /\S*/{_UNIT}(?:\.d/[^\s/]+\.conf)?\s*$")

JSON_ENTRY = lazily.pattern(r'\x1e?\{.*"(?:MESSAGE|__REALTIME_TIMESTAMP|__CURSOR)" ?:')
PRETTY_FIELD = lazily.pattern(r'\s{1,8}"(?:MESSAGE|__REALTIME_TIMESTAMP|__CURSOR|_BOOT_ID)" ?:')
VERBOSE_HEAD = lazily.pattern(r"[^\s\[]{1,16} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? \S{1,16} \[s=[0-9a-f]{1,32};i=[0-9a-f]{1,16};")
EXPORT_HEAD = lazily.pattern(r"__(?:CURSOR|REALTIME_TIMESTAMP)=")

NOTICE = lazily.pattern(r"Hint: (?:You are currently not seeing messages|Some lines were ellipsized)|\s{6}(?:Users in (?:the|groups?) |turn off this notice|Pass -q to turn off)"
                    r"|No journal files were (?:opened|found)|(?:Failed to |Error )(?:connect to (?:system scope )?bus|open journal|get D-Bus connection|add match|query unit|determine boot|look up boot)"
                    r"|(?:bash|sh|-bash|zsh): (?:line \d+: )?[\w./-]+: (?:command not found|not found|No such file)|System has not been booted with systemd"
                    r"|dmesg: read kernel buffer failed|sudo: a (?:password|terminal) is required|Permission denied|ssh: |Warning: (?:The unit file|Journal|journal)|No data available$")  # fmt: skip

SOCKETS = lazily.pattern(r"(?:State|Netid|Proto)\s+(?:State\s+)?Recv-Q\s|(?:tcp\s+)?LISTEN\s+\d+\s+\d+\s+\S+:(?:\d+|\*)|tcp6?\s+\d+\s+\d+\s+\S+:\d+\s+\S+\s+LISTEN"
                     r"|Active Internet connections|COMMAND\s+PID\s+USER\s+FD\s|\S+\s+\d+\s+\S+\s+\d+u\s+IPv[46]\s.*\(LISTEN\)")  # fmt: skip
UNITS = lazily.pattern(rf"\s*UNIT\s+LOAD\s+ACTIVE\s+SUB|UNIT FILE\s+STATE|(?:[●○×x*] |\s{{0,2}}){_UNIT}\s+(?:loaded|not-found|masked|bad-setting|error|merged|stub)\s+(?:{_STATES})\s"
                   rf"|{_UNIT}\s+(?:enabled|disabled|static|masked|generated|transient|indirect|linked|alias)(?:-runtime)?(?:\s+\S+)?\s*$")  # fmt: skip
UNITS_TAIL = lazily.pattern(r"(?:LOAD|ACTIVE|SUB|JOB)\s+(?:=|→) |\d+ (?:loaded units|unit files) listed|To show all installed unit files|Legend: ")
BOOTS = lazily.pattern(r"IDX BOOT ID|\s*-?\d{1,4} [0-9a-f]{32} ")
# kubectl get events · what PodSession asks for · docker events · podman events
EVENTS = lazily.pattern(r"(?:NAMESPACE\s+)?LAST SEEN\s+(?:COUNT\s+NAME\s+KIND\s+)?TYPE\s+REASON\s|(?:[a-z0-9][a-z0-9-]{0,62}\s{1,60})?(?:(?:\d{1,5}[smhd]){1,3}|<unknown>)\s(?:\(x\d{1,9} over \w{1,12}\))?\s*(?:Normal|Warning)\s{1,20}[A-Z]\w{1,60}\s"
                    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z (?:Normal|Warning) [A-Z]\w{1,60} "
                    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d)(?: [A-Z+-]\w{1,5})? container [a-z][a-z_]{1,30}:? (?:\w{1,12} )?[0-9a-f]{12,64} [(]")  # fmt: skip
DOCKER_LOG = lazily.pattern(r'\{"log": ?"')
DESCRIBED = lazily.pattern(r"(?:Name|Namespace):\s+[a-z0-9]")
DESCRIBED_LINE = lazily.pattern(r"\s|[A-Z][A-Za-z -]{1,40}:|$")
POD_YAML = lazily.pattern(r"apiVersion: v1\s*$")
GPU = lazily.pattern(
    r"\| NVIDIA-SMI |\| Processes: +\|$|=+NVSMI LOG=+|(?:index|gpu_uuid|gpu_bus_id|pid|name|uuid), .{0,400}\b(?:memory\.(?:total|used)|used_(?:gpu_)?memory)\b"
)
MACHINE = lazily.pattern(r"(?:Mem|Swap|Commit|HugePages_|Active|Inactive|Sh?mem|S?Reclaim|Direct|Huge|Vmalloc|Writeback|Anon|Cma|Unevictable|Mlocked|Kernel|PageTables|Bounce|NFS|Slab|Mapped|Buffers|Cached|Dirty)[\w()]{0,24}:\s{1,16}\d{1,12}(?: kB)?\s*$"
                     r"|\s{10,}total\s+used\s+free\b|(?:Mem|Swap):\s+\d\S*\s+\d\S*\s+\d|NVRM version: NVIDIA |(?:Reference ID|Leap status)\s{1,8}: ")  # fmt: skip
DISKS = lazily.pattern(r"Filesystem\s.{1,200}\sMounted on\s*$")
DISKS_TAIL = lazily.pattern(r"\S.{0,200}\s(?:\d{1,3}%|-)\s+/")
PROCESSES = lazily.pattern(r"\s{0,8}(?:USER|UID|PID|PPID|F|S|STAT|%CPU)\s.{0,200}(?<= )(?:COMMAND|CMD)\s*$")
PROCESSES_TAIL = lazily.pattern(r"\s{0,12}(?:\d{1,10}\s+\S|[\w.+@-]{1,64}\s+\d{1,10}\s+\S)")
COREDUMPS = lazily.pattern(
    r"TIME\s+PID\s+UID\s+GID\s+SIG\s|\s{6,12}PID: \d{1,10} \(|[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S{1,10}\s+\d+\s+\d+\s+\d+\s+SIG[A-Z]{3,6}\s"
)
PACKAGES = lazily.pattern(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:(?:install|upgrade|remove|purge|configure|trigproc) [a-z0-9][a-z0-9+.-]{0,100}:\S{1,20} \S+ \S+|status [a-z-]{4,20} [a-z0-9][a-z0-9+.-]{0,100}:\S{1,20} \S+|startup (?:archives|packages) \S+|conffile /\S+ \S+)\s*$"
                      r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d{4}) \w{1,12} (?:Installed|Upgraded?|Erased?|Reinstalled): \S|\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}\] \[(?:ALPM|PACMAN)[\w-]{0,20}\] ")  # fmt: skip

# what the output of a client is called: "healthy.log", "reload.log" and "loading.txt" are a server's
CLIENT_NAME = lazily.pattern(r"bench|client|(?<![a-z])(?:health(?:z|[_-]?checks?)?|evals?|evaluat\w{1,5}|load(?:[_-]?(?:test|gen)\w{0,8})?)(?![a-z])")
# what only a client or a benchmark writes, at the start of its line
CLIENT_SURE = lazily.pattern(r"\s{0,6}\d+(?:\.\d+)? ?s? (?:un)?healthy\b|=+ Serving Benchmark Result =+|curl: \(\d+\)|[\w./-]+\s+(?:ERROR|FAIL\w*)\b.*(?:URLError|urlopen error|Connection refused|ConnectionRefused|Errno 111)"
                         r"|Waiting for endpoint|Initial test run |Starting (?:initial|main) .*(?:test|benchmark)|(?:benchmark_args=)?Namespace\(.*(?:num_prompts|request_rate|dataset_name)|\#Input tokens: "
                         r"|Warmup completed with \d+ sequences|(?:urllib\.error\.)?URLError[(:]|Successful requests:\s|Traffic request rate:|Namespace\(.*base_url|HTTP/[\d.]+ [45]\d\d\b"
                         r"|Running [\d.]{1,9}\w{1,2} test @ \S|This is ApacheBench, Version |Response time histogram:\s*$|Status code distribution:\s*$"
                         r"|--- (?:requests|httpx|openai|aiohttp|urllib3?)\s*$|Metric,avg,min,max,|Run Info,Run Info,|[ \t]{0,100}NVIDIA (?:AIPerf|GenAI-Perf) \| "
                         r"|\d\d:\d\d:\d\d\.\d{3} INFO +Starting AIPerf System|. AIPerf System Exit Errors|ℹ Run Summary Info|\d\d-\d\d-\d\d [\d:]{8}\|[A-Z]{4,8} *\|guidellm\."
                         r"|Throughput: [\d.]{1,15} requests/s, |\|\s{0,8}Tasks\s{0,40}\|Version\||Avg latency: [\d.]{1,20} seconds|\d\d% percentile latency: ")  # fmt: skip
# what a client writes but a server may as well, when it is a client itself (of a model hub, or of its own warm-up)
CLIENT_LIKELY = lazily.pattern(r"^unable to connect to [^\s:]{1,255}:\d{1,5} [A-Z]|(?:requests\.exceptions|httpx|aiohttp(?:\.client_exceptions)?|openai|urllib3?(?:\.error|\.exceptions)?|http\.client|httpcore)\.\w*(?:Error|Timeout|Exception|Disconnected)"
                           r"|\bConnectionRefusedError\b|\bURLError\b|<urlopen error|Max retries exceeded|NewConnectionError|ClientConnectorError|APIConnectionError|RemoteDisconnected"
                           r"|Connection reset by peer|\{\"(?:object\":\s?\"error|error\":|detail\":|message\":)|Error code: [45]\d\d|HTTP Error [45]\d\d|HTTPError|ChunkedEncodingError|ECONNREFUSED|IncompleteRead")  # fmt: skip
# what is asked of a model: a program that mostly fails to do so is no server of one, however it stamps its lines
CLIENT_ASKS = lazily.pattern(r"https?://[^\s/\"']{1,255}/(?:v1/|generate|(?:chat/)?completions|health)|\b[Rr]equest #?\d+\b")
UNANSWERED = lazily.pattern(r"\bTimeoutError\b|\btimed out\b")
# a stamp, a level or a process at the start of a line: some program's log
LOGGED = lazily.pattern(
    r"(?:\S{1,64} {1,3}\| )?(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[\d\d:\d\d:\d\d|\[\d\d-\d\d \d\d:\d\d|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b[: ]|\([\w-]+ (?:rank=\d+ )?pid=\d+\)|[IWEF]\d{4} \d\d:|time=\"?\d{4}-)"
)


def is_head(text: str) -> bool:
    """True for the line that older versions of ``journalctl`` write above all."""
    return text.startswith(("-- Journal begin", "-- Logs begin"))


def kind_of(text: str) -> PartKind | None:
    """The kind that one line gives away by itself, or None (blank, or a line of a log or of a program without a shape of its own)."""
    if not text or text.isspace():
        return None
    if text[0] == "2" and PACKAGES.match(text):  # "… SUBDEBUG Upgrade: x" could be a journal's line of a host of that name
        return PartKind.PACKAGES
    opened = journal_line(text)
    if opened is not None:
        return PartKind.KERNEL if opened.origin is Origin.KERNEL else PartKind.JOURNAL_TEXT
    if text.startswith("-- ") and SEPARATOR.match(text):
        return PartKind.EMPTY if text.startswith("-- No entries") else PartKind.JOURNAL_TEXT
    for kind, shape in _SHAPES:
        if shape.match(text):
            return kind
    if kernel.looks_kernel(text):
        return PartKind.KERNEL
    return PartKind.CLIENT if CLIENT_SURE.match(text) else None


_SHAPES: tuple[tuple[PartKind, re.Pattern[str]], ...] = (
    (PartKind.STATUS, STATUS_HEAD),
    (PartKind.STATUS, STATUS_LOADED),
    (PartKind.STATUS, MISSING_UNIT),
    (PartKind.IS_ACTIVE, _STATE_ALONE),
    (PartKind.JOURNAL_JSON, JSON_ENTRY),
    (PartKind.JOURNAL_EXPORT, EXPORT_HEAD),
    (PartKind.UNIT_FILE, UNIT_SECTION),
    (PartKind.UNIT_FILE, UNIT_PATH),
    (PartKind.SHOW, SHOW_SURE),
    (PartKind.NOTICE, NOTICE),
    (PartKind.SOCKETS, SOCKETS),
    (PartKind.UNITS, UNITS),
    (PartKind.BOOTS, BOOTS),
    (PartKind.GPU, GPU),
    (PartKind.EVENTS, EVENTS),
    (PartKind.MACHINE, MACHINE),
    (PartKind.DISKS, DISKS),
    (PartKind.PROCESSES, PROCESSES),
    (PartKind.COREDUMPS, COREDUMPS),
    (PartKind.PACKAGES, PACKAGES),
)
