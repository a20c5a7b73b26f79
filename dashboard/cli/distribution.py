"""What is installed: ragtriage, or ragtriage-ci, the same package without the libraries of the dashboard."""

from __future__ import annotations

from importlib import metadata

WHOLE, LIGHT = "ragtriage", "ragtriage-ci"
LEFT_OUT = {  # module that ragtriage-ci leaves out -> its library
    "bm25s": "bm25s",
    "jinja2": "Jinja2",
    "pandas": "pandas",
    "plotly": "Plotly",
    "pptx": "python-pptx",
    "semchunk": "semchunk",
    "starlette": "Starlette",
    "streamlit": "Streamlit",
    "tokenizers": "tokenizers",
}


def distribution() -> str:
    """Return the name of the distribution that this package was installed from; the whole one if in doubt."""
    for name in (WHOLE, LIGHT):
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        return name
    return WHOLE


def needs_more(error: ModuleNotFoundError, command: str) -> str:
    """Return the sentence for a library that ragtriage-ci leaves out and a command needs; else ""."""
    library = LEFT_OUT.get((error.name or "").partition(".")[0])
    if library is None or distribution() != LIGHT:
        return ""
    return (
        f"`ragtriage {command}` needs {library}, which {LIGHT} leaves out; accepted: pip uninstall {LIGHT}, "
        f"then pip install {WHOLE}"
    )
