// Draws the figures that the page holds as JSON, in the colours of the page, and again when those change.
"use strict";
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 40rem)");

  function theme() {
    const styles = getComputedStyle(document.documentElement);
    const colour = (name) => styles.getPropertyValue(name).trim();
    const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), zerolinecolor: colour("--line"), automargin: true };
    return {
      layout: {
        paper_bgcolor: colour("--page"),
        plot_bgcolor: colour("--page"),
        font: { color: colour("--text"), size: 13 },
        hoverlabel: { bgcolor: colour("--soft"), bordercolor: colour("--line"), font: { color: colour("--text") }, align: "left" },
        xaxis: axis,
        yaxis: axis,
      },
    };
  }

  function draw(place) {
    const figure = JSON.parse(document.getElementById(place.dataset.figure).textContent);
    const layout = Object.assign({
      template: theme(),
      margin: { l: 60, r: 15, t: 15, b: 50 },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      hovermode: "closest",
      dragmode: narrow.matches ? false : "zoom",
    }, figure.layout);
    Plotly.react(place, figure.data, layout, { responsive: true, displaylogo: false, displayModeBar: false });
  }

  const places = document.querySelectorAll("[data-figure]");
  if (typeof Plotly === "undefined") {
    places.forEach((place) => { place.textContent = "plotly.min.js is missing beside the report. The numbers are in the table below."; });
    return;
  }
  const drawAll = () => places.forEach(draw);
  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
  drawAll();
})();