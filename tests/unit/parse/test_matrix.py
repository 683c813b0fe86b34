"""Measured configurations in whatever shape a harness of one's own writes them: each as the same rows, and none of them read as something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forensics
from forensics.model import Matrix, PartKind
from forensics.parse import matrix, sniff
from tests.unit.parse.framing import written
from tests.unit.parse.results import COLUMNS, read_json, read_text, with_own

# top-k, budget, tokens a step, right answers of sixteen
MEASURED = [(1, 4, 2.8, 16), (1, 8, 3.2, 16), (2, 8, 3.2, 10), (2, 16, 3.4, 6), (4, 16, 3.5, 3), (4, 32, 3.4, 1)]


def lines(head: str, row: str, more: str = "") -> str:
    """A table with this head; ``row`` is filled in with k, b, a length, r answers, and their share."""
    return head + "\n" + more + "".join(row.format(k=k, b=b, a=a, r=r, share=r / 16, percent=100 * r / 16) + "\n" for k, b, a, r in MEASURED)


def records(**names: str) -> list[dict[str, object]]:
    """A record a row: keys are names of the file, values are k, b, a, r, share or percent."""
    rows: list[dict[str, object]] = [
        {"k": k, "b": b, "a": a, "r": r, "share": r / 16, "percent": f"{100 * r / 16:.2f}%", "n": 16} for k, b, a, r in MEASURED
    ]
    return [{own: row[meant] for own, meant in names.items()} for row in rows]


def columns() -> dict[str, list[object]]:
    rows = records(topk="k", budget="b", accept_len="a", accuracy="share")
    return {key: [row[key] for row in rows] for key in rows[0]}


PLAIN = records(topk="k", budget="b", accept_len="a", accuracy="share")
JSON = {
    "a list of records": (PLAIN, None),
    "one record a line": ("\n".join(map(json.dumps, PLAIN)), None),
    "records with names of their own": (
        records(my_k="k", nodes="b", al="a", good="r", total="n"),
        "my_k=topk,nodes=budget,al=accept_len,good=correct,total=n",
    ),
    "a mapping by configuration": ({f"run {n}": row for n, row in enumerate(PLAIN)}, None),
    "a mapping whose keys say the tree": ({f"topk{k}_budget{b}": {"accept_len": a, "accuracy": r / 16} for k, b, a, r in MEASURED}, None),
    "mappings within mappings": (
        {f"topk={k}": {f"budget={b}": {"accept_len": a, "accuracy": r / 16} for j, b, a, r in MEASURED if j == k} for k in (1, 2, 4)},
        None,
    ),
    "configuration and metrics apart": (
        [{"config": {"topk": k, "budget": b}, "metrics": {"accept_len": a, "accuracy": r / 16}} for k, b, a, r in MEASURED],
        None,
    ),
    "numbers as texts, shares in per cent": (records(topk="k", budget="b", accept_len="a", accuracy="percent"), None),
    "per cent without a sign": ([{**row, "accuracy": 100 * float(str(row["accuracy"]))} for row in PLAIN], None),
    "counts of right answers": (records(topk="k", budget="b", accept_len="a", correct="r", n="n"), None),
    "columns": (columns(), None),
    "columns keyed by a row's number": ({key: {str(n): item for n, item in enumerate(column)} for key, column in columns().items()}, None),
    "a row for each answer": (
        [{"topk": k, "budget": b, "accept_len": a, "question": q, "correct": q < r} for k, b, a, r in MEASURED for q in range(16)],
        None,
    ),
}
TEXT = {
    "commas": lines("topk,budget,accept_len,accuracy", "{k},{b},{a},{share}"),
    "semicolons and decimal commas": lines("topk;budget;accept_len;accuracy", "{k};{b};{a};{share}").replace(".", ","),
    "tabs": lines("topk\tbudget\taccept_len\taccuracy", "{k}\t{b}\t{a}\t{share}"),
    "a label with a comma in it": lines("Label,TopK,Budget,Accept Length,Accuracy", '"run, {k}x{b}",{k},{b},{a},{share}'),
    "a table of Markdown": lines("| topk | budget | accept len | accuracy |", "| {k} | {b} | {a} | {r}/16 |", "|---|---|---|---|\n"),
    "per cent": lines("topk,budget,accept_len,accuracy", "{k},{b},{a},{percent}%"),
}


def told(rows: tuple[Matrix, ...]) -> list[tuple[int | None, int | None, float | None, float | None]]:
    return [
        (r.topk, r.budget, None if r.accept_len is None else round(r.accept_len, 6), None if r.correct is None else round(r.correct, 6)) for r in rows
    ]


WANTED = [(k, b, a, round(r / 16, 6)) for k, b, a, r in MEASURED]


@pytest.mark.parametrize("shape", JSON)
def test_json_of_any_shape_is_the_same_matrix(shape: str) -> None:
    value, fields = JSON[shape]
    text = value if isinstance(value, str) else json.dumps(value)
    runs, problems = read_json(text, columns=with_own(fields) if fields else COLUMNS)
    assert not problems
    assert [told(run.matrix) for run in runs] == [WANTED]


@pytest.mark.parametrize("shape", TEXT)
def test_a_table_of_any_kind_is_the_same_matrix(shape: str) -> None:
    runs, _ = read_text(TEXT[shape])
    assert [told(run.matrix) for run in runs] == [WANTED]


@pytest.mark.parametrize("shape", TEXT)
def test_a_table_in_a_folder_is_known_without_being_named(shape: str, tmp_path: Path) -> None:
    assert [part.kind for part in sniff.parts(written(tmp_path, TEXT[shape], name="results.csv"), COLUMNS)] == [PartKind.CLIENT]


def test_a_table_of_something_else_is_no_benchmark(tmp_path: Path) -> None:
    assert [part.kind for part in sniff.parts(written(tmp_path, "budget,team,year\n1,a,2020\n2,b,2021\n", name="money.csv"), COLUMNS)] == [
        PartKind.SERVER
    ]


@pytest.mark.parametrize(
    ("why", "rows", "wanted"),
    [
        ("a half beside whole per cents may be of one or of all", [{"accuracy": 100}, {"accuracy": 0.5}], [1.0, None]),
        ("shares", [{"accuracy": 1}, {"accuracy": 0.5}], [1.0, 0.5]),
        ("counts, of which one is 1", [{"correct": 16, "n": 16}, {"correct": 1, "n": 16}], [1.0, 0.0625]),
        ("more right answers than were asked are per cent", [{"correct": 100, "n": 16}, {"correct": 50, "n": 16}], [1.0, 0.5]),
        ("a rate is no count", [{"pass_rate": 50, "n": 64}, {"pass_rate": 25, "n": 64}], [0.5, 0.25]),
        ("what can be no share is none", [{"accuracy": 400}, {"accuracy": 50}], [None, 0.5]),
        ("below nothing is nothing", [{"accuracy": -1, "accept_len": 2}, {"accuracy": 0.5}], [None, 0.5]),
        ("a part of so many", [{"accuracy": "3/16"}, {"accuracy": "16 of 16"}], [0.1875, 1.0]),
    ],
)
def test_what_a_share_is_all_rows_say_together(why: str, rows: list[dict[str, object]], wanted: list[float | None]) -> None:
    text = json.dumps([{"topk": 1 + n, "budget": 8, **row} for n, row in enumerate(rows)])
    ((run,), _) = read_json(text)
    assert [r.correct for r in run.matrix] == wanted, why


@pytest.mark.parametrize("missing", ["", "-", "n/a", None, "nan"])
def test_a_missing_cell_is_nothing_measured(missing: object) -> None:
    ((run,), _) = read_json(json.dumps([{"topk": 1, "budget": 8, "accept_len": missing, "accuracy": 0.5}]))
    assert told(run.matrix) == [(1, 8, None, 0.5)]


def test_answers_asked_again_are_not_more_answers() -> None:
    rows = [{"topk": 1, "budget": 8, "question": q, "correct": True, "repeat": n} for n in range(3) for q in range(8)]
    ((run,), _) = read_json(json.dumps(rows))
    assert [(r.correct, r.asked) for r in run.matrix] == [(1.0, 8)]


@pytest.mark.parametrize("nested", [False, True])
def test_what_stands_above_a_record_holds_for_it(nested: bool) -> None:
    inner = [{"topk": 1, "budget": 8, "accuracy": 0.5}, {"topk": 2, "budget": 8, "accuracy": 0.5}]
    value = {"runs": [{"model": "a", "rows": inner}, {"model": "b", "rows": inner}]} if nested else {"model": "a", "results": inner}
    runs, _ = read_json(json.dumps(value))
    models = [dict(r.settings)["model"] for run in runs for r in run.matrix]
    assert models == (["a", "a", "b", "b"] if nested else ["a", "a"])


def test_a_list_of_records_keeps_the_line_of_each() -> None:
    text = '{\n "rows": [\n  {"topk": 1, "budget": 8, "accuracy": 1},\n  {"topk": 2, "budget": 8, "accuracy": 0}\n ]\n}\n'
    ((run,), _) = read_json(text)
    assert [r.line_no for r in run.matrix] == [3, 4]


@pytest.mark.parametrize("name", ["bench.csv", "bench.jsonl"])
def test_measured_configurations_are_called_so(name: str, tmp_path: Path) -> None:
    trees = [(k, b) for k in (1, 2, 4) for b in (4, 8, 16)]
    rows = [f'{{"topk": {k}, "budget": {b}, "accept_len": {2 + k / 10}}}' if name.endswith("l") else f"{k},{b},{2 + k / 10}" for k, b in trees]
    (tmp_path / name).write_text("\n".join([*([] if name.endswith("l") else ["topk,budget,accept_len"]), *rows]) + "\n")
    (found,) = forensics.diagnose([str(tmp_path)])
    assert found.headline.startswith(f"{name}: 9 measured configurations of a benchmark")


@pytest.mark.parametrize(
    "said",
    [
        {"error": "URLError: <urlopen error [Errno 111] Connection refused>"},
        {"error": "TimeoutError: timed out"},
        {"errors": ["HTTP Error 500: Internal Server Error"] * 16},
        {"status": "failed: Connection reset by peer"},
    ],
    ids=["refused", "timed out", "an error of the server", "in its status"],
)
def test_a_row_that_says_it_got_no_answer_has_no_share_of_right_ones(said: dict[str, object]) -> None:
    asked = [{"topk": k, "budget": b, "accept_len": a, "accuracy": r / 16} | (said if r < 16 else {}) for k, b, a, r in MEASURED]
    rows = matrix.settled(read for n, row in enumerate(asked, 1) if (read := matrix.read(row, n, "", columns=COLUMNS)) is not None)
    assert [row.correct for row in rows] == [1.0, 1.0, None, None, None, None]
    answers = [{"topk": 4, "budget": 32, "question": n, "correct": n < 8} | (said if n >= 12 else {}) for n in range(16)]
    (counted,) = matrix.settled(read for n, row in enumerate(answers, 1) if (read := matrix.read(row, n, "", columns=COLUMNS)) is not None)
    assert (counted.asked, counted.correct) == (12, 8 / 12)


@pytest.mark.parametrize("said", [{"status": "ok"}, {"status": "failed"}, {"error": None}, {"errors": []}, {"errors": 13}], ids=str)
def test_a_row_whose_answers_were_merely_wrong_keeps_its_share(said: dict[str, object]) -> None:
    read = matrix.read({"topk": 4, "budget": 32, "accuracy": 3 / 16, "n": 16} | said, 1, "", columns=COLUMNS)
    assert read is not None
    assert [row.correct for row in matrix.settled([read])] == [3 / 16]


@pytest.mark.parametrize("cell", ["nan", "", "-", "N/A", "null"])
def test_a_cell_without_a_number_is_a_tree_that_nobody_measured(cell: str) -> None:
    text = f"budget,topk,accept_len,accuracy,n\n4,1,2.3,0.95,200\n16,4,3.2,0.95,200\n32,4,{cell},{cell},200\n"
    ((run,), _) = read_text(text)
    assert told(run.matrix) == [(1, 4, 2.3, 0.95), (4, 16, 3.2, 0.95), (4, 32, None, None)]
    nothing = "\n".join(f"{line.split(cell or ',,')[0]}" for line in text.splitlines()[3:])
    assert not any(run.matrix for run in read_text(f"budget,topk,accept_len,accuracy,n\n{nothing}\n")[0])


def test_in_json_as_well() -> None:
    rows = [{"budget": b, "topk": k, "accept_len": a, "accuracy": c} for b, k, a, c in [(4, 1, 2.3, 1.0), (32, 4, None, float("nan"))]]
    ((run,), _) = read_json(json.dumps(rows))
    assert told(run.matrix) == [(1, 4, 2.3, 1.0), (4, 32, None, None)]


def test_requests_that_got_no_answer_are_told_with_their_number() -> None:
    ((run,), _) = read_text("budget,topk,accept_len,accuracy,n,failed\n4,1,2.3,0.95,200,0\n32,4,3.4,0.10,200,179\n")
    assert [(r.correct, r.lost) for r in run.matrix] == [(0.95, 0), (None, 179)]
    answers: list[dict[str, object]] = [{"budget": b, "topk": k, "question_id": q, "correct": True} for b, k in [(4, 1), (32, 4)] for q in range(8)]
    for answer in answers[11:]:
        del answer["correct"]
        answer["error"] = "ConnectionRefusedError: [Errno 111] Connection refused"
    ((run,), _) = read_json("\n".join(map(json.dumps, answers)))
    assert [(r.budget, r.correct, r.asked, r.lost) for r in run.matrix] == [(4, 1.0, 8, 0), (32, 1.0, 3, 5)]


@pytest.mark.parametrize("second", ["greedy_match", "correct"])
def test_each_measure_of_the_answers_is_kept(second: str) -> None:
    greedy = [0.99, 0.6, 0.05]
    shown = greedy if second == "greedy_match" else [round(200 * share) for share in greedy]
    rows = [{"topk": k, "budget": b, "accuracy": 95, second: said, "n": 200} for (k, b), said in zip([(1, 4), (4, 8), (4, 32)], shown, strict=True)]
    text = "\n".join(",".join(map(str, line)) for line in [rows[0], *(row.values() for row in rows)])
    for (run,), _ in (read_json(json.dumps(rows)), read_text(text)):
        assert told(run.matrix) == [(1, 4, None, 0.95), (4, 8, None, 0.95), (4, 32, None, 0.95)]
        assert {name: [(r.correct, r.asked) for r in by] for name, by in run.otherwise.items()} == {second: [(share, 200) for share in greedy]}


@pytest.mark.parametrize(
    ("values", "condition"),
    [
        (["gsm8k", "gsm8k", "humaneval", "humaneval"], True),
        (["", "", "adapter", "adapter"], True),
        (["a", "b", "c", "d"], False),  # a name, a file or an output of each row
        (["a", "a", "a", "a"], False),
        (["2026-05-01", "2026-05-01", "2026-05-02", "2026-05-02"], False),
        (["3.4ms", "3.4ms", "5.1ms", "6 ms"], False),
        (["3.4", "3.4", "nan", "nan"], False),
        (["an answer " * 9, "an answer " * 9, "b", "b"], False),
    ],
)
@pytest.mark.parametrize("name", ["suite", "workload", "attention"])
def test_words_that_some_trees_share_are_what_they_were_measured_under(name: str, values: list[str], condition: bool) -> None:
    trees = [(1, 4, 0.95), (4, 8, 0.95), (4, 16, 0.61), (4, 32, 0.6)]
    rows = [{"topk": k, "budget": b, name: said, "accuracy": share} for (k, b, share), said in zip(trees, values, strict=True)]
    text = "\n".join(",".join(map(str, line)) for line in [rows[0], *(row.values() for row in rows)])
    for (run,), _ in (read_json(json.dumps(rows)), read_text(text)):
        assert [dict(r.settings) for r in run.matrix] == [{name: said} if condition and said else {} for said in values]


def test_what_answers_say_of_themselves_is_no_condition() -> None:
    rows = [
        {"topk": k, "budget": b, "question_id": q, "correct": q < right, "letter": "A" if q < right else "B", "host_name": "h1" if k == 1 else "h2"}
        for k, b, right in [(1, 4, 8), (4, 8, 8), (4, 32, 2)]
        for q in range(8)
    ]
    ((run,), _) = read_json("\n".join(map(json.dumps, rows)))
    assert [(r.budget, r.correct, dict(r.settings)) for r in run.matrix] == [
        (4, 1.0, {"host_name": "h1"}),
        (8, 1.0, {"host_name": "h2"}),
        (32, 0.25, {"host_name": "h2"}),
    ]


@pytest.mark.parametrize(
    ("shown", "n", "shares"),
    [
        ([94.5, 94.0, 0.93, 0.935], 200, [0.945, 0.94, None, None]),
        ([95, 42, 0.5, 0], 200, [0.95, 0.42, None, 0.0]),  # one answer of 200, or 100 of them
        ([95, 42, 1, 0], 200, [0.95, 0.42, None, 0.0]),
        ([0.945, 0.94, 0.93, 1], 200, [0.945, 0.94, 0.93, 1.0]),
        (["94.5%", "94%", "0.5%", "1%"], 200, [0.945, 0.94, 0.005, 0.01]),
    ],
)
def test_what_may_be_per_cent_or_a_share_is_neither(shown: list[object], n: int, shares: list[float | None]) -> None:
    trees = [(1, 4), (4, 8), (4, 16), (4, 32)]
    rows = [{"topk": k, "budget": b, "accuracy": said, "n": n} for (k, b), said in zip(trees, shown, strict=True)]
    text = "\n".join(",".join(map(str, line)) for line in [rows[0], *(row.values() for row in rows)])
    for (run,), _ in (read_json(json.dumps(rows)), read_text(text)):
        assert [share for *_, share in told(run.matrix)] == shares
