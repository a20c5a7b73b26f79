"""What the checks of a sample say: each evaluated by the suite that its kind belongs to.

A check has a name, a kind, an expected and an actual value, and perhaps a verdict. Its suite decides it where
no verdict is recorded, from both values or from the sample itself. Suites over a run are in
ragtriage.data.suites.
"""
