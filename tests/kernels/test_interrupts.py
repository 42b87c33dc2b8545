"""Ctrl-C inside compiled code is a KeyboardInterrupt and nothing else."""

import signal

import numpy as np
import pytest

import falsezero as fz
from falsezero.kernels._jit import Kernel


def test_a_system_error_after_an_interrupt_is_that_interrupt():
    def broken(*_):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    kernel = Kernel(broken, {})
    kernel.__dict__["dispatcher"] = broken
    with pytest.raises(KeyboardInterrupt):
        kernel()

    def wrapped(*_):
        # As where a kernel hands arrays to Python objects of its own.
        try:
            broken()
        except SystemError as error:
            raise SystemError("and once more") from error

    kernel.__dict__["dispatcher"] = wrapped
    with pytest.raises(KeyboardInterrupt):
        kernel()

    def worse(*_):
        raise SystemError("something else")

    kernel.__dict__["dispatcher"] = worse
    with pytest.raises(SystemError, match="something else"):
        kernel()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
@pytest.mark.parametrize("kind", [fz.AspectBernoulli, fz.NoisyOr])
def test_an_interrupt_during_a_fit_is_a_keyboard_interrupt(kind):
    X = (np.random.default_rng(0).random((400, 60)) < 0.3).astype(float)
    model = kind(4, random_state=0, max_iter=10**6, tol=0)
    model.set_params(max_iter=3).fit(X)
    model.set_params(max_iter=10**6)

    def fit_for_ever(delay):
        # Set here, because a busy machine may take longer than the delay to get to the fit; and
        # repeated, because an exception in a finalizer is lost.
        signal.setitimer(signal.ITIMER_REAL, delay, 10.0)
        while True:  # A fit that settles before the alarm is started again.
            model.fit(X)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in np.linspace(0.02, 0.1, 12):
            with pytest.raises(KeyboardInterrupt):
                fit_for_ever(delay)
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
