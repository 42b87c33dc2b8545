"""A table to one HTML report for a domain scientist."""
