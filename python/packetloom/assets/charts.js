"use strict";
// Draws panels with plotly. What Python sends is numbers, looks and axes; what stands here is only how they are shown.

const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x"];
const SHAPES = [ // the same, for the names above a figure
  "M17 2a4 4 0 1 0 .01 0z", "M13 2h8v8h-8z", "M17 1l5 5-5 5-5-5z", "M17 1.5l5 8.5h-10z", "M17 10.5l5-8.5h-10z",
  "M15.5 1h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.500v-3h3.500z", "M13 3.500l1.5-1.5 2.5 2.5 2.5-2.5 1.5 1.5-2.5 2.5 2.5 2.5-1.5 1.5-2.5-2.5-2.5 2.5-1.5-1.5 2.5-2.500z",
];
const DASHES = ["solid", "dash", "dot", "dashdot", "longdashdot"];
const STROKES = ["", "7 4", "2 3", "7 3 2 3", "11 3 2 3"];
const PATTERNS = ["", "/", ".", "x", "\\"];
const HATCHES = ["", "M8 12L20 0M14 12L26 0", "M9 3h2m2 0h2m2 0h2m2 0h2M9 9h2m2 0h2m2 0h2m2 0h2", "M8 12L20 0M14 12L26 0M8 0L20 12M14 0L26 12", "M8 0L20 12M14 0L26 12"];
const PANEL_HEIGHT = 330;
const WIDEST_PANEL = 620;
const DOWNLOAD_WIDTH = 1000;

let data = JSON.parse(document.getElementById("data").textContent);
const shown = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const number = (value) => (value === null || value === undefined ? "–" : typeof value === "number" ? shown.format(value) : value);
const pick = (list, place) => list[place % list.length];

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** What stands before a name: its line and marker, or its bar. */
function swatch(look, kind, points) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("viewBox", "0 0 34 12");
  svg.setAttribute("aria-hidden", "true");
  const line = `<path d="M0 6h34" stroke="${look.colour}" stroke-width="2.5" stroke-dasharray="${pick(STROKES, look.dash)}"/>`;
  const marker = `<path d="${pick(SHAPES, look.marker)}" fill="${look.colour}"/>`;
  const bar = `<rect x="8" width="18" height="12" fill="${look.colour}"/><path d="${pick(HATCHES, look.dash)}" stroke="${colour("--ground")}" stroke-width="2"/>`;
  svg.innerHTML = kind === "bars" ? bar : line + (points ? marker : "");
  return svg;
}

// From panels to plotly.

/** The least and the greatest. */
function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** Labels 1, 2, 5, 10 on a logarithmic axis; only powers of ten where it is long, more where it is short. */
function logTicks(values, isX) {
  const positive = values.filter((value) => value > 0);
  if (!positive.length) return {};
  const [low, high] = extent(positive), decades = Math.log10(high / low);
  const steps = decades > (isX ? 2 : 3.5) ? [1] : decades === 0 || decades > 0.5 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const tickvals = [];
  for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.log10(high) + 1; power++) {
    for (const step of steps) tickvals.push(Number(`${step}e${power}`));
  }
  return { tickvals, ticktext: tickvals.map(tickText) };
}

function tickText(value) {
  for (const [factor, suffix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= factor) return value / factor + suffix;
  }
  return String(value);
}

/** From zero, unless all there is to see is far above it. */
function fromZero(values) {
  const [low, high] = extent(values);
  return low > 0.6 * high ? "normal" : "tozero";
}

function errorBars(mark) {
  if (!mark.low) return {};
  const above = mark.y.map((y, at) => (mark.high[at] === null ? 0 : mark.high[at] - y));
  const below = mark.y.map((y, at) => (mark.low[at] === null ? 0 : y - mark.low[at]));
  return { error_y: { type: "data", array: above, arrayminus: below, symmetric: false, thickness: 1.5, width: 4 } };
}

