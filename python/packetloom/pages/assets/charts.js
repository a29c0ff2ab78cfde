// Figures on the page: their panels side by side, values on hover and by the keyboard, tables, downloads.

const WIDTH_OF_A_PANEL = 255;
const DOWNLOAD_WIDTH = 1100;
const REACH_PX = 36; // how near the mouse has to come to a point

let data = JSON.parse(document.getElementById("data").textContent);
const shown = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const number = (value) => (value === null || value === undefined ? "–" : typeof value === "number" ? shown.format(value) : value);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const theme = () => ({ text: colour("--text"), faint: colour("--faint"), line: colour("--line"), ground: colour("--ground") });

/** What stands before a name: its line and marker. */
function swatch(look, kind, points) {
  const line = `<path d="M0 6h34" stroke="${look.colour}" stroke-width="2.5" stroke-dasharray="${pick(STROKES, look.dash)}"/>`;
  const dot = `<path d="${pick(SHAPES, look.marker)}" fill="${look.colour}"/>`;
  const made = element("span", { class: "swatch", "aria-hidden": "true" });
  made.innerHTML = `<svg viewBox="0 0 34 12">${kind === "dots" ? dot : line + (points ? dot : "")}</svg>`;
  return made;
}

// From a chart with its choices to panels. The page's choices hold for every chart that has them.

const state = { hidden: new Set(), conditions: new Set(), loads: new Set(), sizes: new Set(), statistic: null };
const INSTEAD = { "p99.9": ["p99", "max"], max: ["p99.9", "p99"], p99: ["p95"], p95: ["mean"], p50: ["mean"] };

/** What a chart shows of the statistic that is chosen for the page: the same, or the nearest that it has. */
function statisticOf(chart) {
  const own = chart.choices.statistic;
  return [state.statistic, ...(INSTEAD[state.statistic] || []), own[0]].find((one) => own.includes(one));
}

/** A series may stand for several of the page's: hidden when they all are. */
function isHidden(label) {
  const own = (data.schemes || []).filter((one) => one.label === label || one.without_fan_in === label || one.entity === label);
  return own.length > 0 && own.every((one) => state.hidden.has(one.entity) || state.conditions.has(one.condition));
}

const facetText = { load: (load) => (load === null ? "" : `load ${load}`), bin: (bin) => data.sizes?.find((one) => one.label === bin)?.text ?? bin };
const isLeftOut = { load: (load) => state.loads.has(load), bin: (bin) => state.sizes.has(bin) };

function panelsOf(chart) {
  const visible = (panel, marks) => ({ ...panel, marks: marks.filter((mark) => mark.label === undefined || !isHidden(mark.of ?? mark.label)) });
  if (chart.panels) return chart.panels.map((panel) => visible(panel, panel.marks)).filter((panel) => panel.marks.length);
  let places = [{}];
  for (const name of chart.facets) {
    const values = chart.choices[name].filter((value) => !isLeftOut[name]?.(value));
    places = places.flatMap((at) => values.map((value) => ({ ...at, [name]: value })));
  }
  const statistic = chart.choices.statistic && !chart.facets.includes("statistic") ? statisticOf(chart) : null;
  const wanted = statistic ? { statistic } : {};
  return inOneTime(chart, places.map((at) => {
    const marks = chart.series.filter((one) => Object.entries({ ...at, ...wanted }).every(([name, value]) => one.at[name] === value));
    const title = Object.entries(at).map(([name, value]) => facetText[name]?.(value) ?? value).filter(Boolean).join(", ");
    const quantity = at.statistic ?? "", y = [statistic ?? quantity, chart.y.title].filter(Boolean).join(" ");
    return visible({ title, x: chart.x, y: { ...chart.y, title: y }, shared: quantity }, marks);
  }).filter((panel) => panel.marks.length));
}

