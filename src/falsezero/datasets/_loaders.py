"""One short loader per data set; all read from the folder that FALSEZERO_DATA names."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.table import Table
from falsezero.datasets._store import Dataset, Folder, choose


def load_fossils(version: str = "g10s2") -> Dataset:
    """European fossil sites x mammal genera, with ages; the table of the Aspect Bernoulli paper.

    `version` "g10s2" has 501 sites and 139 genera; "g10s10", "g5s5" and "g2s2" keep genera of at
    least 10, 5, 2 sites and sites of at least 10, 5, 2 genera. `target` is the age in million
    years.
    """
    choose("version", version, ("g10s2", "g10s10", "g5s5", "g2s2"))
    folder = Folder("now_european_mammals")
    sites = folder.columns(f"{version}_sites.csv")
    genera = folder.lines(f"{version}_genera.txt")
    values = folder.arrays(f"{version}.npz")["X"]
    table = Table(values, sites.pop("site"), genera, "fossils")
    return folder.dataset(table, target=sites["age_ma"], row_info=sites)


def load_mfeat_digits(threshold: int = 4) -> Dataset:
    """2000 handwritten digits of 16 x 15 pixels, on where at least `threshold` of 6 are inked."""
    folder = Folder("mfeat_pix")
    arrays = folder.arrays("mfeat_pix.npz")
    table = Table(arrays["X"] >= threshold, name="mfeat digits")
    digits = arrays["y"].astype(np.int64)
    return folder.dataset(table, target=digits, row_info={"digit": digits}, image_shape=(16, 15))


def load_monks(relation: str = "like") -> Dataset:
    """Sampson's 18 monks: row likes column; `target` is the group.

    `relation` "like" joins the three surveys; "samplk1" to "samplk3" and "sampdlk1" to "sampdlk3"
    are liking and disliking at three times.
    """
    folder = Folder("sampson_monks")
    arrays = folder.arrays("sampson.npz")
    choose("relation", relation, tuple(arrays))
    monks = folder.columns("monks.csv")
    names = monks.pop("monk")
    table = Table(arrays[relation], names, names, "monks")
    return folder.dataset(table, target=monks["group"], row_info=monks, column_info=monks)


def load_polblogs() -> Dataset:
    """1490 political blogs of 2004: row links to column; `target` is the leaning."""
    folder = Folder("polblogs")
    blogs = folder.columns("blogs.csv")
    names = blogs.pop("blog")
    table = Table(folder.sparse("links.npz"), names, names, "polblogs")
    return folder.dataset(table, target=blogs["leaning"], row_info=blogs, column_info=blogs)


def load_statisticians(table: str = "cites_top40") -> Dataset:
    """Papers of statisticians and what they cite.

    `table` "cites_top40" has 777 papers x the 40 most cited authors; "paper_cites_author",
    "paper_cites_paper", "paper_author" and "words" (counts) have all 3248 papers.
    """
    known = ("cites_top40", "paper_cites_author", "paper_cites_paper", "paper_author", "words")
    choose("table", table, known)
    folder = Folder("statisticians_citations")
    papers = folder.columns("cites_top40_papers.csv" if table == known[0] else "papers.csv")
    rows = papers.pop("DOI")
    if table == "paper_cites_paper":
        columns = rows
    else:
        names = {"cites_top40": "cites_top40_authors.txt", "words": "words.txt"}
        columns = folder.lines(names.get(table, "authors.txt"))
    values = folder.sparse(f"{table}.npz")
    return folder.dataset(Table(values, rows, columns, "statisticians"), row_info=papers)


def load_cora(table: str = "words") -> Dataset:
    """2708 papers x words (or x linked papers, `table="citations"`); `target` is the field."""
    return _planetoid("cora", table)


def load_citeseer(table: str = "words") -> Dataset:
    """3327 papers x words (or x linked papers, `table="citations"`); `target` is the field."""
    return _planetoid("citeseer", table)


def load_usps(threshold: float = 0.0) -> Dataset:
    """9298 handwritten digits of 16 x 16 pixels, on where the grey value is above `threshold`."""
    folder = Folder("usps")
    arrays = folder.arrays("usps.npz")
    table = Table(arrays["X"] > round(1000 * (threshold + 1)), name="usps")
    digits = arrays["y"].astype(np.int64)
    info = {"digit": digits, "is_test": arrays["is_test"]}
    return folder.dataset(table, target=digits, row_info=info, image_shape=(16, 16))


def load_golub(values: str = "call") -> Dataset:
    """72 leukaemia patients x 7129 genes; `target` is ALL or AML.

    `values` "call" gives a one where the gene was called present, "expression" the measured
    expression (real numbers).
    """
    choose("values", values, ("call", "expression"))
    folder = Folder("golub_leukaemia")
    arrays, genes = folder.arrays("golub.npz"), folder.columns("genes.csv.gz")
    matrix = arrays["call"] == 2 if values == "call" else arrays["X"]
    table = Table(matrix, arrays["sample"], genes.pop("accession"), "golub")
    info = {"type": arrays["y"], "is_test": arrays["is_test"]}
    return folder.dataset(table, target=arrays["y"], row_info=info, column_info=genes)


def load_kos() -> Dataset:
    """3430 blog entries x 6906 words, counts (the words themselves are not known)."""
    return _words("kos", "documents.npz")


def load_associated_press() -> Dataset:
    """2246 news texts x 10473 words, counts."""
    return _words("associated_press", "documents.npz", columns="words.txt")


def load_reuters395() -> Dataset:
    """395 news texts x 4258 words, counts, with titles."""
    return _words("reuters395", "documents.npz", rows="titles.txt", columns="words.txt")


def load_wikipedia_sample() -> Dataset:
    """105 Wikipedia articles x 13159 words, counts, with titles."""
    return _words("wikipedia_sample", "articles.npz", rows="titles.txt", columns="words.txt")


def load_newsgroups20() -> Dataset:
    """18774 messages x 61188 words, counts; `target` is the newsgroup."""
    folder = Folder("newsgroups20_bow")
    labels = folder.columns("labels.csv")
    groups = folder.lines("groupnames.txt")[labels["label"] - 1]
    info = {"group": groups, "split": labels["split"]}
    table = Table(folder.sparse("documents.npz"), None, folder.lines("words.txt"), "newsgroups20")
    return folder.dataset(table, target=groups, row_info=info)


def load_newsgroups_w100() -> Dataset:
    """16242 messages x 100 words, binary; `target` is the main group."""
    folder = Folder("newsgroups_w100")
    codes = folder.lines("labels.txt").astype(np.int64)
    groups = folder.lines("groupnames.txt")[codes - 1]
    table = Table(folder.sparse("documents.npz"), None, folder.lines("words.txt"), "newsgroups")
    return folder.dataset(table, target=groups, row_info={"group": groups})


def load_imdb_reviews(part: str = "labelled") -> Dataset:
    """Movie reviews x 25101 words, counts: 50000 "labelled", 50000 "unlabelled", or "all".

    `target` is "pos" or "neg" for the labelled part.
    """
    choose("part", part, ("labelled", "unlabelled", "all"))
    folder = Folder("imdb_reviews")
    parts = ("labelled", "unlabelled") if part == "all" else (part,)
    values = sp.vstack([folder.sparse(f"{each}.npz") for each in parts], format="csr")
    table = Table(values, None, folder.lines("words.txt"), f"imdb reviews ({part})")
    if part != "labelled":
        return folder.dataset(table)
    info = folder.columns("labelled.csv.gz")
    return folder.dataset(table, target=info["sentiment"], row_info=info)


def load_senate() -> Dataset:
    """100 senators x 542 roll calls: 1 yea, 0 nay, not observed where no vote was recorded."""
    folder = Folder("us_senate_109")
    senators = folder.columns("senators.csv")
    votes = folder.arrays("votes.npz")["X"].astype(np.float64)
    values = np.where(votes == 0, np.nan, votes > 0)
    table = Table(values, senators.pop("senator"), folder.lines("bills.txt"), "senate")
    return folder.dataset(table, target=senators["party"], row_info=senators)


def load_epub() -> Dataset:
    """15729 web sessions x 936 downloaded documents, binary and sparse."""
    folder = Folder("epub")
    sessions, items = folder.columns("sessions.csv.gz"), folder.columns("items.csv")
    rows = sessions.pop("transactionID")
    table = Table(folder.sparse("baskets.npz"), rows, items["labels"], "epub")
    return folder.dataset(table, row_info=sessions)


def load_polca(survey: str = "carcinoma") -> Dataset:
    """Surveys of the R package poLCA as binary tables.

    "carcinoma" (118 slides x 7 pathologists), "cheating" (319 students x 4 items) and "values"
    (216 x 4 items) have a one where the answer is 2; "election" (1785 voters x 12 ratings) has a
    one for "extremely well" and "quite well"; "gss82" (1202 x 10) has one column an answer.
    """
    choose("survey", survey, ("carcinoma", "cheating", "values", "election", "gss82"))
    folder = Folder("polca")
    answers = folder.columns(f"{survey}.csv")
    info = {
        name: answers.pop(name)
        for name in ("GPA", "VOTE3", "AGE", "EDUC", "GENDER", "PARTY")
        if name in answers
    }
    columns: dict[str, Any] = {}
    for name, answer in answers.items():
        if survey == "gss82":
            columns |= {f"{name}={word}": answer == word for word in np.unique(answer)}
        elif survey == "election":
            known = np.char.str_len(answer) > 0
            columns[name] = np.where(known, np.char.find(answer, "Not") < 0, np.nan)
        else:
            columns[name] = answer - 1
    values = np.column_stack(list(columns.values()))
    return folder.dataset(Table(values, None, list(columns), survey), row_info=info)


def _planetoid(name: str, table: str) -> Dataset:
    choose("table", table, ("words", "citations"))
    folder = Folder(f"{name}_citations")
    fields = folder.lines("labels.txt")
    values = Table(folder.sparse(f"{table}.npz"), name=f"{name} {table}")
    return folder.dataset(values, target=fields, row_info={"field": fields})


def _words(name: str, file: str, rows: str | None = None, columns: str | None = None) -> Dataset:
    folder = Folder(name)
    labels = [None if names is None else folder.lines(names) for names in (rows, columns)]
    return folder.dataset(Table(folder.sparse(file), labels[0], labels[1], name))
