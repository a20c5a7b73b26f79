"""Many texts at once, by loops that numba compiles: same results as data.text, many times faster."""