/** Panels of different quantities over time span the same time, so that one can look from one to the next. */
function inOneTime(chart, panels) {
  if (!chart.facets.includes("statistic") || !chart.x.title.startsWith("time")) return panels;
  const times = extent(panels.flatMap((panel) => spans(panel).x));
  return panels.map((panel) => ({ ...panel, times }));
}

/** What an axis of values has to span so that panels of the same quantity can be compared. */
function sharedValues(chart, panels) {
  const common = new Map();
  if (!chart.series && chart.name !== "answer" && !chart.name.startsWith("along")) return () => [];
  if (chart.facets?.includes("bin") && isScaled(chart.y.title)) return () => []; // small flows take other times than large ones
  for (const panel of panels) common.set(panel.shared, [...(common.get(panel.shared) || []), ...spans(panel).y]);
  const ends = new Map([...common].map(([key, values]) => [key, [...extent(values), extent(values.filter((one) => one > 0))[0]].filter(Number.isFinite)]));
  return (panel) => ends.get(panel.shared);
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

/** The names above a chart: those of lines, as dots have theirs beside them. */
function namesOf(panels) {
  const marks = new Map();
  for (const mark of panels.flatMap((panel) => panel.marks)) {
    const isNamed = mark.kind === "dots" && mark.x.length === 1 && mark.x[0] === mark.label;
    if (mark.look && !isNamed && !marks.has(mark.label)) marks.set(mark.label, mark);
  }
  return [...marks.values()];
}

/** The whole chart as one picture, with its title and its names. */
function picture(chart) {
  const panels = panelsOf(chart), columns = Math.max(1, Math.min(chart.columns || 3, panels.length)), gap = 24;
  const width = Math.floor((DOWNLOAD_WIDTH - gap * (columns + 1)) / columns), looks = theme(), share = sharedValues(chart, panels);
  const parts = [svgText(gap, 30, chart.title, looks.text, 'font-size="17" font-weight="600"')];
  let x = gap, y = 56;
  for (const mark of namesOf(panels)) {
    const room = 44 + textWidth(mark.label) + 18;
    if (x + room > DOWNLOAD_WIDTH - gap) [x, y] = [gap, y + 20];
    parts.push(`<g transform="translate(${x},${y - 10})">${swatch(mark.look, mark.kind, mark.points).firstChild.innerHTML}</g>`, svgText(x + 42, y, mark.label, looks.text));
    x += room;
  }
  y += 20;
  for (let from = 0; from < panels.length; from += columns) {
    const drawn = panels.slice(from, from + columns).map((panel) => [panel, drawPanel(panel, width, looks, share(panel))]);
    drawn.forEach(([panel, one], at) => {
      const left = gap + at * (width + gap);
      parts.push(svgText(left, y + 12, panel.title, looks.text, 'font-weight="600"'), `<g transform="translate(${left},${y + 22})">${one.body}</g>`);
    });
    y += Math.max(...drawn.map(([, one]) => one.height)) + 40;
  }
  const frame = `<rect width="100%" height="100%" fill="${looks.ground}"/>`;
  return { width: DOWNLOAD_WIDTH, height: y, text: `<svg xmlns="http://www.w3.org/2000/svg" width="${DOWNLOAD_WIDTH}" height="${y}" viewBox="0 0 ${DOWNLOAD_WIDTH} ${y}" font-family='${FONT}' font-size="12">${frame}${parts.join("")}</svg>` };
}

async function image(chart, format) {
  const { width, height, text } = picture(chart), svg = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  if (format === "svg") return svg;
  const drawn = new Image();
  drawn.src = svg;
  await drawn.decode();
  const canvas = element("canvas", { width: 2 * width, height: 2 * height }), context = canvas.getContext("2d");
  context.scale(2, 2);
  context.drawImage(drawn, 0, 0);
  return canvas.toDataURL("image/png");
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
    this.tip = element("div", { class: "tip", hidden: true });
    this.plot = element("div", {
      class: "plot", tabindex: 0, role: "group", "aria-label": `${chart.title}. Arrow keys step through its values; a table of them follows.`,
      "aria-describedby": `${id}-readout`, onkeydown: (event) => this.step(event), onblur: () => this.leave(),
      onpointermove: (event) => this.hover(event), onpointerleave: () => this.point(null),
    });
    this.table = element("details", { id: `${id}-table`, ontoggle: () => this.fill() }, element("summary", {}, "Table"), element("div", { class: "wide", tabindex: 0 }));
    this.nothing = element("p", { class: "note", hidden: true }, "Nothing is chosen: tick a scheme and a load.");
    section.append(this.names, this.nothing, this.plot, this.readout, this.foot());
    this.visible = false;
    this.stale = true;
  }

  foot() {
    const row = element("div", { class: "tools" }, this.table), file = this.chart.name;
    const button = (kind, content) => element("button", {
      type: "button", "aria-label": `Download ${this.chart.title} as ${kind}`, onclick: async () => download(`${this.chart.name}.${kind.toLowerCase()}`, await content()),
    }, kind);
    row.append(button("SVG", () => image(this.chart, "svg")), button("PNG", () => image(this.chart, "png")), button("CSV", () => `data:text/csv;charset=utf-8,${encodeURIComponent(csv(this.chart))}`));
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
    const panels = panelsOf(this.chart), looks = theme(), share = sharedValues(this.chart, panels);
    this.section.classList.toggle("broad", panels.length > 1);
    this.names.replaceChildren(...namesOf(panels).map((mark) => element("li", {}, element("span", {}, swatch(mark.look, mark.kind, mark.points), mark.label))));
    this.leave();
    const gap = 28, room = this.plot.clientWidth, fitting = Math.max(1, Math.floor((room + gap) / (WIDTH_OF_A_PANEL + gap)));
    const columns = Math.min(panels.length, this.chart.columns || Infinity, even(panels.length, fitting));
    const width = Math.floor((room - gap * (columns - 1)) / Math.max(columns, 1));
    this.plot.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    this.drawn = panels.map((panel) => ({ panel, ...drawPanel(panel, width, looks, share(panel)) }));
    this.plot.replaceChildren(...this.drawn.map((one, nth) => {
      const figure = element("figure", { class: "panel", "data-panel": nth });
      figure.innerHTML = `${one.panel.title ? `<figcaption>${escaped(one.panel.title)}</figcaption>` : ""}<svg viewBox="0 0 ${width} ${one.height}" width="${width}" height="${one.height}" role="img">${one.body}<circle class="cursor" r="7" hidden></circle></svg>`;
      return figure;
    }), this.tip);
    this.plot.data = panels.flatMap((panel) => panel.marks.map((mark) => ({ ...mark, panel: panel.title })));
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
    scrollHints();
  }

  /** Shows what a point says; nothing for null. */
  point(nth, at) {
    for (const circle of this.plot.querySelectorAll(".cursor")) circle.setAttribute("hidden", "");
    this.tip.hidden = true;
    if (nth === null) return;
    const { panel } = this.drawn[nth], found = this.drawn[nth].points[at], figure = this.plot.children[nth], svg = figure.querySelector("svg");
    const circle = svg.querySelector(".cursor");
    circle.setAttribute("cx", found.px);
    circle.setAttribute("cy", found.py);
    circle.removeAttribute("hidden");
    const name = element("b", {}, found.mark.label), bounds = found.mark.low?.[found.at];
    const lines = [...(found.x === found.mark.label ? [] : [[panel.x.title.replace(UNIT, ""), said(found.x, panel.x.title, 4)]]), [panel.y.title.replace(UNIT, ""), said(found.y, panel.y.title, 4)]];
    if (bounds !== null && bounds !== undefined) lines.push(["95 %", `${said(bounds, panel.y.title)} to ${said(found.mark.high[found.at], panel.y.title)}`]);
    const band = found.mark.bands?.[found.at];
    if (band) lines.push(["packets would be", band[1] === null ? `${said(band[0], panel.y.title)} or more` : `${said(band[0], panel.y.title)} to ${said(band[1], panel.y.title)}`]);
    this.tip.replaceChildren(name, ...lines.map(([title, value]) => element("span", {}, `${title ? `${title}: ` : ""}${value}`)));
    this.tip.hidden = false;
    const box = svg.getBoundingClientRect(), own = this.plot.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const x = box.left - own.left + found.px * scale, y = box.top - own.top + found.py * scale;
    const left = x + 14 + this.tip.offsetWidth > own.width ? x - 14 - this.tip.offsetWidth : x + 14;
    this.tip.style.transform = `translate(${Math.max(left, 0)}px, ${Math.max(y - this.tip.offsetHeight - 8, 0)}px)`;
  }

  hover(event) {
    const figure = event.target.closest?.("figure");
    if (!figure) return this.point(null);
    const nth = Number(figure.dataset.panel), svg = figure.querySelector("svg"), box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const [x, y] = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    let nearest = null, least = REACH_PX;
    this.drawn[nth].points.forEach((one, at) => {
      const distance = Math.hypot(one.px - x, one.py - y);
      if (distance < least) [nearest, least] = [at, distance];
    });
    this.point(nearest === null ? null : nth, nearest);
  }

  /** Left and right to the next point, up and down to the next series. */
  step(event) {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (event.key === "Escape") this.leave();
    if (!(event.key in moves)) return;
    event.preventDefault();
    const series = (this.drawn || []).flatMap((one, nth) => {
      const own = new Map();
      one.points.forEach((point, at) => own.set(point.mark, [...(own.get(point.mark) || []), at]));
      return [...own.values()].map((points) => ({ nth, points }));
    });
    if (!series.length) return;
    const [other, point] = moves[event.key], before = this.at || { series: 0, point: point < 0 ? 1 : -1 };
    const place = (before.series + other + series.length) % series.length, { nth, points } = series[place];
    this.at = { series: place, point: Math.min(points.length - 1, Math.max(0, before.point + point)) };
    const { panel } = this.drawn[nth], found = this.drawn[nth].points[points[this.at.point]];
    const x = found.x === found.mark.label ? "" : `${panel.x.title} ${number(found.x)}; `;
    this.readout.textContent = `${found.mark.label}${panel.title ? `, ${panel.title}` : ""}: ${x}${panel.y.title} ${number(found.y)} (${this.at.point + 1} of ${points.length})`;
    this.point(nth, points[this.at.point]);
  }

  leave() {
    this.at = null;
    this.readout.textContent = "";
    if (this.drawn) this.point(null);
  }
}

