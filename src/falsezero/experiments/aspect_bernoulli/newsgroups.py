"""Aspect Bernoulli paper, sections 3.3.3 and 3.4.3: newsgroups (Tables 1-3, 5; Figs. 7, 15)."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.analysis.gaps import expand
from falsezero.analysis.noise import find_phantoms
from falsezero.data.tidy import Tidy
from falsezero.datasets import Dataset
from falsezero.experiments._methods import fitted
from falsezero.experiments._report import Report
from falsezero.experiments.aspect_bernoulli.fossils import added_ones, densities, littered
from falsezero.plot import PhantomWeightDisplay

GROUPS = ("sci.crypt", "sci.med", "sci.space", "soc.religion.christian")


def topics(report: Report, data: Dataset) -> None:
    """Tables 1 to 3 and Figure 7: topics, a phantom, words explained and words expected."""
    report.section("Table 1: aspects of newsgroup messages")
    table = data.table
    model = fitted("AB", table, 5, n_init=10 if report.quick else 30)
    phantoms = find_phantoms(model)
    caption = "Words by probability; sum of the weights above."
    report.table(top_words(model, table), caption, "Table 1")
    report.claim(
        "Table 1",
        "one of five aspects is a white phantom, with the largest overall weight",
        f"{len(phantoms.white)} white; weights {model.row_weights_.sum(axis=0).round(1).tolist()}",
        len(phantoms.white) == 1 and int(phantoms.white[0]) == 0,
    )
    _groups(report, "Table 1", "", model, data, phantoms.content)
    _richness(report, model, table, phantoms)
    _causes(report, model, table)
    _expansion(report, model, table)


def top_words(model: Any, table: Any, n: int = 10) -> Tidy:
    """The words that each aspect makes most often, with their probabilities."""
    columns = {}
    kinds = find_phantoms(model).kinds
    for k, a in enumerate(model.components_):
        best = np.argsort(-a, kind="stable")[:n]
        kind = "" if kinds[k] == "content" else f" ({kinds[k]} phantom)"
        words = [f"{table.columns[t]} {a[t]:.2g}" for t in best]
        columns[f"aspect {k + 1}{kind}"] = [f"{model.row_weights_[:, k].sum():.1f}", *words]
    return Tidy(columns)


def _groups(report: Report, where: str, kind: str, model: Any, data: Dataset, content: Any) -> None:
    """Each content aspect belongs to a newsgroup of its own."""
    weights = model.row_weights_[:, content]
    target = np.asarray(data.target)
    by_group = np.array([weights[target == group].sum(axis=0) for group in GROUPS])
    best = by_group.argmax(axis=0)
    share = by_group.max(axis=0) / np.maximum(by_group.sum(axis=0), 1e-12)
    said = ", ".join(f"{GROUPS[g]} {s:.0%}" for g, s in zip(best, share, strict=True))
    report.claim(
        where,
        f"{kind}four aspects are the topics of the four newsgroups",
        f"strongest group of each content aspect: {said}",
        len(set(best.tolist())) == 4 and len(content) == 4,
    )


def _richness(report: Report, model: Any, table: Any, phantoms: Any) -> None:
    report.section("Figure 7: weights against the number of words")
    everything = range(len(model.components_))
    words = table.to_numpy().sum(axis=1)
    marked = _some_messages(words)
    display = PhantomWeightDisplay.from_estimator(model, table, everything, marked=marked)
    report.figure(
        display,
        "Weight of each aspect against the number of words of a message. Marked: "
        + "; ".join(
            f"{shape}: {' '.join(map(str, table.columns[table.to_numpy()[n] == 1]))}"
            for shape, n in zip(("circle", "square", "triangle"), marked, strict=True)
        )
        + ".",
        "Figure 7",
    )
    rho = [float(np.corrcoef(model.row_weights_[:, k], words)[0, 1]) for k in everything]
    white, content = phantoms.white, phantoms.content
    report.claim(
        "Figure 7",
        "the phantom is strong in short messages, topics in long ones",
        f"correlations {np.round(rho, 2).tolist()}, phantom {(white + 1).tolist()}",
        bool(len(white) and rho[white[0]] < 0 and all(rho[k] > 0 for k in content)),
    )


def _some_messages(words: np.ndarray) -> list[int]:
    """A very short, a fairly long and a medium message, as long as the paper's three."""
    return [int(np.argmin(np.abs(words - n))) for n in (2, 15, 6)]


def _causes(report: Report, model: Any, table: Any) -> None:
    report.section("Table 2: words and their causes")
    some = _some_messages(table.to_numpy().sum(axis=1))
    lines: list[dict[str, Any]] = []
    for block, weights in model.weights_by_block(table):
        for n in some:
            if not block.rows.start <= n < block.rows.stop:
                continue
            i = n - block.rows.start
            posterior = model.cell_posterior(block, weights)[:, i]
            for t in np.flatnonzero(block.codes[i] == 1):
                best = np.argsort(-posterior[:, t])[:3]
                causes = ", ".join(
                    f"aspect {k + 1} {posterior[k, t]:.2f}" for k in best if posterior[k, t] >= 0.01
                )
                lines.append({"message": n, "word": str(table.columns[t]), "causes": causes})
    report.table(Tidy.from_rows(lines), "A short, a long and a medium message.", "Table 2")
    shared = sum("," in line["causes"] for line in lines)
    report.claim(
        "Table 2",
        "some common words share several aspects, most have one",
        f"{shared} of {len(lines)} words have more than one cause",
        0 < shared < 0.7 * len(lines),
        ours="at most 70 % share causes",
    )


def _expansion(report: Report, model: Any, table: Any) -> None:
    report.section("Table 3: messages expanded")
    rows = table.rows[np.random.default_rng(3).choice(len(table), 10, replace=False)]
    found = expand(model, table, rows=rows, n=9)
    values = table.to_numpy()
    lines = []
    for label in rows:
        present = table.columns[values[table.row(label)] == 1]
        of_row = found.take(found["row"] == label)
        pairs = zip(of_row["column"], of_row["noise"], strict=True)
        lines.append(
            {
                "words present": " ".join(map(str, present)),
                "words expected": " ".join(f"{word} {q:.2f}" for word, q in pairs),
            }
        )
    report.table(
        Tidy.from_rows(lines), "Words that the phantom is held responsible for.", "Table 3"
    )
    report.claim(
        "Table 3",
        "words expected fit the topic of the message",
        "left to the reader of the table: the paper gives no figure either",
        None,
    )


def added_words(report: Report, data: Dataset) -> None:
    """Table 5 and Figure 15: added words."""
    for kind, spoilt in littered(data.table).items():
        report.section(f"Table 5 and Figure 15: added words, {kind}")
        report.text(densities(data.table, spoilt, "6.3 % and 13.7 %"))
        n_rows, n_columns = spoilt.shape
        free = n_columns * 6 + 5 * n_rows
        orders = {"AB": 6, "MB": round((free + 1) / (n_columns + 1)), "PLSA": 6}
        model = added_ones(report, "Figure 15", kind, data.table, spoilt, orders)
        report.table(top_words(model, spoilt), "Table 5: words by probability.", "Table 5")
        _groups(report, "Table 5", f"{kind}: ", model, data, find_phantoms(model).content)
