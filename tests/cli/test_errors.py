"""What goes wrong gives one clear sentence, the right exit code, and leaves every file alone."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsezero as fz
from falsezero.cli._words import one_sentence

LONG = ("--row", "site", "--column", "genus")

BROKEN_TABLES = [
    ("none.csv", None, LONG, "There is no file {table}"),
    ("table.csv", "", (), "{table} is empty."),
    (
        "table.csv",
        "site,genus\na,b\n",
        (),
        "pass --row 'site' --column 'genus' if every line is one find.",
    ),
    ("table.csv", "site,genus\na,b\n", ("--row", "sit", "--column", "genus"), "mean 'site'?"),
    ("table.csv", "site,genus\na,b\n", ("--row", "site"), "needs both --row and --column"),
    ("table.csv", "site,genus\na,b\na,b\n", LONG, "--duplicates"),
    ("table.csv", "site,a,b\nx,0,3\n", (), "--binarize"),
    ("table.csv", "site,a,b\nx,0\n", (), "{table} line 2 has 2 fields where the header has 3"),
    ("table.npz", "PK not really", (), "{table}"),
    (
        "table.csv",
        "id,a\n7,1\n2,0\n",
        (),
        "a model of counts, as discrete-pca is, or --index 'id' if",
    ),
    ("table.csv", "s,a\nx,0.5\n", (), "a model of real numbers, as bmf is, or --drop 'a' to leave"),
    (
        "table.csv",
        "s,a,b,c,d\nx,1,0,0,P\n",
        (),
        "pass --mark P=1 if it means present (=0: absent, "
        "=NA: not observed), or --drop 'd' to leave that column out.",
    ),
    ("table.csv", "s,a\nx,-9\n", (), "or --mark -9=NA if it means not observed"),
    ("table.csv", "s,a,b\nx,,1\n", (), "--mark =0 if an empty cell means absent, or --mark =NA if"),
    (
        "table.csv",
        "Finds,,\ns,a,b\nx,0,1\n",
        (),
        "pass --skip 1 if the names of the columns stand in line 2.",
    ),
    ("table.csv", "s,a\nx,1\nx,0\n", (), "or pass --no-index if the first column holds values."),
    ("table.csv", "0,0\n0,1\n", (), "or pass --no-header if that line holds values."),
    ("table.csv", "s,a\nx,1\n", ("--delimiter", ";"), "pass --delimiter to say what separates"),
    ("table.csv", "s,a\nx,1\n", ("--drop", "b"), "{table} has no column or row 'b' to drop"),
]


@pytest.mark.parametrize(("name", "content", "options", "said"), BROKEN_TABLES)
def test_a_broken_table(
    run: Any, tmp_path: Path, name: str, content: str | None, options: Any, said: str
) -> None:
    table = tmp_path / name
    if content is not None:
        table.write_text(content)
    outcome = run("fit", table, "-o", tmp_path / "model.fz", *options)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("Error: ")
    assert outcome.err.count("\n") == 1
    assert "Traceback" not in outcome.err
    assert said.format(table=table) in outcome.err
    assert not (tmp_path / "model.fz").exists()


WRONG_USAGE = [
    (("frobnicate",), "There is no command 'frobnicate'"),
    (("fti",), "did you mean 'fit'?"),
    (("fit",), "Missing argument 'TABLE'"),
    (("fit", "{finds}"), "Missing option '--output'"),
    (("fit", "{finds}", "-o", "x.fz", "-k", "0"), "0 is not in the range"),
    (("fit", "{finds}", "-o", "x.fz", "-k", "two"), "'two' is not a valid whole number."),
    (("fit", "{finds}", "-o", "x.fz", "--tol", "low"), "'low' is not a valid number."),
    (("fit", "{finds}", "-o", "x.fz", "--jobs", "0"), "0 would do nothing; give 1 or more, or -1"),
    (
        ("fit", "{finds}", "-o", "x.fz", "--mark", "P=yes"),
        "needs TEXT=1, TEXT=0 or TEXT=NA, but is",
    ),
    (
        ("fit", "{finds}", "-o", "x.fz", "--mark", "P"),
        "needs TEXT=1, TEXT=0 or TEXT=NA, but is 'P'",
    ),
    (("fit", "{finds}", "-o", "x.fz", "--model", "ab"), "'ab' is not one of 'aspect-bernoulli'"),
    (("fit", "{finds}", "-o", "x.fz", "--option", "prior"), "--option needs NAME=VALUE"),
    (("fit", "{finds}", "-o", "x.fz", "--option", "priro=1"), "did you mean 'prior'?"),
    (("fit", "{finds}", "-o", "x.fz", "--option", "callback=1"), "no parameter 'callback'"),
    (("fit", "{finds}", "-o", "x.fz", "--model", "bmf", "-k", "2"), "bmf has no n_components"),
    (("gaps", "{model}", "{finds}", *LONG, "-o", "x.xlsx"), ".csv, .tsv or .json, but is 'x.xlsx'"),
    (("gaps", "{model}", "{finds}", *LONG, "--keep", "0=1"), "numbers from 1 to 3"),
    (("gaps", "{model}", "{finds}", *LONG, "--keep", "1=2"), "weights from 0 to 1"),
    (("gaps", "{model}", "{finds}", *LONG, "--keep", "1"), "but found '1'"),
    (("denoise", "{model}", "{finds}", *LONG, "--keep", "1=0,2=0,3=0"), "keep at least one"),
    (("select", "{finds}", *LONG, "-k", "2..5"), "2-8 or 2,4,8, but is '2..5'"),
    (("compare", "{finds}", *LONG, "plsi"), "There is no model 'plsi'; did you mean 'plsa'?"),
    (("compare", "{finds}", *LONG, "plsa:x"), "'plsa:x' has none"),
    (("reproduce", "nothing", "-o", "x"), "'nothing' is not one of 'aspect-bernoulli'"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG_USAGE)
def test_wrong_usage(
    run: Any, finds: Path, fitted: Path, tmp_path: Path, monkeypatch: Any, arguments: Any, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run(*(text.format(finds=finds, model=fitted) for text in arguments))
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert not os.listdir(tmp_path)


def test_nothing_is_overwritten_without_force(
    run: Any, finds: Path, fitted: Path, tmp_path: Path
) -> None:
    for name, command in {
        "model.fz": ("fit", finds, *LONG, "-k", 1),
        "gaps.csv": ("gaps", fitted, finds, *LONG),
        "best.fz": ("select", finds, *LONG, "-k", "1", "--criterion", "aic"),
        "page.html": ("explore", fitted, finds, *LONG),
        "report.html": ("report", finds, *LONG),
        "demo.png": ("demo",),
    }.items():
        path = tmp_path / name
        path.write_text("precious")
        outcome = run(*command, "-o", tmp_path if name == "demo.png" else path)
        assert (outcome.code, outcome.out) == (1, ""), name
        assert outcome.err == f"Error: {path} exists already; give --force to replace it.\n"
        assert path.read_text() == "precious"
    assert run("fit", finds, *LONG, "-k", 1, "-o", tmp_path / "model.fz", "--force").code == 0


def test_no_command_writes_over_what_it_reads(
    run: Any, finds: Path, fitted: Path, tmp_path: Path
) -> None:
    table, model = tmp_path / "finds.csv", tmp_path / "finds.fz"
    table.write_bytes(finds.read_bytes())
    model.write_bytes(fitted.read_bytes())
    for command in (
        ("gaps", model, table, *LONG, "-o", table),
        ("denoise", model, table, *LONG, "-o", table),
        ("explore", model, table, *LONG, "-o", model),
        ("fit", table, *LONG, "-o", table),
        ("report", table, *LONG, "-o", tmp_path / "." / "finds.csv"),
        ("fit", finds, *LONG, "--surveyed", table, "-o", table),
    ):
        outcome = run(*command, "--force")
        assert (outcome.code, outcome.out) == (1, ""), command
        assert "is what this command reads; give -o another name." in outcome.err
    assert table.read_bytes() == finds.read_bytes()
    assert model.read_bytes() == fitted.read_bytes()


def test_more_components_than_the_table_can_carry(run: Any, finds: Path, tmp_path: Path) -> None:
    said = (
        "25 components are more than a table of 120 × 24 cells can tell apart; -k should be 24 at "
        "most, and preferably far fewer."
    )
    quick = ("--restarts", 1, "--max-iter", 1)
    fit = run("fit", finds, *LONG, "-k", 25, "-o", tmp_path / "model.fz", *quick)
    assert fit.err.splitlines()[1] == f"Warning: {said}"
    select = run("select", finds, *LONG, "-k", "2,25", "--criterion", "aic", *quick)
    assert select.err.splitlines()[1] == f"Warning: {said}"
    report = run("report", finds, *LONG, "-k", "25", "-o", tmp_path / "report.html")
    assert (report.code, report.err.splitlines()[-1]) == (1, f"Error: {said}")
    assert not (tmp_path / "report.html").exists()


def test_targets_that_cannot_be_written(run: Any, finds: Path, tmp_path: Path) -> None:
    fit = ("fit", finds, *LONG, "-k", 1, "--force", "-o")
    assert "There is no folder" in run(*fit, tmp_path / "none" / "model.fz").err
    assert "is a folder" in run(*fit, tmp_path).err
    assert "is a device" in run(*fit, "/dev/null").err
    assert Path("/dev/null").is_char_device()
    checkpoint = ("--checkpoint", tmp_path / "none" / "check")
    assert "There is no folder" in run(*fit, tmp_path / "model.fz", *checkpoint).err
    assert not (tmp_path / "model.fz").exists()


def test_models_that_are_none(run: Any, finds: Path, fitted: Path, tmp_path: Path) -> None:
    assert "not a model saved by falsezero" in run("info", finds).err
    cut = tmp_path / "cut.fz"
    cut.write_bytes(fitted.read_bytes()[:1000])
    outcome = run("gaps", cut, finds, *LONG)
    assert outcome.code == 1
    assert outcome.err == f"Error: {cut} is damaged or cut off; save the model again.\n"


def test_a_table_that_lies_on_its_side(run: Any, finds: Path, fitted: Path, tmp_path: Path) -> None:
    table = fz.read(finds, row="site", column="genus")
    table.to_pandas().T.to_csv(tmp_path / "finds.csv")
    outcome = run("gaps", fitted, tmp_path / "finds.csv")
    assert outcome.code == 1
    assert "; its rows have those names, so give --transpose.\n" in outcome.err
    turned = run("gaps", fitted, tmp_path / "finds.csv", "--transpose", "-n", 5)
    assert turned.out == run("gaps", fitted, finds, *LONG, "-n", 5).out


def test_a_table_of_other_columns(run: Any, fitted: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("site,genus 1,genus 3\nx,0,1\n")
    outcome = run("denoise", fitted, other)
    assert outcome.code == 1
    assert "has no column 'genus" in outcome.err
    assert "which the model was fitted on" in outcome.err


def test_a_table_of_another_width(run: Any, fitted: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "four.npy", np.eye(4))
    np.save(tmp_path / "five.npy", np.eye(5))
    fit = ("fit", tmp_path / "four.npy", "-o", tmp_path / "four.fz", "-k", 1, "--restarts", 1)
    assert run(*fit).code == 0
    outcome = run("explain", tmp_path / "four.fz", tmp_path / "five.npy")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.endswith(
        "five.npy has 5 columns, but the model was fitted on 4, without names.\n"
    )


def test_labels_that_do_not_exist(run: Any, finds: Path, fitted: Path) -> None:
    outcome = run("explain", fitted, finds, *LONG, "--only-row", "site 999x")
    assert outcome.code == 1
    assert "has no row 'site 999x'; did you mean 'site 9" in outcome.err


def test_questions_that_a_model_cannot_answer(run: Any, finds: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.fz"
    options = ("--model", "plsa", "-k", 2, "--restarts", 1)
    assert run("fit", finds, "-o", path, *LONG, *options).code == 0
    for command in ("explain", "gaps", "denoise"):
        outcome = run(command, path, finds, *LONG)
        assert outcome.code == 1
        assert "PLSA" in outcome.err
        assert "AspectBernoulli" in outcome.err
        assert "mistake in falsezero" not in outcome.err


def test_a_mistake_of_ours_is_called_one(run: Any, fitted: Path, monkeypatch: Any) -> None:
    def fail(*_: Any) -> None:
        raise TypeError("unsupported operand")

    monkeypatch.setattr("falsezero.cli.info.describe", fail)
    outcome = run("info", fitted)
    assert outcome.code == 1
    assert outcome.err == (
        "Error: TypeError: unsupported operand; this is a mistake in falsezero, please report it.\n"
    )
    with pytest.raises(TypeError):
        run("--traceback", "info", fitted)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (ValueError("give keep= and\n  n_init=3."), "give --keep and --restarts 3."),
        (ValueError("raise max_iter, or tol."), "raise --max-iter, or --tol."),
        (ValueError("model.row_weights_ has value=2"), "model.row_weights_ has --value 2"),
        (ValueError("criterion='cells' with n_splits=3."), "--criterion 'cells' with --splits 3."),
        (ValueError("image_shape=(3, 3) has 9."), "--image (3, 3) has 9."),
        (ValueError("give some rows, such as table.select(rows=slice(0, 9))."), "give some rows."),
        (ValueError("pass marks={'a b': 1}."), "pass --mark 'a b=1'."),
        (MemoryError(), "There is not enough memory."),
        (OSError(28, "No space left on device", "x.fz"), "No space left on device: x.fz."),
        (KeyError("x"), "KeyError: 'x'; this is a mistake in falsezero, please report it."),
    ],
)
def test_sentences_in_the_words_of_a_shell(problem: Exception, said: str) -> None:
    assert one_sentence(problem) == said


@pytest.mark.parametrize("command", ["fit", "select", "compare"])
def test_an_interrupt_in_compiled_code_is_one(
    run: Any, finds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    saved = tmp_path / "so far"

    def fit(self: Any, table: Any) -> None:
        saved.write_text("so far")
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    for name in ("AspectBernoulli", "BinaryICA", "BernoulliMixture"):
        monkeypatch.setattr(f"falsezero.{name}.fit", fit)
    target = ("-o", tmp_path / "model.fz") if command == "fit" else ()
    outcome = run(command, finds, *LONG, *target, "--checkpoint", saved)
    assert (outcome.code, outcome.out) == (130, "")
    assert f"Run the same command again to resume from {saved}." in outcome.err
    assert outcome.err.endswith("Interrupted.\n")


def test_an_interrupted_fit_says_how_to_go_on(
    run: Any, finds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(self: Any, table: Any) -> None:
        Path(self.checkpoint).write_text("so far")
        raise KeyboardInterrupt

    monkeypatch.setattr("falsezero.AspectBernoulli.fit", fit)
    saved = tmp_path / "so far"
    outcome = run("fit", finds, *LONG, "-o", tmp_path / "model.fz", "--checkpoint", saved)
    assert (outcome.code, outcome.out) == (130, "")
    assert f"Run the same command again to resume from {saved}." in outcome.err
    assert outcome.err.endswith("Interrupted.\n")


def test_a_full_disk_at_the_end_keeps_the_checkpoint(
    run: Any, finds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, saved = tmp_path / "model.fz", tmp_path / "fit.ckpt"
    command = ("fit", finds, *LONG, "-k", 2, "-o", target, "--checkpoint", saved)

    def full(path: object, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patch:
        patch.setattr("falsezero.io.models.write_atomically", full)
        outcome = run(*command)
    assert outcome.code == 1
    assert f"No space left on device: {target}" in outcome.err
    assert saved.exists()
    assert not target.exists()
    assert run(*command).code == 0
    assert target.exists()
    assert not saved.exists()
