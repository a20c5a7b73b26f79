"""A/B: which arm of a live test is better, can it stop, and what did it cost?"""
