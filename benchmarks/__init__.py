"""Measurements of the aggregation methods, each one command that prints a table."""
