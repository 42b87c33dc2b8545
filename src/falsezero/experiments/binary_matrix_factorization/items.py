"""Every figure and claim of the binary matrix factorization paper."""

from __future__ import annotations

from falsezero.experiments._items import Item

_BARS = (
    "our reading: the paper gives neither the concentration of its buffet nor the length of its "
    "chains; ours are 2 and at most 2000 sweeps"
)

ITEMS = (
    Item("Figure 1", "section 2", "the model as a graph and as a picture",
         untested="a drawing of the model, not a result"),
    Item("Section 2, likelihoods", "section 2", "Gaussian, logistic and Poisson cells",
         untested="all three are fitted and tested as models; categorical cells are not offered: "
         "the paper names them but gives no likelihood for them, and one set of weights for each "
         "category would be another model"),
    Item("Section 2, priors", "section 2", "Beta priors with beta, W with a prior mean",
         untested="beta is 1 in all experiments of the paper and here; other values (`beta=`) are "
         "checked by enumeration. The weight of the two bias features is a global weight and takes "
         "the place of a prior mean of W; noise that differs between cells (theta_ij) would have "
         "to be known beforehand, and the paper never uses it"),
    Item("Section 3.3, moves", "section 3.3", "split-merge moves make mixing faster",
         doubt="not known: chains end in different modes, so that the way to the same density "
         "varies more between data sets and chains than split-merge changes it"),
    Item("Figure 2", "section 4.1", "missing halves of bars restored, A to E", doubt=_BARS),
    Item("Figure 3", "section 4.1", "V and W V' that made the bars, and those of a draw",
         doubt=_BARS),
    Item("Figure 4, A-E", "section 4.2", "missing halves of digits restored",
         doubt="not known"),
    Item("Figure 4, F-H", "section 4.2", "averages of digits, basis images, column features"),
    Item("Figure 5", "section 4.3", "overlapping clusters in gene expression",
         doubt="our reading: the paper does not say which genes it used, nor how they were scaled"),
    Item("Section 4.3, known features", "section 4.3", "columns of U or V could be fixed",
         untested="a wish of the paper; `known_rows=` and `known_columns=` answer it and are "
         "tested"),
)  # fmt: skip
"""Equations (2)-(8) are the sampler; Geweke's test and enumeration check them."""
