"""What the server does: files in, a reading of them, the audit, its results; and for whom."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

import numpy as np
import pytest

import falsezero as fz
from falsezero.app.desk import safe_name

from .conftest import FIRST_KEY, HOST, TOKEN

LONG = b"site,species,count\nA,Sus,1\nA,Bos,1\nB,Sus,1\n"


def test_the_page_and_its_parts_are_served_under_a_strict_policy(page) -> None:
    for part in ("", "app.js", "view.js", "app.css", "page.css"):
        answer = page.get(part)
        assert answer.status_code == 200
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
    policy = page.get("").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("path", ["/", "/other/", f"/{TOKEN}x/", f"/{FIRST_KEY}x", "/desks"])
def test_without_the_token_there_is_nothing(page, path) -> None:
    answer = page.client.get(path)
    assert answer.status_code == 404
    assert TOKEN not in answer.text


def test_the_first_key_opens_once(page) -> None:
    first = page.client.get(f"/{FIRST_KEY}")
    assert (first.status_code, first.headers["location"]) == (303, f"/{TOKEN}/")
    assert page.client.get(f"/{FIRST_KEY}").status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:80"])
def test_a_foreign_host_is_refused(page, host) -> None:
    assert page.get("", host=host).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_site_sends_is_refused(page, site) -> None:
    assert page.get("", **{"sec-fetch-site": site}).status_code == 403


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "http://127.0.0.1:80", ""])
def test_only_its_own_origin_may_change_something(page, origin) -> None:
    assert page.post("desks", origin=origin).status_code == 403


def test_two_origins_are_none(page) -> None:
    own = f"http://{page.client.base_url.netloc.decode()}"
    twice = [("origin", "http://evil.com"), ("origin", own)]
    assert page.client.post("/a-token/desks", headers=twice).status_code == 403
    assert page.client.post("/a-token/desks", headers=twice[1:]).status_code == 201


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(page, method) -> None:
    answer = page.client.request(method, f"/{TOKEN}/desks", headers={"origin": f"http://{HOST}"})
    assert answer.status_code == 403


def test_a_wide_table_is_understood(page, small_csv) -> None:
    (name,) = page.drop(("finds.csv", small_csv))
    found = page.ask("look", name, None)["result"]
    assert found["problem"] is None
    assert found["options"] == {}
    assert found["named_by"] == ""
    assert found["table"]["summary"].startswith("40 rows × 8 columns")
    assert found["table"]["rows"][0] == "site 0"
    assert found["table"]["more_rows"] == 28


def test_a_long_table_is_understood(page) -> None:
    (name,) = page.drop(("finds.csv", LONG))
    found = page.ask("look", name, None)["result"]
    assert found["options"] == {"row": "site", "column": "species", "value": "count"}
    assert found["table"]["cells"] == ["11", "10"]


def test_a_broken_file_gives_one_sentence_and_what_mends_it(page) -> None:
    (name,) = page.drop(("finds.csv", b"site,a,b,c,d\nA,3,0,1,0\nB,0,0,2,1\n"))
    found = page.ask("look", name, None)["result"]
    assert found["problem"].startswith("finds.csv line 2, column 'a' holds 3")
    assert found["remedies"][0]["options"] == {"binarize": 0}
    mended = page.ask("look", name, found["remedies"][0]["options"])["result"]
    assert mended["problem"] is None
    assert mended["table"]["cells"] == ["1010", "0011"]


@pytest.mark.parametrize("name", ["t.xlsx", "t.parquet", "t.zip", "t.h5ad", "t.npz", "t.rds"])
def test_no_format_breaks_the_server(page, name) -> None:
    page.drop((name, b"nonsense"))
    said = page.ask("look", name, None)
    assert "mistake in falsezero" not in str(said)
    assert name in said["result"]["problem"]


def test_an_audit_gives_a_page_and_tables(page, small, small_csv) -> None:
    (name,) = page.drop(("my finds.csv", small_csv))
    done = page.ask("audit", name, {}, audit={"loss": 0.3})
    files = {each["name"] for each in done["result"]["files"]}
    assert {"zeros.csv", "filled.csv", "expected.csv"} <= files
    shown = page.get(f"desks/{page.desk}/out/audit.html")
    assert shown.headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert "Which zeros are real? my finds" in shown.text
    zeros = list(csv.DictReader(io.StringIO(page.get(f"desks/{page.desk}/out/zeros.csv").text)))
    assert zeros
    assert "present" in zeros[0]
    filled = list(csv.reader(io.StringIO(page.get(f"desks/{page.desk}/out/filled.csv").text)))
    assert filled[0] == ["", *small.columns]
    ones = sum(cell == "1" for line in filled[1:] for cell in line[1:])
    assert ones == small.n_ones + len(zeros)


def test_cancelling_ends_the_process(page, slow_csv) -> None:
    (name,) = page.drop(("finds.csv", slow_csv))
    page.post(f"desks/{page.desk}/audit", {"file": name, "options": {}})
    desk = page.on_server()
    process = desk.wake()
    assert page.get(f"desks/{page.desk}").json()["state"] == "busy"
    assert page.post(f"desks/{page.desk}/cancel").json()["state"] == "cancelled"
    assert process.poll() is not None
    assert page.ask("look", name, None)["state"] == "done"


def test_a_process_that_dies_is_one_sentence(page, slow_csv) -> None:
    (name,) = page.drop(("finds.csv", slow_csv))
    desk = page.on_server()
    page.post(f"desks/{page.desk}/audit", {"file": name, "options": {}})
    desk.wake().kill()
    state = page.wait()
    assert state["state"] == "failed"
    assert "may be damaged" in state["problem"]
    assert page.ask("look", name, None)["state"] == "done"


def test_too_large_a_file_is_refused_and_not_kept(page, tmp_path) -> None:
    page.drop()
    answer = page.post(f"desks/{page.desk}/files/big.csv", b"1" * 50_001)
    assert answer.status_code == 413
    assert "0.05 MB" in answer.json()["problem"]
    assert not list((tmp_path / "served").rglob("big.csv"))


def test_files_together_may_not_be_too_large_either(page) -> None:
    page.drop(("a.csv", b"1" * 30_000))
    assert page.post(f"desks/{page.desk}/files/b.csv", b"1" * 30_000).status_code == 413
    assert page.post(f"desks/{page.desk}/files/a.csv", b"1" * 49_000).status_code == 201


def test_files_that_arrive_together_may_not_be_too_large_either(page) -> None:
    """Each alone fits; so does each that is checked when it begins."""
    page.drop()
    desk = page.on_server()
    desk.arriving["other.csv"] = 40_000
    answer = page.post(f"desks/{page.desk}/files/t.csv", bytes(20_000))
    assert answer.status_code == 413
    assert page.post(f"desks/{page.desk}/files/other.csv", b"a").status_code == 409
    assert not list((desk.folder / "in").iterdir())
    desk.arriving = {f"{i}.csv": 0 for i in range(8)}
    assert page.post(f"desks/{page.desk}/files/t.csv", b"a").status_code == 413


def test_too_many_files_are_refused(page) -> None:
    page.drop(*[(f"{i}.csv", b"1") for i in range(8)])
    assert page.post(f"desks/{page.desk}/files/9.csv", b"1").status_code == 413


@pytest.mark.parametrize(
    "name", ["..%2F..%2Fx.csv", "%2Fetc%2Fpasswd", "..", "%00.csv", "a%0Ab.csv", "..%5Cx.csv"]
)
def test_names_stay_in_the_folder(page, name, tmp_path) -> None:
    page.drop()
    page.post(f"desks/{page.desk}/files/{name}", b"a,b\n")
    served = tmp_path / "served"
    outside = [path for path in tmp_path.rglob("*") if served not in path.parents]
    assert outside == [served]
    assert {path.parent.name for path in served.rglob("*") if path.is_file()} <= {"in"}


@pytest.mark.parametrize("name", ["../x", "C:\\x\\y.csv", "...", "", "a" * 400 + ".csv", "\0"])
def test_safe_names_are_plain_names(name) -> None:
    safe = safe_name(name)
    assert safe == Path(safe).name
    assert 0 < len(safe) < 100
    assert "\0" not in safe


@pytest.mark.parametrize(
    "options",
    [
        {"surveyed": "/etc/passwd"},
        {"rows": "../in/finds.csv"},
        {"columns": "other.csv"},
        {"max_gigabytes": 1000},
        {"kind": "real"},
        {"skip": -1},
        {"skip": 1.5},
        {"binarize": "0"},
        {"marks": {"a": [1]}},
        {"drop": "a"},
        {"header": 1},
        {"row": ["a"]},
    ],
)
def test_only_known_options_and_dropped_files(page, options) -> None:
    (name,) = page.drop(("finds.csv", LONG))
    state = page.ask("look", name, options)
    assert state["state"] == "failed"
    assert state["problem"].endswith(".")
    assert "mistake" not in state["problem"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"{", id="cut off"),
        pytest.param(b"[" * 90_000, id="deep"),
        pytest.param(b'"' + b"x" * 200_000 + b'"', id="long"),
        b'{"file": ["finds.csv"]}',
        b'{"file": {}}',
        b'{"file": "../work"}',
        b'{"file": "finds.csv", "options": []}',
    ],
)
def test_odd_requests_are_refused(page, body) -> None:
    page.drop(("finds.csv", LONG))
    assert page.post(f"desks/{page.desk}/look", body).status_code in (400, 413)


def test_other_files_may_tell_what_was_surveyed(page) -> None:
    effort = b"site,species\nA,Sus\nA,Bos\nB,Sus\nC,Sus\n"
    page.drop(("finds.csv", LONG), ("effort.csv", effort))
    asked = {"row": "site", "column": "species", "surveyed": "effort.csv"}
    found = page.ask("look", "finds.csv", asked)["result"]
    assert found["table"]["cells"] == ["11", "1?", "0?"]


def test_three_files_of_10x_are_one_table(page) -> None:
    matrix = b"%%MatrixMarket matrix coordinate integer general\n2 3 2\n1 1 1\n2 3 1\n"
    labels = ("barcodes.tsv", b"c1\nc2\nc3\n"), ("features.tsv", b"g1\tG1\tx\ng2\tG2\tx\n")
    page.drop(("matrix.mtx", matrix), *labels)
    found = page.ask("look", "matrix.mtx", None)["result"]
    assert found["table"]["rows"] == ["c1", "c2", "c3"]


def test_what_is_dropped_in_is_never_run(page, small_csv, tmp_path) -> None:
    mark = tmp_path / "ran"
    code = f"open({str(mark)!r}, 'w').close()\n".encode()
    names = ["json.py", "numpy.py", "falsezero.py", "sitecustomize.py", "matplotlibrc"]
    page.drop(("finds.csv", small_csv), *[(name, code) for name in names])
    assert page.ask("look", "finds.csv", None)["state"] == "done"
    assert not mark.exists()


def test_old_desks_are_cleared_away(page, tmp_path) -> None:
    keys = []
    for _ in range(5):
        page.drop(("finds.csv", LONG))
        keys.append(page.desk)
    assert page.get(f"desks/{keys[0]}").status_code == 404
    assert page.get(f"desks/{keys[1]}").status_code == 200
    assert not (tmp_path / "served" / keys[0]).exists()


def test_nothing_is_left_when_the_server_ends(page, tmp_path) -> None:
    page.drop(("finds.csv", LONG))
    desk = page.on_server()
    process = desk.wake()
    page.client.__exit__(None, None, None)
    assert not list((tmp_path / "served").rglob("*"))
    assert process.poll() is not None
    page.client.__enter__()


def test_a_worker_ends_with_its_server(page) -> None:
    page.drop()
    desk = page.on_server()
    process = desk.wake()
    process.stdin.close()
    for _ in range(200):
        if process.poll() is not None:
            return
        time.sleep(0.05)
    raise AssertionError("the process is still there")


def test_repeated_visits_are_guessed_and_audited(page) -> None:
    looks = fz.datasets.make_looks(30, 6, 3, 2, random_state=0).looks
    seen = looks.to_numpy()
    lines = [f"s{r},v{k},sp{c},{seen[r, k, c]:g}" for r, k, c in np.ndindex(*seen.shape)]
    file = "\n".join(["site,visit,species,count", *lines]).encode()
    page.drop(("visits.csv", file))
    found = page.ask("look", "visits.csv", None)["result"]
    assert found["options"]["look"] == "visit"
    assert "3 looks at most" in found["table"]["summary"]
    done = page.ask("audit", "visits.csv", found["options"])
    assert done["state"] == "done", done
    zeros = page.get(f"desks/{page.desk}/out/zeros.csv").text
    assert zeros.startswith("row,column,expected,again,present")
    assert "looks" in page.get(f"desks/{page.desk}/out/audit.html").text
    turned = page.ask("audit", "visits.csv", found["options"], transpose=True)
    assert "cannot be exchanged" in turned["problem"]
