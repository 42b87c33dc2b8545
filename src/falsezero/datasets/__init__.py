"""Real tables to learn from, and generators for tables whose truth is known.

The loaders read below the folder that the environment variable FALSEZERO_DATA names; the generators
need nothing.
"""

from falsezero.datasets._generators import Simulated, make_aspect_bernoulli, make_digits_demo
from falsezero.datasets._loaders import (
    load_associated_press,
    load_citeseer,
    load_cora,
    load_epub,
    load_fossils,
    load_golub,
    load_imdb_reviews,
    load_kos,
    load_mfeat_digits,
    load_monks,
    load_newsgroups20,
    load_newsgroups_w100,
    load_polblogs,
    load_polca,
    load_reuters395,
    load_senate,
    load_statisticians,
    load_usps,
    load_wikipedia_sample,
)
from falsezero.datasets._looks import SimulatedLooks, make_looks
from falsezero.datasets._newsgroups4 import load_newsgroups4, load_newsgroups4_documents
from falsezero.datasets._repeated import load_bluebirds, load_hubbard_brook, load_swiss_birds
from falsezero.datasets._sparse import SparseSimulated, make_sparse_aspect_bernoulli
from falsezero.datasets._store import Dataset, DatasetNotFoundError
from falsezero.datasets.noisy_or_images import NoisyOrImages, make_noisy_or_images

__all__ = [
    "Dataset",
    "DatasetNotFoundError",
    "NoisyOrImages",
    "Simulated",
    "SimulatedLooks",
    "SparseSimulated",
    "load_associated_press",
    "load_bluebirds",
    "load_citeseer",
    "load_cora",
    "load_epub",
    "load_fossils",
    "load_golub",
    "load_hubbard_brook",
    "load_imdb_reviews",
    "load_kos",
    "load_mfeat_digits",
    "load_monks",
    "load_newsgroups4",
    "load_newsgroups4_documents",
    "load_newsgroups20",
    "load_newsgroups_w100",
    "load_polblogs",
    "load_polca",
    "load_reuters395",
    "load_senate",
    "load_statisticians",
    "load_swiss_birds",
    "load_usps",
    "load_wikipedia_sample",
    "make_aspect_bernoulli",
    "make_digits_demo",
    "make_looks",
    "make_noisy_or_images",
    "make_sparse_aspect_bernoulli",
]
