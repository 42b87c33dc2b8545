"""Compiled code is never stale, and no fault of its cache stops a kernel."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import falsezero
from falsezero.kernels import _cache
from falsezero.kernels._cache import CodeCache, folders
from falsezero.kernels.convex import onto_simplex

HELPER = """
from falsezero.kernels._jit import jit

@jit
def amount():
    return {amount}.0
"""
CALLER = """
from falsezero.kernels._jit import jit
from falsezero.kernels.helper import amount

@jit
def add(x):
    return x + amount()
"""
PROGRAM = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from falsezero.kernels.caller import add
    print(add(1.0), add(1))
    print(sum(add.dispatcher.stats.cache_hits.values()), len(caught))
    print([str(each.message) for each in caught])
"""


class Package:
    """A copy of the kernel machinery with one kernel that calls a helper in another file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kernels = root / "falsezero" / "kernels"
        self.kernels.mkdir(parents=True)
        source = Path(falsezero.__file__).parent / "kernels"
        for name in ("__init__.py", "_cache.py", "_compiler.py", "_jit.py"):
            shutil.copy(source / name, self.kernels)
        (root / "falsezero" / "__init__.py").touch()
        (self.kernels / "caller.py").write_text(CALLER)
        self.set_amount(1)

    def set_amount(self, amount: int) -> None:
        (self.kernels / "helper.py").write_text(HELPER.format(amount=amount))

    def code_files(self) -> list[Path]:
        return sorted(self.root.rglob("*.code"))

    def run(self, before: Callable[[], Any] | None = None, **environment: str) -> tuple[str, ...]:
        """Printed lines: answers, number of cache hits and warnings, the warnings."""
        plain = {"PYTHONPATH": str(self.root), "HOME": str(self.root / "home")}
        known = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
        done = subprocess.run(
            [sys.executable, "-B", "-c", PROGRAM],
            env={**known, **plain, **environment},
            preexec_fn=before,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return tuple(done.stdout.splitlines())


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Package(tmp_path)


def test_edit_of_a_helper_in_another_file_is_seen(package: Package) -> None:
    assert package.run()[:2] == ("2.0 2.0", "0 0")
    assert package.run()[:2] == ("2.0 2.0", "2 0")
    package.set_amount(5)
    assert package.run()[:2] == ("6.0 6.0", "0 0")


def test_damaged_files_are_compiled_again_and_replaced(package: Package) -> None:
    package.run()
    files = package.code_files()
    data = files[0].read_bytes()
    damaged = [b"", data[: len(data) // 2], data[:-1] + bytes([data[-1] ^ 1]), pickle.dumps("0.61")]
    assert len(files) <= len(damaged)
    for file, content in zip(files, damaged, strict=False):
        file.write_bytes(content)
    answer, counts, message = package.run()
    assert (answer, counts) == ("2.0 2.0", "0 1")
    assert "damaged" in message
    assert package.run()[:2] == ("2.0 2.0", "2 0")


@pytest.mark.parametrize("cut", [0, 5, 40, -1])
def test_any_other_content_is_refused(tmp_path: Path, cut: int) -> None:
    cache = CodeCache([tmp_path])
    cache.write("kernel ()", b"code" * 20)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:cut])
    _cache._has_warned = False
    with pytest.warns(UserWarning, match="damaged"):
        assert cache.read("kernel ()") is None


def test_no_writable_folder_compiles_in_memory(package: Package) -> None:
    (package.kernels / "__pycache__").write_text("a file where the folder should be")
    (package.root / "home").write_text("another")
    answer, counts, message = package.run(NUMBA_CACHE_DIR=str(package.root / "home" / "cache"))
    assert (answer, counts) == ("2.0 2.0", "0 1")
    assert "NUMBA_CACHE_DIR" in message
    assert not package.code_files()


def test_read_only_installation_uses_the_folder_of_the_user(package: Package) -> None:
    (package.kernels / "__pycache__").write_text("a file where the folder should be")
    assert package.run()[:2] == ("2.0 2.0", "0 0")
    assert all("home" in str(file) for file in package.code_files())
    assert package.run()[:2] == ("2.0 2.0", "2 0")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX resource limits")
def test_full_disk_compiles_in_memory_and_leaves_no_files(package: Package) -> None:
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    answer, counts, message = package.run(before=limit)
    assert (answer, counts) == ("2.0 2.0", "0 1")
    assert "compiles in memory" in message
    assert not [file for file in package.root.rglob("*.code*") if file.is_file()]


def test_code_that_cannot_be_rebuilt_is_compiled_again(package: Package) -> None:
    (package.kernels / "_cache.py").open("a").write(
        "CodeCache.read = lambda self, key: b'not a pickle'\n"
    )
    assert package.run()[:2] == ("2.0 2.0", "0 1")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX users")
def test_files_of_other_users_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cache, "_has_warned", False)
    cache = CodeCache([tmp_path])
    cache.write("kernel ()", b"code")
    status = os.stat(tmp_path)
    stranger = os.stat_result((*status[:4], 4321, *status[5:]))
    monkeypatch.setattr(_cache.os, "fstat", lambda _: stranger)
    with pytest.warns(UserWarning, match="another user"):
        assert cache.read("kernel ()") is None


def test_old_folders_are_removed(tmp_path: Path) -> None:
    for age in range(8):
        folder = tmp_path / f"falsezero-{age}"
        CodeCache([folder]).write("kernel ()", b"code")
        os.utime(folder, (age, age))
    assert len(list(tmp_path.iterdir())) <= 6
    assert (tmp_path / "falsezero-7").is_dir()


def test_folder_name_depends_on_every_source_and_on_versions(tmp_path: Path) -> None:
    def name(version: str = "1") -> str:
        return folders(tmp_path, version)[0].name

    (tmp_path / "a.py").write_text("1")
    (tmp_path / "b.py").write_text("1")
    names = {name(), name("2")}
    (tmp_path / "b.py").write_text("2")
    names.add(name())
    (tmp_path / "b.py").rename(tmp_path / "c.py")
    names.add(name())
    assert len(names) == 4


def test_kernels_travel_between_processes() -> None:
    assert pickle.loads(pickle.dumps(onto_simplex)) is onto_simplex