/** How many panels stand side by side, so that the last line is not nearly empty. */
function even(panels, fitting) {
  return Math.ceil(panels / Math.ceil(panels / fitting));
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

/** Draws the charts above a place on the page: they take more room once they are drawn, and would move it. */
function drawAbove(target) {
  for (const chart of charts) {
    if (chart.section.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING) chart.draw();
  }
}

function makeCharts() {
  inSight.disconnect();
  charts.length = 0;
  for (const section of document.querySelectorAll("[data-chart]")) {
    charts.push(new Chart(data.charts[section.dataset.chart], section));
    inSight.observe(section);
  }
}

// The page's looks, and its width.

/** What is wider than there is room for says so. */
function scrollHints() {
  for (const one of document.querySelectorAll(".wide")) one.classList.toggle("scrolls", one.scrollWidth > one.clientWidth + 1);
}

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
  scrollHints();
});

// Paper is light, and as wide as a page: everything is drawn anew for it, and again for the screen afterwards.
let wasDark = false;
window.addEventListener("beforeprint", () => {
  wasDark = document.documentElement.classList.contains("dark");
  document.documentElement.classList.add("printing");
  setTheme(false);
  for (const chart of charts) {
    chart.stale = true;
    chart.draw();
  }
});
window.addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  setTheme(wasDark);
});
