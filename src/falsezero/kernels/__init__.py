"""Compiled loops over cells and tokens: arrays in, arrays out."""
