"""Every table, figure and claim of the noisy-or paper."""

from __future__ import annotations

from falsezero.experiments._items import Item

_RANDOM = (
    "not known: from random starts the paper's updates, as we read them, end in poor optima; "
    "the paper does not say whether it chose among several starts. Ours begins with a search"
)
_AUTHORS = "the data at hand: statisticians and their schools, since the crawl is not public"
_PICTURE = "a drawing of the model or of its formulas, not a result"

ITEMS = (
    Item("Figure 1", "section 2", "the model as a graph", untested=_PICTURE),
    Item("Figure 2", "section 3.2", "the update formulas",
         untested=f"{_PICTURE}; tests of the model check the formulas"),
    Item("Figure 3", "section 3.2", "bisection finds the M-step in about ten iterations"),
    Item("Section 3.3", "section 3.3", "links not needed are shut off by themselves",
         doubt=_RANDOM),
    Item("Figure 4", "section 4", "image patterns and images made of them"),
    Item("Figure 5", "section 4.1", "models learned from 50, 200 and 1000 images",
         doubt=_RANDOM),
    Item("Figure 6", "section 4.1", "likelihood of new images over the training images",
         doubt=_RANDOM),
    Item("Figure 7 (a)", "section 4.2", "BIC is smallest at the true 8 sources", doubt=_RANDOM),
    Item("Figure 7 (b)", "section 4.2", "the likelihood levels off at 8 sources", doubt=_RANDOM),
    Item("Section 4.2", "section 4.2", "7-8 sources stay active when there are more",
         doubt=_RANDOM),
    Item("Figure 8 (a)", "section 4.3", "time grows linearly with the images"),
    Item("Figure 8 (b)", "section 4.3", "time grows linearly with the sources",
         doubt="not known: counted in operations an iteration of ours is linear in the sources; "
         "fits with more of them take more iterations"),
    Item("Section 4.3", "section 4.3", "the number of EM iterations depends on neither",
         doubt="our reading: iterations up to a relative gain of 1e-5; the paper does not give "
         "its rule for stopping"),
    Item("Figure 9 (a)", "section 4.4", "reconstruction error over the training images",
         doubt=_RANDOM),
    Item("Figure 9 (b)", "section 4.4", "reconstruction error over the sources", doubt=_RANDOM),
    Item("Figure 10 (a)", "section 4.4", "the same by logistic PCA"),
    Item("Figure 10 (b)", "section 4.4", "the same by logistic PCA over its components"),
    Item("Figure 11", "section 5.3", "PLSA and LDA as graphs", untested=_PICTURE),
    Item("Table 1", "section 5.4.1", "communities that four methods find", doubt=_AUTHORS),
    Item("Figure 12", "section 5.4.1", "loadings with 5 and 10 sources; some are shut off",
         doubt=_AUTHORS),
    Item("Figure 13", "section 5.4.1", "strongest authors of each component, four methods"),
    Item("Figure 14", "section 5.4.2", "weighted cosine over the components matched",
         doubt=_AUTHORS),
    Item("Table 2", "section 5.4.3", "cross entropy of new papers", doubt=_AUTHORS),
    Item("Cora and CiteSeer", "not in the paper",
         "ours: members of a source of a citation graph share a field"),
)  # fmt: skip
