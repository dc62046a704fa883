"""Simulated crowds with known truth, and a Label Studio and a service to run, for the demo, tests and benchmarks."""

from .crowds import simulate_demo_crowd
from .simulated_crowd import SimulatedCrowd, oracle

__all__ = ["SimulatedCrowd", "oracle", "simulate_demo_crowd"]