/** A name as it is: plotly takes <...> for marks, and &...; for letters. */
const literal = (name) => String(name).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const twoLines = (name) => literal(name).replace(" to ", "<br>to ");

/** Traces of a mark, each with what it needs to be named. */
function traces(mark, panel) {
  const values = `${panel.x.title ? `${panel.x.title}: %{x:,.6~r}<br>` : ""}${panel.y.title}: %{y:,.6~r}<extra>%{fullData.name}</extra>`;
  if (mark.kind === "stack") {
    return mark.layers.map((layer, place) => ({
      type: "bar", x: mark.x, y: layer, name: `layer ${place + 1}`,
      marker: { color: mark.looks[place].colour, pattern: { shape: pick(PATTERNS, mark.looks[place].dash) } },
    }));
  }
  if (mark.kind === "heat") {
    const hovertemplate = `${panel.x.title} %{x}, ${panel.y.title} %{y}: %{z} ${mark.unit}<extra></extra>`;
    return [{ type: "heatmap", z: mark.rows, colorscale: "Viridis", showscale: false, name: mark.unit, hovertemplate }];
  }
  const look = mark.look, named = { name: literal(mark.label), label: mark.label, places: mark.x, ...errorBars(mark) };
  if (mark.kind === "bars") {
    const alone = mark.x.length === 1 && mark.x[0] === mark.label;
    return [{
      type: "bar", x: mark.x.map(twoLines), y: mark.y, ...named,
      hovertemplate: `%{x}<br>${panel.y.title}: %{y:,.6~r}<extra>%{fullData.name}</extra>`,
      marker: { color: look.colour, pattern: { shape: pick(PATTERNS, look.dash) } }, ...(alone ? { offsetgroup: "one" } : {}),
    }];
  }
  const single = mark.x.length === 1;
  return [{
    type: "scatter", x: mark.x, y: mark.y, ...named, hovertemplate: values,
    mode: mark.points || single ? "lines+markers" : "lines",
    line: { color: look.colour, width: 2, dash: pick(DASHES, look.dash), shape: mark.kind === "step" ? "hv" : "linear" },
    marker: { color: look.colour, size: 7, symbol: pick(SYMBOLS, look.marker) },
  }];
}

function columnsFor(chart, panels, width) {
  const bars = panels.some((panel) => panel.marks.some((mark) => mark.kind === "bars"));
  return Math.max(1, Math.min(chart.columns || 3, panels.length, Math.floor(width / (bars ? 480 : 340))));
}

/** Data and layout of all panels, side by side as far as there is room. */
function plotlyFigure(chart, panels, width) {
  const columns = columnsFor(chart, panels, width), rows = Math.ceil(panels.length / columns);
  width = Math.min(width, columns * WIDEST_PANEL);
  const gapX = Math.min(70 / width, 0.9 / columns), height = PANEL_HEIGHT * rows + 20, gapY = rows > 1 ? 105 / height : 0;
  const text = colour("--text"), line = colour("--line"), ground = colour("--ground");
  const layout = {
    width, height, margin: { l: 62, r: 14, t: 28, b: 52 }, showlegend: false, hovermode: "closest", annotations: [],
    paper_bgcolor: ground, plot_bgcolor: ground, font: { family: 'system-ui, "DejaVu Sans", sans-serif', size: 12, color: text },
    barmode: panels.some((panel) => panel.marks.some((mark) => mark.kind === "stack")) ? "stack" : "group",
    hoverlabel: { bgcolor: ground, bordercolor: text, font: { color: text } },
  };
  const all = [];
  panels.forEach((panel, place) => {
    const row = Math.floor(place / columns), column = place % columns, suffix = place ? place + 1 : "";
    const wide = (1 - gapX * (columns - 1)) / columns, high = (1 - gapY * (rows - 1)) / rows;
    const left = column * (wide + gapX), bottom = (rows - 1 - row) * (high + gapY);
    const made = panel.marks.flatMap((mark) => traces(mark, panel));
    const alone = panel.marks.length && panel.marks.every((mark) => mark.kind === "bars" && mark.x[0] === mark.label);
    for (const [key, isX, axis, span, anchor] of [
      ["xaxis", true, panel.x, [left, left + wide], "y"], ["yaxis", false, panel.y, [bottom, bottom + high], "x"],
    ]) {
      const values = made.flatMap((trace) => (isX ? trace.x : trace.y) || []);
      layout[key + suffix] = {
        domain: span, anchor: anchor + suffix, title: { text: axis.title, standoff: 8 }, gridcolor: line, linecolor: line,
        zerolinecolor: line, showline: true, ...(axis.log ? { type: "log", ...logTicks(values, isX) } : { rangemode: isX ? "normal" : fromZero(values) }),
        ...(isX || !place || !chart.choices ? {} : { matches: "y" }),
        ...(isX && panel.marks.some((mark) => mark.kind === "bars") ? { type: "category", tickangle: "auto", showticklabels: !alone } : {}),
      };
    }
    layout.annotations.push({
      text: panel.title, x: left + wide / 2, y: bottom + high, xref: "paper", yref: "paper", yanchor: "bottom", showarrow: false,
    });
    for (const trace of made) all.push({ ...trace, xaxis: "x" + suffix, yaxis: "y" + suffix, panel: panel.title });
  });
  return { data: all, layout };
}

