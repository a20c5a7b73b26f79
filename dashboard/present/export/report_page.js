"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paper = document.body.classList.contains("paper");
  const config = {
    displaylogo: false, showSendToCloud: false, responsive: true, staticPlot: paper,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const family = getComputedStyle(document.body).fontFamily;
  const themed = (night) => {
    const ink = night ? "#e6edf3" : "#1b2733", line = night ? "#34414d" : "#d7dee6";
    const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, tickcolor: line, automargin: true,
      title: { standoff: 12 } };
    return { layout: {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", xaxis: axis, yaxis: axis,
      font: { family, size: 13, color: ink },
      hoverlabel: { bgcolor: night ? "#1b252e" : "#ffffff", bordercolor: line, font: { color: ink } },
      colorway: night
        ? ["#56B4E9", "#E69F00", "#2fc29b", "#e6a3c8", "#8fd0f5", "#f0803c", "#a9b3bc", "#b79ad6", "#e0c04c", "#8aa4d6"]
        : ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8c8c8c", "#7a5195", "#b8860b", "#2f4b7c"],
    } };
  };
  const places = [...document.querySelectorAll(".chart")];
  const drawn = new Set();
  const draw = (place, night) => {
    const figure = JSON.parse(document.getElementById(place.dataset.figure).textContent);
    const margin = { ...figure.layout.margin, r: Math.max(figure.layout.margin?.r ?? 0, 48) }; // numbers beside bars
    const layout = { ...figure.layout, margin, template: themed(night), autosize: true };
    drawn.add(place);
    return Plotly.react(place, figure.data, layout, config);
  };
  if (paper || !("IntersectionObserver" in window)) {
    try {
      places.forEach((place) => draw(place, false));
    } finally {
      document.body.classList.remove("drawing");
    }
  } else {
    const watch = new IntersectionObserver((seen) => {
      for (const one of seen) {
        if (one.isIntersecting) { watch.unobserve(one.target); draw(one.target, dark.matches); }
      }
    }, { rootMargin: "600px" });
    places.forEach((place) => watch.observe(place));
    dark.addEventListener("change", () => drawn.forEach((place) => draw(place, dark.matches)));
    addEventListener("beforeprint", () => places.forEach((place) => {
      place.style.width = "680px";
      draw(place, false);
    }));
    addEventListener("afterprint", () => places.forEach((place) => {
      place.style.width = "";
      draw(place, dark.matches);
    }));
  }
})();
