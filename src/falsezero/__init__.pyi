"""The public names of falsezero. This is the one list of them: see `falsezero._lazy`."""

from falsezero import analysis as analysis
from falsezero import data as data
from falsezero import datasets as datasets
from falsezero import inference as inference
from falsezero import models as models
from falsezero import plot as plot
from falsezero.analysis.annotate import to_anndata as to_anndata
from falsezero.analysis.compare import Comparison as Comparison
from falsezero.analysis.compare import compare as compare
from falsezero.analysis.diagnostics import diagnose as diagnose
from falsezero.analysis.diagnostics import to_datatree as to_datatree
from falsezero.analysis.evidence import Evidence as Evidence
from falsezero.analysis.evidence import log_evidence as log_evidence
from falsezero.analysis.explain import explain as explain
from falsezero.analysis.gaps import expand as expand
from falsezero.analysis.gaps import false_absences as false_absences
from falsezero.analysis.gaps import false_presences as false_presences
from falsezero.analysis.impute import impute as impute
from falsezero.analysis.noise import Denoised as Denoised
from falsezero.analysis.noise import Phantoms as Phantoms
from falsezero.analysis.noise import denoise as denoise
from falsezero.analysis.noise import find_phantoms as find_phantoms
from falsezero.analysis.ordering import Ordering as Ordering
from falsezero.analysis.ordering import order_by_component as order_by_component
from falsezero.analysis.ordering import ternary_coordinates as ternary_coordinates
from falsezero.analysis.phantom_test import PhantomTest as PhantomTest
from falsezero.analysis.phantom_test import phantom_test as phantom_test
from falsezero.analysis.selection import Selection as Selection
from falsezero.analysis.selection import select as select
from falsezero.analysis.shard_output import transform_to_parquet as transform_to_parquet
from falsezero.analysis.shard_output import zeros_to_parquet as zeros_to_parquet
from falsezero.analysis.surprising import surprising_ones as surprising_ones
from falsezero.analysis.surprising import surprising_zeros as surprising_zeros
from falsezero.audit.audit import Audit as Audit
from falsezero.audit.calibration import calibrate as calibrate
from falsezero.audit.run import audit as audit
from falsezero.backends.dask import on_dask as on_dask
from falsezero.data.corrupt import corrupt as corrupt
from falsezero.data.errors import DataError as DataError
from falsezero.data.errors import FileReadError as FileReadError
from falsezero.data.errors import MissingFileError as MissingFileError
from falsezero.data.errors import MissingPackageError as MissingPackageError
from falsezero.data.looks import Looks as Looks
from falsezero.data.looks import as_looks as as_looks
from falsezero.data.read import as_table as as_table
from falsezero.data.read import read as read
from falsezero.data.shards import Shards as Shards
from falsezero.data.table import Table as Table
from falsezero.data.tidy import Tidy as Tidy
from falsezero.explorer.page import explore as explore
from falsezero.io.models import load as load
from falsezero.io.models import save as save
from falsezero.models import *
from falsezero.report.page import write_report as write_report

__version__: str
