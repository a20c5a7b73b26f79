"""The Compare page: versions against a baseline, the effect of single settings, outcome against cost."""
