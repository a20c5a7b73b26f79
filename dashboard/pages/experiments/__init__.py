"""The Experiments page: which experiment is shown, its arms, and a view for each kind.

Imported by the page alone. `registry` names the view of a kind; one without a view shows its arms.
"""
