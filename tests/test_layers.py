"""Imports point one way, down the list of layers."""

import ast
from pathlib import Path

import falsezero

ROOT = Path(falsezero.__file__).parent
LAYERS = [
    "cli",
    "app",
    "experiments",
    "report",
    "explorer",
    "plot",
    "audit",
    "analysis",
    "io",
    "models",
    "base",
    "inference",
    "backends",
    "datasets",
    "data",
    "kernels",
]
OWNERS = {
    "numba": {"kernels/_compiler.py"},
    "llvmlite": {"kernels/_compiler.py"},
    "matplotlib": "plot/",
    "dask": {"backends/dask.py"},
    "distributed": {"backends/dask.py"},
    "cloudpickle": {"backends/dask.py"},
    "click": "cli/",
    "starlette": {"app/server.py"},
    "uvicorn": {"app/run.py"},
}


def imports(path, *, top_level_only=False):
    """Modules that a file imports, with the depth of the statement."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def layer_of(module):
    parts = module.split(".")
    return parts[1] if parts[0] == "falsezero" and len(parts) > 1 else None


def lazy_plot_methods(path):
    """Imports inside a method named `plot` or `to_html`, which the design allows."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name in ("plot", "to_html"):
            for inner in ast.walk(node):
                if isinstance(inner, ast.ImportFrom) and inner.module:
                    yield inner.module


def source_files():
    return [p for p in ROOT.rglob("*.py") if p.parent != ROOT or p.stem in LAYERS]


def test_every_folder_has_a_layer():
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert folders <= set(LAYERS)


def test_no_import_points_up():
    upward = []
    for path in source_files():
        own = LAYERS.index(path.relative_to(ROOT).parts[0].removesuffix(".py"))
        allowed = set(lazy_plot_methods(path))
        for module in imports(path):
            layer = layer_of(module)
            if layer in LAYERS and LAYERS.index(layer) < own and module not in allowed:
                upward.append(f"{path.relative_to(ROOT)} imports {module}")
    assert not upward


def test_each_outside_library_has_one_owner():
    strays = []
    for path in source_files():
        here = path.relative_to(ROOT).as_posix()
        for module in imports(path):
            owner = OWNERS.get(module.split(".")[0])
            if owner is None:
                continue
            if here not in owner if isinstance(owner, set) else not here.startswith(owner):
                strays.append(f"{here} imports {module}")
    assert not strays


def test_optional_libraries_are_imported_where_used():
    optional = {
        "pandas",
        "polars",
        "pyarrow",
        "anndata",
        "networkx",
        "xarray",
        "arviz_stats",
        "dask",
        "distributed",
        "cloudpickle",
        "uvicorn",
    }
    strays = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in source_files()
        for module in imports(path, top_level_only=True)
        if module.split(".")[0] in optional
    ]
    assert not strays


def test_no_file_is_long():
    """A file is read in one sitting: 400 lines at the most, tests and scripts included."""
    root = Path(__file__).parents[1]
    rooms = [root / name for name in ("src", "tests", "benchmarks", "tools")]
    files = [path for room in rooms for kind in ("py", "js") for path in room.rglob(f"*.{kind}")]
    lines = {str(path.relative_to(root)): len(path.read_text().splitlines()) for path in files}
    assert {name: n for name, n in lines.items() if n > 400} == {}


def test_tests_mirror_the_source():
    """Every package, and every family of models, has a folder of tests with its name."""
    packages = {init.parent.relative_to(ROOT) for init in ROOT.rglob("__init__.py")}
    mirrored = {p for p in packages if len(p.parts) == 1 or p.parts[:1] == ("models",)}
    tests = Path(__file__).parent
    assert {str(p) for p in mirrored if not list((tests / p).glob("test_*.py"))} == set()
    assert {"kernels", "models/convex"} <= {p.as_posix() for p in mirrored}
