"""Measurements of accuracy and speed; each module is a command that prints tables."""
