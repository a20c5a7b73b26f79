"""Every page, under the headings of the sidebar: its name and its icon among Streamlit's Material symbols.

The script of a page stands in `dashboard/pages/NAME/NAME.py`; its address is `/NAME`, its title `Name`.
"""

FIRST = "triage"  # opens without an address
PAGES = {
    "Decide": [(FIRST, "health_metrics"), ("compare", "compare_arrows"), ("trend", "timeline")],
    "Find the cause": [("cases", "list_alt"), ("diagnosis", "account_tree"), ("checks", "checklist")],
    "Look at one stage": [
        ("retrieval", "search"),
        ("chunking", "grid_on"),
        ("alignment", "align_horizontal_left"),
        ("experiments", "science"),
    ],
    "Trust": [("datasets", "quiz"), ("judge", "gavel"), ("benchmarks", "leaderboard")],
    "Hand over": [("present", "slideshow"), ("runs", "database")],
}
