"""Simpler rivals, one file each: what the papers compare with, and what people use today."""
