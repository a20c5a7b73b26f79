"""Every page, under the headings of the sidebar: its name and its icon among Streamlit's Material symbols.

The script of a page stands in `dashboard/pages/NAME/NAME.py`; its address is `/NAME`, its title `Name`,
unless `OTHERWISE` has others for it.
"""

FIRST = "triage"  # opens without an address
OTHERWISE = {"ab_tests": ("ab", "A/B")}  # name -> address and title
PAGES = {
    "Decide": [(FIRST, "health_metrics"), ("compare", "compare_arrows"), ("trend", "timeline")],
    "Live": [("production", "monitor_heart"), ("ab_tests", "call_split")],
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


def address_of(name: str) -> str:
    """Return the address of a page, without the slash."""
    return OTHERWISE[name][0] if name in OTHERWISE else name


def title_of(name: str) -> str:
    """Return the title of a page."""
    return OTHERWISE[name][1] if name in OTHERWISE else name.title()