// From a chart with its choices to panels. The page's choices hold for every chart that has them.

const state = { hidden: new Set(), loads: new Set(), chosen: {} };
const TITLES = { statistic: "Statistic", bin: "Flow sizes" };

const choicesOf = (chart) => Object.keys(chart.choices || {}).filter((name) => name !== "load");
const chosen = (chart, name) => (state.chosen[chart.name] || {})[name] ?? chart.choices[name][0];
const sizesText = (bin) => (bin === "all" ? "all flows" : `flows of ${bin}`);

/** A series may stand for several of the page's (schemes without one of their axes): hidden when they all are. */
function isHidden(label) {
  const own = data.schemes.filter((one) => one.label === label || one.without_fan_in === label);
  return own.length > 0 && own.every((one) => state.hidden.has(one.label));
}

function panelsOf(chart) {
  if (chart.panels) return chart.panels;
  const loads = chart.choices.load ? chart.choices.load.filter((load) => !state.loads.has(load)) : [undefined];
  const fixed = choicesOf(chart).map((name) => [name, chosen(chart, name)]);
  const statistic = chart.choices.statistic ? chosen(chart, "statistic") + " " : "";
  return loads.map((load) => {
    const marks = chart.series.filter((one) => !isHidden(one.of) && one.at.load === load && fixed.every(([name, value]) => one.at[name] === value));
    const title = load === undefined ? (chart.choices.bin ? sizesText(chosen(chart, "bin")) : "") : load === null ? "" : `load ${load}`;
    return { title, x: chart.x, y: { ...chart.y, title: statistic + chart.y.title }, marks };
  }).filter((panel) => panel.marks.length);
}

/** All numbers that a chart shows, a row each. */
function rowsOf(chart) {
  const rows = [];
  for (const panel of panelsOf(chart)) {
    for (const mark of panel.marks) {
      if (mark.kind === "stack") mark.layers.forEach((layer, nth) => layer.forEach((y, at) => rows.push([panel, `layer ${nth + 1}`, mark.x[at], y])));
      else if (mark.kind === "heat") mark.rows.forEach((row, at) => row.forEach((y, x) => rows.push([panel, `${panel.y.title} ${at}`, x, y])));
      else mark.x.forEach((x, at) => rows.push([panel, mark.label, x, mark.y[at], mark.low?.[at], mark.high?.[at]]));
    }
  }
  return rows;
}

