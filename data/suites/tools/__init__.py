"""The suite Tools: what the checks of tool calls counted, added up over a run, with cohorts of its cases.

calls reads the details of the checks, cohorts finds cases by them, measures and tables add them up, repeats
has pass^k, detail puts it together.
"""
