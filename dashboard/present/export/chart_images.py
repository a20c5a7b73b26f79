"""Charts as PNG or SVG by kaleido, in its own process, since a bad argument makes kaleido wait for ever."""

import importlib.util
import sys
import tempfile
from typing import Any

import orjson

from ragtriage.dashboard.charts.chart import Chart, Heatmap
from ragtriage.dashboard.charts.plotly_figure import figure_json
from ragtriage.dashboard.present.export.chromium import required_chromium, run_bounded
from ragtriage.data.errors import DataError
from ragtriage.data.interpreter import python_module

IMAGE_FORMATS = ("png", "svg")
TIME_LIMIT_SECONDS = 60.0
WIDTH, HEIGHT, SCALE = 960, 480, 2
FONTS = "Arial, 'Liberation Sans', 'Noto Sans', 'Noto Sans CJK SC', 'DejaVu Sans', sans-serif"


def chart_image(
    chart: Chart | Heatmap, image_format: str, width: int = WIDTH, seconds: float = TIME_LIMIT_SECONDS
) -> bytes:
    """Draw a chart on white, as wide as asked for in CSS pixels, in its own height; PNG has twice the pixels.

    Raises:
        DataError: the format is unknown, kaleido or a Chromium is missing, or drawing failed or took long.
    """
    if image_format not in IMAGE_FORMATS:
        raise DataError(f"image format {image_format!r}; accepted: {', '.join(IMAGE_FORMATS)}")
    if importlib.util.find_spec("kaleido") is None:
        raise DataError('images of charts need kaleido: `pip install "ragtriage[images]"`')
    request = orjson.dumps({"figure": _on_white(chart), "format": image_format, "width": width})
    command, environment = python_module("ragtriage.dashboard.present.export.chart_images")
    with tempfile.TemporaryDirectory(prefix="ragtriage-", ignore_cleanup_errors=True) as folder:
        variables = {"BROWSER_PATH": required_chromium(), "TMPDIR": folder}
        process = run_bounded(command, seconds, request, {**environment, **variables})
    if process.returncode or not process.stdout:
        lines = [line for line in process.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        raise DataError(f"the chart could not be drawn: {lines[-1] if lines else 'kaleido gave no image'}")
    return process.stdout


def _on_white(chart: Chart | Heatmap) -> dict[str, Any]:
    """Return the figure with a template for print: white background, fonts that cover most scripts."""
    figure = figure_json(chart)
    figure["layout"]["template"] = {
        "layout": {
            "font": {"family": FONTS, "color": "#1b2733", "size": 14},
            "paper_bgcolor": "#ffffff",
            "plot_bgcolor": "#ffffff",
            "xaxis": {"gridcolor": "#d7dee6", "zerolinecolor": "#d7dee6"},
            "yaxis": {"gridcolor": "#d7dee6", "zerolinecolor": "#d7dee6"},
        }
    }
    return figure


def _main() -> None:
    """Read a figure from standard input, write its image to standard output."""
    import asyncio

    from kaleido import Kaleido

    request = orjson.loads(sys.stdin.buffer.read())
    height = request["figure"]["layout"].get("height") or HEIGHT
    options = {"format": request["format"], "width": request["width"], "height": height}
    options |= {"scale": SCALE} if request["format"] == "png" else {}

    async def draw() -> bytes:
        async with Kaleido(n=1, mathjax=False) as drawer:  # MathJax would be fetched from outside
            image: bytes = await drawer.calc_fig(request["figure"], opts=options)
            return image

    sys.stdout.buffer.write(asyncio.run(draw()))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    _main()
