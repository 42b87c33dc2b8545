"""What fits leave behind in the process that ran them."""

import os
import subprocess
import sys
import textwrap

PROGRAM = """
from threading import Barrier, Thread
import numpy, scipy.linalg
from threadpoolctl import threadpool_info
from falsezero.backends import workers

def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

before = blas_threads()
entered, left, seen = Barrier(2), Barrier(2), []

def first():
    with workers(1, 1):
        entered.wait()
    left.wait()

def second():
    with workers(1, 1):
        entered.wait()
        left.wait()
        seen.append(blas_threads())

threads = [Thread(target=each) for each in (first, second)]
for each in threads:
    each.start()
for each in threads:
    each.join()
assert seen == [{1}], f"the end of another fit changed ours: {seen}"
assert blas_threads() == before, f"{before} became {blas_threads()}"
try:
    with workers(1, 1):
        raise ZeroDivisionError
except ZeroDivisionError:
    assert blas_threads() == before
"""


def test_fits_in_several_threads_give_blas_its_threads_back():
    """In a fresh process, where no other thread has a say in the number."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    program = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
