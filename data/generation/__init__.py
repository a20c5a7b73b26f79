"""Answers generated from gold, retrieved or no documents (`ragtriage generate`).

May import every room of `data` but `gates`.
"""
