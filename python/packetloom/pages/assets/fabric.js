// The fabric view: nodes in layers, links coloured by what they carry or hold, over time.

const SVG = "http://www.w3.org/2000/svg";
const SCALES = { // idle to busy; lightness only ever falls, or rises, so that it reads without colour
  light: [[222, 226, 230], [250, 190, 110], [222, 95, 25], [110, 12, 0]],
  dark: [[58, 65, 73], [140, 59, 31], [232, 122, 48], [255, 230, 150]],
};
const FRAME_MS = 150;
const LAYER_HEIGHT = 130;
const RING_HEIGHT = 700;
const WIDTH = 1100;
const MARGIN = 14;
const GUTTER = 110; // for the layers' names, beside the links
const QUANTITIES = {
  utilisation: { title: "utilisation", unit: "%", of: (value) => value / 100 },
  queue: { title: "queue", unit: "KB", of: (value) => value / 1000 },
  paused: { title: "paused", unit: "%", of: (value) => value / 100 },
  lost: { title: "lost in the whole run", unit: "packets", of: (value) => value },
};

function svgElement(tag, attributes, parent) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent?.append(made);
  return made;
}

function shade(share) {
  const stops = SCALES[document.documentElement.classList.contains("dark") ? "dark" : "light"];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
  return `rgb(${stops[low].map((one, part) => Math.round(one + (stops[low + 1][part] - one) * (at - low))).join(",")})`;
}

/** How many hops a link counts for. */
const lengthOf = (topology, at) => topology.lengths?.[at] ?? 1;

/** How many hops it is from each node to one of some nodes, against the links' direction if so wanted. Hosts pass
 * nothing on. */
function distances(topology, start, backwards) {
  const next = new Map();
  topology.links.forEach(([from, to], at) => {
    const [here, there] = backwards ? [to, from] : [from, to];
    if (!next.has(here)) next.set(here, []);
    next.get(here).push([there, lengthOf(topology, at)]);
  });
  const found = new Map([[start, 0]]), waiting = [start];
  for (const node of waiting) { // which grows: a node comes again when it turns out to be nearer
    if (node !== start && topology.nodes[node].kind === "host") continue;
    for (const [other, length] of next.get(node) || []) {
      const byNode = found.get(node) + length;
      if (byNode < (found.get(other) ?? Infinity)) {
        found.set(other, byNode);
        waiting.push(other);
      }
    }
  }
  return found;
}

class Fabric {
  /** What was chosen in an earlier view of the same run is chosen again. */
  constructor(section, fabric, before) {
    this.fabric = fabric;
    this.section = section;
    this.quantity = before?.quantity ?? "utilisation";
    this.build();
    this.choose(Math.max(0, fabric.cases.findIndex((one) => one.name === before?.case.name)));
    if (this.case.name !== before?.case.name) return;
    if (before.flow) this.chooseFlow(this.case.flows.findIndex((flow) => flow.id === before.flow.id));
    else this.chooseLink(before.link);
    this.at(before.frame);
  }

  build() {
    const select = (label, onchange) => element("select", { "aria-label": label, onchange: (event) => onchange(event.target.value) });
    this.caseSelect = select("Case", (value) => this.choose(Number(value)));
    this.caseSelect.append(...this.fabric.cases.map((one, at) => element("option", { value: at }, one.name)));
    this.quantitySelect = select("Colour of links", (value) => { this.quantity = value; this.paint(); });
    this.play = element("button", { type: "button", "aria-pressed": "false", onclick: () => this.toggle() }, "Play");
    this.slider = element("input", { type: "range", min: 0, value: 0, "aria-label": "Time", oninput: () => this.at(Number(this.slider.value)) });
    this.time = element("output", {});
    this.linkSelect = select("Link", (value) => this.chooseLink(value === "" ? null : Number(value)));
    this.flowSelect = select("Flow", (value) => this.chooseFlow(value === "" ? null : Number(value)));
    this.scale = element("span", { class: "scale" });
    this.moments = element("div", { class: "tools moments" });
    this.timeRow = element("div", { class: "tools" }, this.play, this.slider, this.time);
    this.network = element("div", { class: "wide", tabindex: 0 });
    this.readout = element("p", { class: "readout", "aria-live": "polite" });
    this.chartSection = element("section", { hidden: true });
    const labelled = (text, control) => element("label", {}, `${text} `, control);
    this.section.append(
      element("div", { class: "tools" }, labelled("Case", this.caseSelect), labelled("Colour", this.quantitySelect), this.scale),
      this.timeRow, this.moments, this.network,
      element("div", { class: "tools" }, labelled("Link", this.linkSelect), labelled("Flow", this.flowSelect)),
      this.readout, this.chartSection,
    );
    this.chart = new Chart({ name: "fabric-series", title: "Chosen links over time", panels: [], columns: 2 }, this.chartSection);
    this.chart.visible = true;
    charts.push(this.chart);
  }

