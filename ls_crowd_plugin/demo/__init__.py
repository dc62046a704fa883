"""Simulated crowds with known truth, for the demo, the tests and the benchmarks."""

from .crowds import SimulatedCrowd, oracle, simulate_demo_crowd

__all__ = ["SimulatedCrowd", "oracle", "simulate_demo_crowd"]
