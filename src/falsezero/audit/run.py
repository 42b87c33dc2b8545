"""From a table to its audit: check, average, try on hidden finds."""

from __future__ import annotations

from typing import Any

from scipy.special import expit

from falsezero.audit.audit import Audit
from falsezero.audit.checks import checked_cells, checked_probabilities, checked_table
from falsezero.audit.doubt import stated_detection
from falsezero.audit.in_files import audit_shards
from falsezero.audit.probabilities import Probabilities
from falsezero.audit.trial import run_trial
from falsezero.data.errors import DataError
from falsezero.data.looks import is_looks
from falsezero.data.shards import Shards
from falsezero.models.average.average import StackedAverage
from falsezero.models.average.in_files import TableInFiles
from falsezero.models.average.large import is_large

__all__ = ["audit"]


def audit(
    table: Any,
    *,
    probabilities: Any = None,
    loss: float | None = None,
    detection: Any = None,
    certain: Any = None,
    false_alarms: bool = False,
    next_look: Any = None,
    random_state: Any = None,
    verbose: int = 1,
) -> Audit:
    """Find the surprising zeros of a table, and test on the same table how reliable that is.

    Many models are averaged, with weights learnt from finds hidden on purpose (`StackedAverage`);
    there is no model to choose and no number of components. The same hidden finds say how well the
    answer works here (`Audit.trial`). From single looks an audit names *surprising* zeros, where a
    one was expected more often than not. How many of them are false needs more: a stated loss or
    detection rate, or revisits (`calibrate`).

    Repeated looks measure detection themselves: `again` and `present` are then there for every
    cell, from an average of `RepeatedLooks` models (`LooksAudit`).

    Parameters
    ----------
    table : Table, array, sparse array, data frame, Looks or Shards
        Zeros and ones; NaN for cells that nobody looked at. Looks, or a 3-D array of shape (rows,
        looks, columns), are repeated looks; of shape (rows, observers, 1), observers of one thing.
        `Shards` of more than 10^8 cells are never in memory together (`ShardsAudit`); within
        `falsezero.on_dask` workers read them.
    probabilities : array, Table or estimator, optional
        Use these instead of the average: probabilities of a one for every cell, or a model with
        `fit` and `reconstruct`, which is then tried on hidden finds like the average would be.
    loss : float, optional
        Share of what is there that one look misses, where that is known.
    detection : array or dict, optional
        Known detection rates, one a row or one a column (an array of that length, or a dict from
        labels), or ``{"rows": ..., "columns": ...}`` for both. They order the zeros, too; rates
        that are far off order them worse than none.
    certain : list of (row, column), or mask, optional
        Cells that are beyond doubt: zeros that were checked, ones that are sure. They leave the
        lists, and `again` and `present` of such a zero are 0. `expected` stays as it is: it speaks
        of one ordinary look, and a closer look at one cell says nothing of that. Where many cells
        were looked at again, `calibrate` or repeated looks learn from it.
    false_alarms : bool, default=False
        Whether repeated looks may record what is not there.
    next_look : dict, optional
        What is known of the next look that `again` speaks of, by the variables of repeated looks:
        ``{"date": 68}``, one number or one per row. Without it, the mean of all looks.
    random_state : int, Generator, RandomState or None
    verbose : int, default=1
        1 shows a progress bar on a terminal, 2 a line for every model fitted, 0 nothing.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import falsezero as fz
    >>> clean = fz.datasets.make_aspect_bernoulli(120, 20, 3, random_state=0).table
    >>> spoilt = fz.corrupt(clean, omit=0.5, random_state=0)
    >>> fz.audit(spoilt, random_state=0).zeros.columns
    ['row', 'column', 'expected', 'why']
    >>> fz.audit(spoilt, probabilities=fz.EASE(), loss=0.2, random_state=0).zeros.columns
    ['row', 'column', 'expected', 'again', 'present', 'why']
    """
    if is_looks(table):
        from falsezero.audit.looks import audit_looks, single_looks

        once = single_looks(table)
        if once is None:
            stated = (probabilities, loss, detection)
            return audit_looks(
                table, stated, certain, false_alarms, next_look, random_state, verbose
            )
        table = once
    if next_look is not None:
        raise DataError(
            "next_look= states variables of repeated looks, but these cells were looked at once."
        )
    if isinstance(table, Shards):
        if is_large(table.shape):
            _refuse_probabilities(probabilities)
            files = TableInFiles(table)
            return audit_shards(files, loss, detection, certain, random_state, verbose)
        table = table.to_table()
    table = checked_table(table)
    rates = stated_detection(table, loss, detection)
    sure = checked_cells(certain, table)
    if probabilities is not None and not hasattr(probabilities, "reconstruct"):
        given = checked_probabilities(probabilities, table)
        known = Probabilities(table, lambda rows: given[rows])
        return Audit(table, known, stated=rates, certain=sure)
    members = None
    if probabilities is not None:
        members = [(type(probabilities).__name__, probabilities)]
    model = StackedAverage(members, random_state=random_state, verbose=verbose).fit(table)
    odds = model.cell_odds(table.shape)
    expected = Probabilities(
        table,
        lambda rows: expit(model.log_odds(table.values, rows)),
        None if odds is None else lambda rows, columns: expit(odds.at(rows, columns)),
    )
    trial = run_trial(model, table.shape)
    return Audit(table, expected, model, trial, rates, sure)


def _refuse_probabilities(probabilities: Any) -> None:
    if probabilities is not None:
        raise DataError(
            "An audit of files averages models that know single cells; probabilities= needs the "
            "table in memory."
        )