  choose(nth) {
    this.stop();
    this.case = this.fabric.cases[nth];
    this.topology = this.fabric.topologies[this.case.topology];
    this.times = this.case.times_ms;
    this.timeRow.hidden = this.times.length < 2;
    this.slider.max = Math.max(this.times.length - 1, 0);
    this.caseSelect.value = nth;
    const known = Object.keys(QUANTITIES).filter((name) => this.case[name]);
    if (!known.includes(this.quantity)) this.quantity = known[0];
    this.quantitySelect.replaceChildren(...known.map((name) => element("option", { value: name, selected: name === this.quantity }, `${QUANTITIES[name].title} (${QUANTITIES[name].unit})`)));
    const largest = (name) => Math.max(1, extent((this.case[name] || []).map((frame) => extent(frame)[1]))[1]);
    this.most = { utilisation: 100, paused: 100, queue: largest("queue") / 1000, lost: largest("lost") };
    this.moments.replaceChildren(...this.case.moments.map((moment) => element("button", { type: "button", onclick: () => this.look(moment) }, this.momentText(moment))));
    this.moments.hidden = !this.case.moments.length;
    this.looked = null;
    this.linkSelect.replaceChildren(element("option", { value: "" }, "none"), ...this.topology.links.map((_, at) => element("option", { value: at }, this.linkName(at))));
    this.flowSelect.replaceChildren(element("option", { value: "" }, "none"), ...this.case.flows.map((flow, at) => element("option", { value: at }, this.flowName(flow))));
    this.drawNetwork();
    this.chooseLink(null);
    this.at(0);
  }

  momentText({ text, from_ms, until_ms, always }) {
    if (always) return text;
    const moment = (time) => tidy(said(time, "(ms)"));
    const from = moment(from_ms), until = until_ms === null ? " on" : until_ms === from_ms ? "" : ` to ${moment(until_ms)}`;
    return `${from}${until}: ${text}`;
  }

  /** One click to a fault, a pause, a queue: its moment, with what it is about marked. */
  look(moment) {
    this.stop();
    this.chooseLink(moment.links.length === 1 ? moment.links[0] : null);
    this.looked = moment;
    if (this.times.length > 1) this.at(Math.max(0, this.times.findLastIndex((time) => time <= moment.from_ms + 1e-9)));
    else this.markFaults();
    const which = moment.links.length ? `${moment.links.length} link${moment.links.length > 1 ? "s" : ""}` : moment.nodes.map((node) => this.topology.nodes[node].name).join(", ");
    this.readout.textContent = `${this.momentText(moment)}${which && `. Marked: ${which}.`}`;
  }

  /** What is broken in this frame is marked, and what was asked for. */
  markFaults() {
    const from = this.times[this.frame] ?? 0, until = this.times[this.frame + 1] ?? Infinity, whole = this.times.length < 2;
    const now = this.case.moments.filter((one) => one === this.looked || (!whole && !one.always && one.until_ms !== one.from_ms && one.from_ms < until && (one.until_ms ?? Infinity) > from));
    const links = new Set(now.flatMap((one) => one.links)), nodes = new Set(now.flatMap((one) => one.nodes));
    this.lines.forEach((line, at) => line.classList.toggle("faulty", links.has(at)));
    this.circles.forEach((circle, at) => circle.classList.toggle("faulty", nodes.has(at)));
  }

  linkName(at) {
    const [from, to] = this.topology.links[at];
    return `${this.topology.nodes[from].name} to ${this.topology.nodes[to].name}`;
  }

  flowName(flow) {
    const end = flow.slowdown === null ? "never finished" : `slowdown ${number(flow.slowdown)}`;
    return `${flow.id}: host${flow.src} to host${flow.dst}, ${said(flow.size_bytes, "(bytes)")}, ${end}`;
  }

