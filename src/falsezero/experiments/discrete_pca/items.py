"""Every comparison and claim of the Discrete PCA slides."""

from __future__ import annotations

from falsezero.experiments._items import Item

_CORPUS = "the data at hand: newsgroups and film reviews, since RCV1 is not free, and fewer rows"
_DERIVED = "formulas; tests of the model check them"

ITEMS = (
    Item("Matrix factorisation", "slides 3-6", "factorisations as approximations of documents",
         untested="an introduction without a result"),
    Item("Models", "slides 9-14", "gamma-Poisson, Dirichlet-multinomial, general model",
         untested=_DERIVED),
    Item("Gamma components", "slide 'Gamma components'", "densities of gammas; nearly Gaussian "
         "for shapes above 4"),
    Item("Algorithm issues", "slides 'Algorithm Issues', 'Mean Field', 'Gibbs'",
         "EM, mean field, Gibbs and collapsed Gibbs; hyperparameters learned", untested=_DERIVED),
    Item("Example component, words", "slides 'Example component'",
         "four multinomials packed into one vector; distinctive words",
         doubt="the data at hand: messages of four newsgroups"),
    Item("Example component, phrases", "slides 'Example component'",
         "distinctive phrases of the component Mythology",
         doubt="the data at hand: messages of four newsgroups, since the pages are not at hand"),
    Item("Example component, pages", "slides 'Example component'",
         "pages ranked by topic and links (topic-specific PageRank)",
         doubt="the data at hand: Cora and CiteSeer, papers and their citations"),
    Item("Applications, classification", "slide 'Text Applications'",
         "features for text classification work; support vector machines are better",
         doubt="the data at hand: binary words of four newsgroups"),
    Item("Applications, retrieval", "slide 'Text Applications'",
         "language models for information retrieval",
         doubt="the data at hand: messages as queries, and those of the same group as right "
         "answers"),
    Item("Applications, synonyms", "slide 'Text Applications'", "synonyms are discovered",
         doubt="the data at hand: words that share a stem, since no list of synonyms is at hand"),
    Item("Applications, language", "slide 'Text Applications'",
         "relations for a parser, ontologies",
         untested="the slides name these uses and show no result of them"),
    Item("Estimating K", "slide 'Estimating a good number'",
         "the harmonic mean estimates the evidence; it has an optimum",
         doubt="the slides' own contradiction: the variance of the harmonic mean is infinite, and "
         "in practice it is far too high"),
    Item("Estimating K, VLDB", "slide 'Estimating a good number'",
         "K = 16 for 1800 VLDB abstracts", untested="the abstracts are not at hand"),
    Item("Estimating K, newsgroups", "slide 'Estimating a good number'",
         "K = 200 for 20 newsgroups with 30000 words", full_only=True,
         doubt="the data at hand: a sample of the messages and of the words"),
    Item("Bigrams", "slides 'Relative performance for bigrams'", "perplexity against time, "
         "K = 20, 100, 500", doubt=_CORPUS),
    Item("Documents", "slides 'Relative performance for documents'", "perplexity against time, "
         "K = 20, 100", doubt=_CORPUS),
    Item("Results, Rao-Blackwell", "slide 'Results summary'",
         "Rao-Blackwellised Gibbs converges faster than direct Gibbs", doubt=_CORPUS),
    Item("Results, inner loop", "slide 'Results summary'",
         "inner convergence of the loop can damage mean field", doubt=_CORPUS),
    Item("Results, mean field", "slide 'Results summary'",
         "mean field converges faster",
         doubt="our reading: the slide also calls the Rao-Blackwellised sampler the fastest, so "
         "that two readings are tried; and times are those of our code, whose sampler needs "
         "less for a sweep than mean field for an iteration"),
    Item("Results, mean field equals", "slide 'Results summary'",
         "in one case mean field equals the others in perplexity", doubt=_CORPUS),
    Item("Results, catching up", "slide 'Results summary'",
         "direct Gibbs usually catches up", doubt=_CORPUS),
    Item("Results, over-fitting", "slide 'Results summary'",
         "mean field starts to over-fit quickly",
         doubt=f"{_CORPUS}; our prior and smoothing may differ from theirs"),
)  # fmt: skip