function download(name, content) {
  const link = element("a", { href: content, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

const quoted = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value ?? "");

function csv(chart) {
  const first = panelsOf(chart)[0], x = first?.x.title || "name";
  const lines = rowsOf(chart).map(([panel, label, ...values]) => [panel.title, panel.y.title, label, ...values]);
  const all = [["panel", "what", "series", x, "value", "low", "high"], ...lines];
  return all.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
}

async function image(chart, format) {
  const panels = panelsOf(chart), figure = plotlyFigure(chart, panels, DOWNLOAD_WIDTH);
  const named = new Set();
  for (const trace of figure.data) {
    trace.showlegend = trace.type !== "heatmap" && !named.has(trace.name);
    named.add(trace.name);
  }
  Object.assign(figure.layout, { showlegend: true, legend: { x: 1.02, y: 1 }, width: DOWNLOAD_WIDTH + 200, title: { text: chart.title } });
  figure.layout.margin.t = 80;
  const { width, height } = figure.layout;
  return Plotly.toImage(figure, { format, width, height, scale: format === "png" ? 2 : 1 });
}

// A chart on the page.

class Chart {
  constructor(chart, section) {
    this.chart = chart;
    this.section = section;
    this.at = null;
    const id = `chart-${chart.name}`;
    this.names = element("ul", { class: "names", "aria-label": "Series" });
    this.readout = element("p", { class: "readout", "aria-live": "polite", id: `${id}-readout` });
    this.plot = element("div", {
      class: "plot", tabindex: 0, role: "group", "aria-label": `${chart.title}. Arrow keys step through its values; a table of them follows.`,
      "aria-describedby": `${id}-readout`, onkeydown: (event) => this.step(event), onblur: () => this.leave(),
    });
    this.table = element("details", { id: `${id}-table`, ontoggle: () => this.fill() }, element("summary", {}, "Table"), element("div", { class: "wide" }));
    this.nothing = element("p", { class: "note", hidden: true }, "Nothing is chosen: tick a scheme and a load.");
    section.append(this.tools(), this.names, this.nothing, this.plot, this.readout, this.table);
    this.visible = false;
    this.stale = true;
  }

  tools() {
    const row = element("div", { class: "tools" });
    for (const name of choicesOf(this.chart)) {
      if (this.chart.choices[name].length < 2) continue;
      const select = element("select", {
        "data-choice": name,
        onchange: () => {
          state.chosen[this.chart.name] = { ...state.chosen[this.chart.name], [name]: select.value };
          this.redraw();
        },
      });
      for (const value of this.chart.choices[name]) {
        const selected = value === chosen(this.chart, name);
        select.append(element("option", { value, selected }, name === "bin" ? sizesText(value) : value));
      }
      row.append(element("label", {}, `${TITLES[name]} `, select));
    }
    const file = this.chart.name;
    for (const format of ["svg", "png"]) {
      const save = async () => download(`${file}.${format}`, await image(this.chart, format));
      row.append(element("button", { type: "button", "aria-label": `Download ${this.chart.title} as ${format.toUpperCase()}`, onclick: save }, format.toUpperCase()));
    }
    const save = () => download(`${file}.csv`, `data:text/csv;charset=utf-8,${encodeURIComponent(csv(this.chart))}`);
    row.append(element("button", { type: "button", "aria-label": `Download ${this.chart.title} as CSV`, onclick: save }, "CSV"));
    return row;
  }

  /** Draws it now if it is in sight, else when it comes into sight. */
  redraw() {
    this.stale = true;
    if (this.visible) this.draw();
  }

  draw() {
    if (!this.stale) return;
    this.stale = false;
    const panels = panelsOf(this.chart), marks = new Map();
    for (const mark of panels.flatMap((panel) => panel.marks)) if (mark.look && !marks.has(mark.label)) marks.set(mark.label, mark);
    this.names.replaceChildren(...[...marks.values()].map((mark) => element("li", {}, element("span", {}, swatch(mark.look, mark.kind, mark.points), mark.label))));
    this.leave();
    if (panels.length) {
      const figure = plotlyFigure(this.chart, panels, this.plot.clientWidth);
      Plotly.react(this.plot, figure.data, figure.layout, { displayModeBar: false, scrollZoom: false });
    } else {
      Plotly.purge(this.plot);
    }
    this.nothing.hidden = panels.length > 0;
    this.fill();
  }

  fill() {
    if (!this.table.open) return;
    const panels = panelsOf(this.chart), first = panels[0];
    const header = ["", "series", first?.x.title || "", first?.y.title || "", "95 % interval"];
    const rows = rowsOf(this.chart).map(([panel, label, x, y, low, high]) =>
      [panel.title, label, number(x), number(y), low === null || low === undefined ? "" : `${number(low)} to ${number(high)}`]);
    const line = (cells, tag) => element("tr", {}, ...cells.map((cell, at) => element(tag, { class: at < 2 ? "text" : "number" }, cell)));
    const table = element("table", {}, element("thead", {}, line(header, "th")), element("tbody", {}, ...rows.map((row) => line(row, "td"))));
    this.table.lastChild.replaceChildren(table);
  }

  /** Left and right to the next point, up and down to the next series. */
  step(event) {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (event.key === "Escape") this.leave();
    if (!(event.key in moves)) return;
    event.preventDefault();
    const [series, point] = moves[event.key], drawn = (this.plot.data || []).filter((trace) => trace.type !== "heatmap");
    if (!drawn.length) return;
    const before = this.at || { curve: 0, point: point < 0 ? 1 : -1 };
    const curve = (before.curve + series + drawn.length) % drawn.length, trace = drawn[curve], count = trace.x.length;
    this.at = { curve, point: Math.min(count - 1, Math.max(0, before.point + point)) };
    const { y, xaxis, yaxis } = trace, x = trace.places || trace.x, at = this.at.point;
    const axes = this.plot.layout, title = (axis, key) => axes[key + axis.slice(1)].title?.text || "";
    const where = trace.panel ? `, ${trace.panel}` : "";
    this.readout.textContent = `${trace.label ?? trace.name}${where}: ${title(xaxis, "xaxis")} ${number(x[at])}; ${title(yaxis, "yaxis")} ${number(y[at])} (${at + 1} of ${count})`;
    Plotly.Fx.hover(this.plot, [{ curveNumber: this.plot.data.indexOf(trace), pointNumber: at }], xaxis + yaxis);
  }

  leave() {
    this.at = null;
    this.readout.textContent = "";
    if (this.plot.data) Plotly.Fx.unhover(this.plot);
  }
}

const charts = [];
const redraw = () => charts.forEach((chart) => chart.redraw());

const inSight = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const chart = charts.find((one) => one.section === entry.target);
    if (!chart) continue;
    chart.visible = entry.isIntersecting;
    if (chart.visible) chart.draw();
  }
}, { rootMargin: "300px" });

function makeCharts() {
  inSight.disconnect();
  charts.length = 0;
  for (const section of document.querySelectorAll("[data-chart]")) {
    charts.push(new Chart(data.charts[section.dataset.chart], section));
    inSight.observe(section);
  }
}

// The page's looks, and its width.

const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
const themeButton = document.getElementById("theme");

function setTheme(dark) {
  document.documentElement.classList.toggle("dark", dark);
  themeButton.textContent = dark ? "Light" : "Dark";
  document.dispatchEvent(new Event("theme"));
  redraw();
}

themeButton.addEventListener("click", () => setTheme(!document.documentElement.classList.contains("dark")));
systemDark.addEventListener("change", () => setTheme(systemDark.matches));
let width = document.documentElement.clientWidth;
window.addEventListener("resize", () => {
  if (document.documentElement.clientWidth === width) return;
  width = document.documentElement.clientWidth;
  redraw();
});
window.addEventListener("beforeprint", () => charts.forEach((chart) => chart.draw()));