  /** Nodes in layers, hosts at the bottom, or round a ring where many switches of one layer are linked to each other;
   * each half of a line is the direction that begins at its end. What is chosen is drawn whole. */
  drawNetwork() {
    const layers = [];
    for (const node of this.topology.nodes) (layers[node.layer] ||= []).push(node);
    const isLevel = ([from, to]) => this.topology.nodes[from].layer === this.topology.nodes[to].layer;
    const isRing = layers.length === 2 && layers[1].length > 3 && this.topology.links.some(isLevel);
    const height = isRing ? RING_HEIGHT : layers.length * LAYER_HEIGHT - 30;
    const svg = svgElement("svg", { class: "network", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": "The network. Choose a link or a flow below it, or click a link." });
    const spots = (this.spots = this.topology.nodes.map(() => null));
    this.middles = [];
    this.targets = []; // wider than the lines, to be hit by a mouse or a finger
    const targets = svgElement("g", {});
    layers.forEach((nodes, layer) => nodes.forEach((node, at) => {
      const angle = (2 * Math.PI * (at + 0.5)) / nodes.length - Math.PI / 2, radius = height * (layer ? 0.4 : 0.48);
      spots[node.number] = isRing
        ? [WIDTH / 2 + radius * Math.cos(angle), height / 2 + radius * Math.sin(angle)]
        : [GUTTER + ((WIDTH - GUTTER - MARGIN) * (at + 0.5)) / nodes.length, height - 28 - layer * LAYER_HEIGHT];
    }));
    const crowd = Math.max(...layers.map((nodes) => nodes.length));
    svg.style.setProperty("--link-width", this.topology.links.length > 1500 ? 0.7 : this.topology.links.length > 400 ? 1.6 : 2.4);
    this.lines = this.topology.links.map(([from, to], at) => {
      const [x1, y1] = spots[from], [x2, y2] = spots[to], level = y1 === y2 && !isRing ? -LAYER_HEIGHT / 3 : 0;
      const middle = (this.middles[at] = [(x1 + x2) / 2, (y1 + y2) / 2 + level]);
      const line = svgElement("line", { class: "link", "data-link": at, x1, y1, x2: middle[0], y2: middle[1] }, svg);
      const target = svgElement("line", { class: "target", "data-target": at, x1, y1, x2: middle[0], y2: middle[1] });
      target.addEventListener("click", () => this.chooseLink(at));
      this.targets.push(svgElement("title", {}, target));
      targets.append(target);
      return line;
    });
    svg.append(targets);
    this.topmost = targets;
    const radius = Math.max(1.5, Math.min(9, ((WIDTH - GUTTER) / crowd) * 0.3));
    this.circles = [];
    for (const node of this.topology.nodes) {
      const [cx, cy] = spots[node.number];
      const size = node.kind === "host" ? radius : Math.max(radius, 4);
      const circle = (this.circles[node.number] = svgElement("circle", { class: "node", cx, cy, r: size }, svg));
      svgElement("title", {}, circle).textContent = node.name;
    }
    layers.forEach((nodes, layer) => {
      const y = isRing ? 40 - 20 * layer : height - 24 - layer * LAYER_HEIGHT, room = (WIDTH - GUTTER - MARGIN) / nodes.length;
      const plural = nodes.length > 1 && ["host", "rack", "pod"].includes(nodes[0].kind) ? "s" : "";
      svgElement("text", { class: "layer", x: 0, y }, svg).textContent = `${nodes.length} ${nodes[0].kind}${plural}`;
      const numbers = nodes.map((node) => node.name.match(/\d+$/)?.[0] ?? node.name), isInner = layer > 0 && layer < layers.length - 1;
      const names = [nodes.map((node) => node.name), numbers].find((all) => all.every((name) => textWidth(name) + (isInner ? 2 * radius + 6 : 6) < room));
      if (!isRing) names?.forEach((name, at) => { // where no link is: beside a node, above the highest, below the lowest
        const [cx, cy] = spots[nodes[at].number], size = layer ? Math.max(radius, 4) : radius;
        const place = isInner ? { x: cx + size + 3, y: cy + 4 } : { x: cx, y: layer ? cy - size - 5 : cy + size + 14, "text-anchor": "middle" };
        svgElement("text", place, svg).textContent = name;
      });
    });
    this.network.replaceChildren(svg);
  }

  at(frame) {
    this.frame = frame;
    this.slider.value = frame;
    const text = this.times.length ? `${number(this.times[frame])} ms` : "";
    this.time.textContent = text;
    this.markFaults();
    this.slider.setAttribute("aria-valuetext", text);
    this.paint();
  }

  value(link, frame = this.frame, quantity = this.quantity) {
    const frames = this.case[quantity];
    return QUANTITIES[quantity].of(frames[Math.min(frame, frames.length - 1)][link]);
  }

  paint() {
    const quantity = QUANTITIES[this.quantity], most = this.most[this.quantity];
    this.lines.forEach((line, at) => {
      const value = this.value(at);
      line.setAttribute("stroke", shade(value / most));
      this.targets[at].textContent = `${this.linkName(at)}: ${quantity.title} ${number(value)} ${quantity.unit}`;
    });
    const bar = element("span", { style: `background: linear-gradient(to right, ${[0, 1 / 3, 2 / 3, 1].map(shade).join(",")})` });
    this.scale.replaceChildren("0", bar, `${number(most)} ${quantity.unit}`);
  }

  toggle() {
    if (this.timer) return this.stop();
    if (this.frame === this.times.length - 1) this.at(0);
    this.play.textContent = "Pause";
    this.play.setAttribute("aria-pressed", "true");
    this.timer = setInterval(() => {
      if (this.frame < this.times.length - 1) this.at(this.frame + 1);
      else this.stop();
    }, FRAME_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "Play";
    this.play.setAttribute("aria-pressed", "false");
  }

  chooseLink(link) {
    this.link = link;
    this.looked = null;
    if (this.circles) this.markFaults();
    this.linkSelect.value = link ?? "";
    if (link !== null) {
      this.flow = null;
      this.flowSelect.value = "";
    }
    const totals = link === null ? null : this.case.totals[link];
    this.readout.textContent = totals ? `${this.linkName(link)} in the whole run: ${totals}` : "";
    this.highlight(new Set());
    this.drawSeries(link === null ? [] : [link], link === null ? "" : this.linkName(link));
  }

  chooseFlow(nth) {
    if (nth === null) return this.chooseLink(null);
    this.chooseLink(null);
    const flow = this.case.flows[nth], topology = this.topology;
    this.flow = flow;
    this.flowSelect.value = nth;
    const [src, dst] = [flow.src, flow.dst].map((host) => topology.hosts[host]);
    const from = distances(topology, src, false), to = distances(topology, dst, true), length = from.get(dst);
    const path = topology.links.map(([a, b], at) => (from.get(a) + lengthOf(topology, at) + to.get(b) === length ? at : -1)).filter((at) => at >= 0);
    const end = flow.fct_ms === null ? "and never finished" : `and took ${number(flow.fct_ms)} ms`;
    this.readout.textContent = `Flow ${this.flowName(flow)}; it started at ${number(flow.start_ms)} ms ${end}. ${path.length ? `Marked: the ${path.length} links on its shortest paths.` : "Both hosts are in one node of this view."}`;
    this.highlight(new Set(path));
    if (this.times.length > 1) this.at(Math.max(0, this.times.findLastIndex((time) => time <= flow.start_ms)));
    this.drawSeries(path, `most on the paths of flow ${flow.id}`);
  }

  highlight(path) {
    this.lines.forEach((line, at) => {
      const whole = path.has(at) || at === this.link;
      const [x2, y2] = whole ? this.spots[this.topology.links[at][1]] : this.middles[at];
      line.setAttribute("x2", x2);
      line.setAttribute("y2", y2);
      if (whole) line.parentNode.insertBefore(line, this.topmost);
      line.classList.toggle("chosen", at === this.link);
      line.classList.toggle("on-path", path.has(at));
      line.classList.toggle("off-path", path.size > 0 && !path.has(at));
    });
  }

  /** The largest value on these links over time. */
  drawSeries(links, label) {
    this.chartSection.hidden = !links.length || this.times.length < 2;
    if (this.chartSection.hidden) return;
    const look = { colour: "#0072b2", marker: 0, dash: 0 };
    this.chart.chart.panels = Object.keys(QUANTITIES).filter((name) => this.case[name]?.length === this.times.length).map((name) => {
      const y = this.times.map((_, frame) => extent(links.map((link) => this.value(link, frame, name)))[1]);
      const { title, unit } = QUANTITIES[name];
      const marks = [{ kind: "curve", label, look, x: this.times, y, points: false }];
      if (this.flow && this.flow.fct_ms !== null) {
        const life = { colour: "#d55e00", marker: 1, dash: 0 };
        marks.push({ kind: "curve", label: "from its start to its end", look: life, x: [this.flow.start_ms, this.flow.start_ms + this.flow.fct_ms], y: [0, 0], points: true });
      }
      return { title: "", x: { title: "time (ms)" }, y: { title: `${title} (${unit})` }, marks };
    });
    this.chart.chart.name = `fabric-${label.replaceAll(" ", "-")}`;
    this.chart.redraw();
  }
}
