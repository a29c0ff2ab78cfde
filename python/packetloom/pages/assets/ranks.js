// The timeline of ranks: a row for each rank, bars for what it did, and the critical path across them.

const RANK_PX = 20;
const KIND_COLOURS = { light: ["#0072b2", "#e69f00", "#009e73", "#56b4e9"], dark: ["#4aa3df", "#f0b73e", "#35c49a", "#8fd0f5"] };
const LEAST_BAR_PX = 0.3;

class Ranks {
  constructor(section, ranks) {
    this.ranks = ranks;
    this.case = ranks.cases[0];
    this.select = element("select", { "aria-label": "Case", onchange: (event) => { this.case = ranks.cases[Number(event.target.value)]; this.zoom = null; this.draw(); } });
    this.select.append(...ranks.cases.map((one, at) => element("option", { value: at }, one.name)));
    this.zoom = null;
    this.whole = element("button", { type: "button", onclick: () => { this.zoom = null; this.draw(); } }, "Whole repetition");
    this.plot = element("div", { class: "plot" });
    this.readout = element("p", { class: "readout", "aria-live": "polite" });
    this.legend = element("ul", { class: "names" });
    section.append(element("div", { class: "tools" }, element("label", {}, "Case ", this.select), this.whole), this.legend, this.plot, this.readout);
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  draw() {
    const width = this.plot.clientWidth;
    if (!width) return;
    const colours = KIND_COLOURS[document.documentElement.classList.contains("dark") ? "dark" : "light"], { ranks, bars, path } = this.case;
    const used = [...new Set(bars.map((bar) => bar[3]))].sort();
    this.legend.replaceChildren(
      ...used.map((kind) => element("li", {}, element("span", {}, keyed(colours[kind]), this.ranks.kinds[kind] === "operation" ? "collective operation" : this.ranks.kinds[kind]))),
      element("li", {}, element("span", {}, keyed("var(--text)", 3), "critical path")),
    );
    const [from, until] = this.zoom || [0, this.case.end_ms], left = 12 + Math.max(...ranks.map((rank) => textWidth(`rank ${rank}`))), right = width - 12;
    const bottom = 6 + ranks.length * RANK_PX, x = scale([from, until], false, [left, right], "time (ms)", Math.floor((right - left) / 90));
    const inside = (start, end) => end > from && start < until, at = (time) => left + (right - left) * (Math.min(Math.max(time, from), until) - from) / (until - from);
    const svg = svgElement("svg", { viewBox: `0 0 ${width} ${bottom + 38}`, width, height: bottom + 38, role: "img", "aria-label": `Timeline of ranks: ${this.case.name}` });
    const text = (px, py, words, attributes = {}) => { svgElement("text", { x: px, y: py, fill: "var(--faint)", ...attributes }, svg).textContent = words; };
    ranks.forEach((rank, row) => {
      text(left - 8, 6 + row * RANK_PX + 14, `rank ${rank}`, { "text-anchor": "end", class: "y-tick" });
      svgElement("line", { x1: left, x2: right, y1: 6 + row * RANK_PX, y2: 6 + row * RANK_PX, stroke: "var(--line)" }, svg);
    });
    for (const tick of apart(x)) {
      svgElement("line", { x1: x.at(tick), x2: x.at(tick), y1: bottom, y2: bottom + 4, stroke: "var(--faint)" }, svg);
      text(x.at(tick), bottom + 17, x.text(tick), { "text-anchor": "middle", class: "x-tick" });
    }
    text(right, bottom + 33, "time since the repetition began (ms)", { "text-anchor": "end", class: "x-title" });
    for (const bar of bars) {
      const [row, start, end, kind] = bar;
      if (!inside(start, end)) continue;
      const top = 6 + row * RANK_PX + (kind ? RANK_PX / 2 + 0.5 : 2);
      const box = svgElement("rect", { x: at(start).toFixed(2), y: top, width: Math.max(at(end) - at(start), LEAST_BAR_PX).toFixed(2), height: RANK_PX / 2 - 2.5, fill: colours[kind], class: "bar" }, svg);
      box.addEventListener("pointerenter", () => this.say(bar));
      box.addEventListener("click", () => { this.zoom = around(start, end, this.case.end_ms); this.draw(); });
    }
    svgElement("path", { d: this.line(path.filter(([, start, end]) => inside(start, end)), at), fill: "none", stroke: "var(--text)", "stroke-width": 1.6, "stroke-linejoin": "round", "pointer-events": "none", class: "path" }, svg);
    this.plot.replaceChildren(svg);
    this.whole.hidden = !this.zoom;
    const left_out = [[this.case.ranks_left_out, "ranks"], [this.case.bars_left_out, "short operations"], [this.ranks.left_out, "cases"]].filter(([count]) => count);
    this.note = left_out.length ? `Not shown: ${left_out.map(([count, what]) => `${count.toLocaleString("en")} ${what}`).join(", ")}.` : "Point at a bar to see what it is; click to enlarge it.";
    this.readout.textContent = this.note;
  }

  /** Along the rank that computes; from the sender's row to the receiver's for a message. */
  line(path, at) {
    const middle = (row) => (6 + (row + 0.5) * RANK_PX).toFixed(1);
    return path.map(([row, start, end, from]) => `M${at(start).toFixed(1)} ${middle(from < 0 ? row : from)}L${at(end).toFixed(1)} ${middle(row)}`).join("");
  }

  say([row, start, end, kind, name]) {
    const what = this.case.names[name], doing = this.ranks.kinds[kind];
    this.readout.textContent = `rank ${this.case.ranks[row]}: ${what}${what === doing ? "" : ` (${doing})`}, ${said(end - start, "(ms)")}, from ${said(start, "(ms)")} to ${said(end, "(ms)")}`;
  }
}

/** A swatch of a colour. */
function keyed(colour, height = 9) {
  const svg = svgElement("svg", { width: 14, height: 11, "aria-hidden": "true" });
  svgElement("rect", { x: 0, y: (11 - height) / 2, width: 14, height, style: `fill: ${colour}` }, svg);
  return svg;
}

/** A span of time with four times as much around it. */
function around(start, end, last) {
  const more = 2 * (end - start);
  return [Math.max(0, start - more), Math.min(last, end + more)];
}
