"""The documentation site: Sphinx over the Markdown of this folder, which also reads well unbuilt."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

from ragtriage import __version__  # noqa: E402 -- Sphinx runs this file from any folder

project = "ragtriage"
author = "the authors of ragtriage"
version = release = __version__
language = "en"

extensions = ["myst_parser", "sphinx_copybutton", "site_extension"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_static"]
nitpicky = True
smartquotes = False  # it would turn the two dashes of an option into one long dash
myst_heading_anchors = 4
myst_links_external_new_tab = True

html_theme = "furo"
html_title = "ragtriage"
html_static_path = ["_static", "../dashboard/static"]
html_favicon = "../dashboard/static/mark.svg"
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_permalinks_icon = "#"
html_theme_options = {
    "light_logo": "logo-light.svg",
    "dark_logo": "logo-dark.svg",
    "sidebar_hide_name": True,
    "top_of_page_buttons": [],
}
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
