"""Questions asked of a fit: numbers and tidy tables."""
