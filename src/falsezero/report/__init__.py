"""Reports on a table, as one HTML page for a domain scientist."""

from falsezero.report.page import write_report

__all__ = ["write_report"]
