"""Answers generated from gold, retrieved or no documents (`ragtriage generate`).

May import every other package of `data` except `api`, `demo` and `gates`.
"""
