"""The displays of falsezero. This is the one list of them: see `falsezero._lazy`."""

from falsezero.plot.audited_table import AuditedTableDisplay as AuditedTableDisplay
from falsezero.plot.component_bars import ComponentBarsDisplay as ComponentBarsDisplay
from falsezero.plot.component_heatmap import ComponentHeatmapDisplay as ComponentHeatmapDisplay
from falsezero.plot.component_images import ComponentImagesDisplay as ComponentImagesDisplay
from falsezero.plot.convergence import ConvergenceDisplay as ConvergenceDisplay
from falsezero.plot.curves import BoxesDisplay as BoxesDisplay
from falsezero.plot.curves import CurvesDisplay as CurvesDisplay
from falsezero.plot.curves import GroupedBarsDisplay as GroupedBarsDisplay
from falsezero.plot.detection_curves import DetectionCurvesDisplay as DetectionCurvesDisplay
from falsezero.plot.explanation import ExplanationDisplay as ExplanationDisplay
from falsezero.plot.features import FeatureMatricesDisplay as FeatureMatricesDisplay
from falsezero.plot.matrices import MatricesDisplay as MatricesDisplay
from falsezero.plot.model_choice import ModelChoiceDisplay as ModelChoiceDisplay
from falsezero.plot.ordered_table import OrderedTableDisplay as OrderedTableDisplay
from falsezero.plot.phantom_weight import PhantomWeightDisplay as PhantomWeightDisplay
from falsezero.plot.reliability import ReliabilityDisplay as ReliabilityDisplay
from falsezero.plot.roc import RocDisplay as RocDisplay
from falsezero.plot.ternary import TernaryDisplay as TernaryDisplay
from falsezero.plot.trial import TrialDisplay as TrialDisplay
from falsezero.plot.weights_by_group import WeightsByGroupDisplay as WeightsByGroupDisplay
