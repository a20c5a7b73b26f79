"""Datasets: test questions made from a corpus or a file, reviewed by people, frozen as versions."""
