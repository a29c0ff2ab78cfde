"use strict";
// Draws a panel as SVG: axes, lines, dots with their intervals, stacks and matrices. It knows nothing of the page.

const SHAPES = [ // markers, about (17, 6)
  "M17 2a4 4 0 1 0 .01 0z", "M13.5 2.5h7v7h-7z", "M17 1l5 5-5 5-5-5z", "M17 1.5l5 8.5h-10z", "M17 10.5l5-8.5h-10z",
  "M15.5 1h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z", "M13 3.5l1.5-1.5 2.5 2.5 2.5-2.5 1.5 1.5-2.5 2.5 2.5 2.5-1.5 1.5-2.5-2.5-2.5 2.5-1.5-1.5 2.5-2.5z",
];
const STROKES = ["", "7 4", "2 3", "7 3 2 3", "11 3 2 3"];
const FONT = 'system-ui, "DejaVu Sans", sans-serif';
const MATRIX = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const UNIT = /\s*\((ms|bytes|KB|%|Gb\/s)\)$/;
const SCALED = { // in which units a person says it, from the largest
  ms: [[1e3, "s"], [1, "ms"], [1e-3, "µs"], [0, "ns", 1e-6]],
  bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [0, "B", 1]],
  KB: [[1e6, "GB"], [1e3, "MB"], [1, "KB"], [0, "B", 1e-3]],
};
const LETTER_PX = 6.6;
const ROW_PX = 24;
const NARROW_PX = 430;

const pick = (list, place) => list[place % list.length];
const escaped = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const ruler = typeof document === "undefined" ? null : document.createElement("canvas").getContext("2d");

function textWidth(text, size = 12) {
  if (!ruler) return String(text).length * LETTER_PX;
  ruler.font = `${size}px ${FONT}`;
  return ruler.measureText(text).width;
}

/** A name that fits into so many pixels. */
function shortened(name, width, size = 12) {
  if (textWidth(name, size) <= width) return name;
  let letters = name.length;
  while (letters > 4 && textWidth(`${name.slice(0, letters)}…`, size) > width) letters--;
  return `${name.slice(0, letters)}…`;
}

// Numbers, as a person would say them.

const unitOf = (title) => (UNIT.exec(title) || ["", ""])[1];
const isScaled = (title) => unitOf(title) in SCALED;

function digits(value, count = 3) {
  if (value === 0) return "0";
  if (Math.abs(value) >= 10 ** (count - 1)) return Math.round(value).toLocaleString("en");
  return Math.abs(value) < 1e-3 ? value.toExponential(count - 1) : value.toPrecision(count);
}

/** Without zeros at the end: for axes. */
const tidy = (text) => text.replace(/(\.\d*?)0+(?!\d)/, (_, kept) => (kept === "." ? "" : kept));

function said(value, title = "", count = 3) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  const unit = unitOf(title);
  if (!(unit in SCALED)) return `${digits(value, count)}${unit && ` ${unit}`}`;
  const [factor, name, smallest] = SCALED[unit].find(([from]) => Math.abs(value) >= from);
  return `${digits(value / (factor || smallest), count)} ${value === 0 ? unit.replace("bytes", "B") : name}`;
}

// Axes.

/** The least and the greatest of the numbers among these. */
function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (typeof value !== "number") continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** At 1, 2 or 5 times a power of ten; at least two. */
function linearTicks(low, high, count) {
  for (let wanted = Math.max(count, 1); wanted < count + 20; wanted++) {
    const ticks = ticksAt(low, high, wanted);
    if (ticks.length > 1) return ticks;
  }
  return [low, high];
}

function ticksAt(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw * (1 - 1e-9)), ticks = [];
  for (let nth = Math.ceil(low / step - 1e-9); nth * step <= high + step * 1e-9; nth++) ticks.push(Number((nth * step).toPrecision(12)));
  return ticks;
}

/** As many of 1, 2, 5, 10 as there is room for; a short axis has ticks as if it were linear. */
function logTicks(low, high, count) {
  for (const steps of [[1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5], [1, 3], [1]]) {
    let ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high) + 1; power++) {
      for (const step of steps) ticks.push(Number(`${step}e${power}`));
    }
    ticks = ticks.filter((one) => one >= low * (1 - 1e-9) && one <= high * (1 + 1e-9));
    if (steps.length === 1 && ticks.length > count) {
      const each = Math.ceil(ticks.length / count);
      return ticks.filter((_, at) => at % each === 0);
    }
    if (ticks.length >= (steps.length === 1 ? 2 : 3) && ticks.length <= count) return ticks;
  }
  const ticks = linearTicks(low, high, Math.max(count, 3));
  return ticks.length > 1 ? ticks.slice(0, Math.max(2, count)) : [low, high];
}

/** Numbers that differ by less than this share of them would be stretched over the whole axis, so it begins at zero. */
const LEAST_SPAN = 0.05;

/** What an axis spans: no axis has one tick, and a linear one begins at zero unless all there is to see is far above. */
function domain(values, isLog, fromZero = true) {
  let [low, high] = extent(isLog ? values.filter((value) => value > 0) : values);
  if (low > high) return isLog ? [1, 10] : [0, 1];
  if (isLog) {
    const pad = Math.max((high / low) ** 0.06, 1.05);
    [low, high] = [low / pad, high * pad];
    return high / low < 1.3 ? [low / 1.15, high * 1.15] : [low, high];
  }
  const middle = (low + high) / 2;
  if (high - low < LEAST_SPAN * Math.abs(middle)) [low, high] = [middle, middle];
  if (low === high) return low === 0 ? [0, 1] : low > 0 && fromZero ? [0, 1.2 * low] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  const pad = (high - low) * 0.05, isFar = low > 0.6 * high;
  if (fromZero && low >= 0 && !isFar) return [0, high + pad];
  return [low >= 0 && low - pad < 0 ? 0 : low - pad, high + pad];
}

/** From values to pixels, with ticks and their texts; `few` are the values that each have their tick, if there are few. */
function scale([low, high], isLog, [from, to], title, count, few = []) {
  const along = isLog ? (value) => Math.log(value / low) / Math.log(high / low) : (value) => (value - low) / (high - low);
  const at = (value) => from + (to - from) * along(value), ticks = few.length ? few : (isLog ? logTicks : linearTicks)(low, high, count);
  const hasUnits = isLog && isScaled(title);
  const written = (value, count) => tidy(hasUnits ? said(value, title, count) : value >= 1e4 ? shortTick(value, count) : digits(value, count));
  let precision = hasUnits ? 3 : 4;
  while (precision < 12 && new Set(ticks.map((tick) => written(tick, precision))).size < ticks.length) precision++;
  const text = (value) => written(value, precision);
  return { at: (value) => Math.min(Math.max(at(value), Math.min(from, to) - 4), Math.max(from, to) + 4), ticks, text, title: hasUnits ? title.replace(UNIT, "") : title };
}

/** Ticks whose texts stand apart from each other. */
function apart(axis) {
  let free = -Infinity;
  const kept = axis.ticks.filter((tick) => {
    const half = textWidth(axis.text(tick)) / 2, at = axis.at(tick);
    if (at - half < free) return false;
    free = at + half + 6;
    return true;
  });
  return kept.length > 1 ? kept : [axis.ticks[0], axis.ticks.at(-1)];
}

function shortTick(value, count) {
  const [factor, suffix] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([from]) => value >= from);
  return digits(value / factor, count) + suffix;
}

// Pieces of SVG.

const svgText = (x, y, text, colour, attributes = "") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${colour}" ${attributes}>${escaped(text)}</text>`;
const svgLine = (x1, y1, x2, y2, colour, width = 1) => `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="${colour}" stroke-width="${width}"/>`;
const marker = (x, y, look) => `<path class="point" transform="translate(${(x - 17).toFixed(1)},${(y - 6).toFixed(1)})" d="${pick(SHAPES, look.marker)}" fill="${look.colour}"/>`;

/** Everything on a panel that is a number on an axis, and what it spans there. */
function spans(panel) {
  const numbers = (mark) => [...(mark.y || []), ...(mark.low || []), ...(mark.high || []), ...(mark.bands || []).flat()];
  const layers = (mark) => mark.x.map((_, at) => mark.layers.reduce((sum, layer) => sum + layer[at], 0));
  const y = panel.marks.flatMap((mark) => (mark.kind === "stack" ? [0, ...layers(mark)] : mark.kind === "heat" ? [] : numbers(mark)));
  const x = panel.marks.flatMap((mark) => (mark.kind === "dots" || mark.kind === "heat" ? [] : mark.x));
  return { x, y };
}

/** A panel as SVG in so many pixels: its text, its height, and where its points are. `shared` are the values that the
 * axis of values has to span beside its own. */
function drawPanel(panel, width, theme, shared = []) {
  if (panel.marks.some((mark) => mark.kind === "heat")) return drawMatrix(panel, width, theme);
  if (panel.marks.some((mark) => mark.kind === "dots")) return drawDots(panel, width, theme, shared);
  return drawLines(panel, width, theme, shared);
}

function drawLines(panel, width, theme, shared) {
  const height = Math.round(Math.min(Math.max(0.6 * width, 210), 300)), values = spans(panel);
  const top = 24, bottom = height - 40;
  const y = scale(domain([...values.y, ...shared], panel.y.log), panel.y.log, [bottom, top], panel.y.title, Math.floor((bottom - top) / 34));
  const left = Math.max(...y.ticks.map((tick) => textWidth(y.text(tick)))) + 12, right = width - 16;
  const isStack = panel.marks.some((mark) => mark.kind === "stack");
  const xDomain = isStack ? [extent(values.x)[0] - 0.5, extent(values.x)[1] + 0.5] : spanned([...values.x, ...(panel.times ?? [])], panel.x.log);
  const x = scale(xDomain, panel.x.log, [left + 8, right], panel.x.title, Math.floor((right - left) / 72), panel.x.ticks);
  const parts = [], points = [];
  for (const tick of y.ticks) {
    parts.push(svgLine(left, y.at(tick), right, y.at(tick), theme.line), svgText(left - 6, y.at(tick) + 4, y.text(tick), theme.faint, 'text-anchor="end" class="y-tick"'));
  }
  parts.push(svgLine(left, bottom, right, bottom, theme.faint));
  for (const tick of apart(x)) {
    parts.push(svgLine(x.at(tick), bottom, x.at(tick), bottom + 4, theme.faint), svgText(x.at(tick), bottom + 17, x.text(tick), theme.faint, 'text-anchor="middle" class="x-tick"'));
  }
  parts.push(svgText(0, 12, shortened(y.title, width), theme.faint, 'class="y-title"'), svgText(right, height - 4, shortened(x.title, width), theme.faint, 'text-anchor="end" class="x-title"'));
  for (const mark of panel.marks) parts.push(mark.kind === "stack" ? stack(mark, x, y, points, (right - left) / mark.x.length) : curve(mark, x, y, points));
  return { body: parts.join(""), height, points };
}

/** Of a line's places: to both ends, not from zero. */
function spanned(values, isLog) {
  const [low, high] = extent(isLog ? values.filter((value) => value > 0) : values);
  if (low < high) return [low, high];
  return domain(values, isLog, false);
}

function curve(mark, x, y, points) {
  const { look } = mark, parts = [];
  let path = "", pen = "M", before = null;
  mark.x.forEach((value, at) => {
    if (value === null || mark.y[at] === null) { pen = "M"; return; }
    const [px, py] = [x.at(value), y.at(mark.y[at])];
    if (mark.kind === "step" && pen === "L") path += `H${px.toFixed(1)}`;
    path += `${pen}${px.toFixed(1)} ${py.toFixed(1)}`;
    pen = "L";
    if (mark.bands?.[at]) parts.push(band(px, y.at(mark.bands[at][0]), px, y.at(mark.bands[at][1] ?? Infinity), look.colour));
    if (mark.low && mark.low[at] !== null) parts.push(whisker(px, y.at(mark.low[at]), y.at(mark.high[at]), look.colour));
    if (mark.points || mark.x.length === 1) parts.push(marker(px, py, look));
    if (!before || Math.hypot(px - before[0], py - before[1]) > 3) points.push({ mark, at, px, py, x: value, y: mark.y[at] });
    before = [px, py];
  });
  const dash = pick(STROKES, look.dash);
  return `<path class="line" d="${path}" fill="none" stroke="${look.colour}" stroke-width="1.8" stroke-linejoin="round"${dash && ` stroke-dasharray="${dash}"`}/>` + parts.join("");
}

/** Where packets would be that a point estimates. */
const band = (x1, y1, x2, y2, colour) => `<line class="band" x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="${colour}" stroke-width="9" stroke-opacity="0.3"/>`;
const whisker = (px, low, high, colour) => svgLine(px, low, px, high, colour, 1.4) + svgLine(px - 3, low, px + 3, low, colour, 1.4) + svgLine(px - 3, high, px + 3, high, colour, 1.4);

function stack(mark, x, y, points, room) {
  const parts = [], half = Math.max(0.4 * room, 0.5);
  mark.x.forEach((value, at) => {
    let below = 0;
    mark.layers.forEach((layer, nth) => {
      const [low, high] = [y.at(below), y.at(below + layer[at])];
      parts.push(`<rect x="${(x.at(value) - half).toFixed(1)}" y="${high.toFixed(1)}" width="${(2 * half).toFixed(1)}" height="${Math.max(low - high, 0).toFixed(1)}" fill="${mark.looks[nth].colour}" fill-opacity="${(1 - 0.35 * (mark.looks[nth].dash % 2)).toFixed(2)}"/>`);
      points.push({ mark: { label: `layer ${nth + 1}`, look: mark.looks[nth] }, at, px: x.at(value), py: (low + high) / 2, x: value, y: layer[at] });
      below += layer[at];
    });
  });
  return parts.join("");
}

/** Dots beside names, a row for each name: what is further to the right is more. Names without a number say so. */
function drawDots(panel, width, theme, shared) {
  const marks = panel.marks.filter((mark) => mark.kind === "dots");
  const alone = marks.every((mark) => mark.x.length === 1 && mark.x[0] === mark.label);
  const names = [...new Set(marks.flatMap((mark) => mark.x))], isNarrow = width < NARROW_PX;
  const valueText = (mark, at) => said(mark.y[at], panel.y.title);
  const texts = marks.flatMap((mark) => mark.x.map((_, at) => valueText(mark, at)));
  const room = alone ? Math.max(...texts.map((text) => textWidth(text))) + 10 : 14;
  const left = isNarrow ? 6 : Math.min(Math.max(...names.map((name) => textWidth(name))) + 14, 0.42 * width), right = width - room;
  const step = alone ? 0 : Math.min(9, Math.max(5, 60 / marks.length)), row = Math.max(ROW_PX, alone ? 0 : step * marks.length + 8) + (isNarrow ? 15 : 0);
  const top = 6, bottom = top + row * names.length, height = bottom + 40;
  const values = spans(panel).y;
  const x = scale(domain([...values, ...shared], panel.y.log), panel.y.log, [left + 4, right - 4], panel.y.title, Math.max(2, Math.floor((right - left) / 74)));
  const parts = [], points = [];
  for (const tick of apart(x)) parts.push(svgLine(x.at(tick), top, x.at(tick), bottom, theme.line), svgText(x.at(tick), bottom + 15, x.text(tick), theme.faint, 'text-anchor="middle" class="x-tick"'));
  parts.push(svgText(right, height - 5, shortened(x.title, right), theme.faint, 'text-anchor="end" class="x-title"'));
  names.forEach((name, nth) => {
    const y0 = top + nth * row, middle = y0 + (isNarrow ? 15 : 0) + (row - (isNarrow ? 15 : 0)) / 2;
    parts.push(isNarrow ? svgText(0, y0 + 13, shortened(name, width - room), theme.text, 'class="y-tick"') : svgText(left - 8, middle + 4, shortened(name, left - 10), theme.text, 'text-anchor="end" class="y-tick"'));
    if (nth) parts.push(svgLine(isNarrow ? 0 : left, y0, right, y0, theme.line, 0.5));
    marks.forEach((mark, place) => {
      const at = mark.x.indexOf(name);
      if (at < 0) return;
      const py = middle + (alone ? 0 : (place - (marks.length - 1) / 2) * step);
      if (mark.y[at] === null || (panel.y.log && mark.y[at] <= 0)) {
        if (alone) parts.push(svgText(left + 8, py + 4, mark.y[at] === null ? "no number" : valueText(mark, at), theme.faint, 'class="none"'));
        return;
      }
      const px = x.at(mark.y[at]);
      if (mark.bands?.[at]) parts.push(band(x.at(mark.bands[at][0]), py, x.at(mark.bands[at][1] ?? Infinity), py, mark.look.colour));
      if (mark.low && mark.low[at] !== null) {
        const [low, high] = [x.at(Math.max(mark.low[at], panel.y.log ? 1e-12 : -Infinity)), x.at(mark.high[at])];
        parts.push(svgLine(low, py, high, py, mark.look.colour, 1.6), svgLine(low, py - 3, low, py + 3, mark.look.colour, 1.6), svgLine(high, py - 3, high, py + 3, mark.look.colour, 1.6));
      }
      parts.push(marker(px, py, mark.look));
      if (alone) parts.push(svgText(width, py + 4, valueText(mark, at), theme.text, 'text-anchor="end" class="value"'));
      points.push({ mark, at, px, py, x: name, y: mark.y[at] });
    });
  });
  return { body: parts.join(""), height, points };
}

function drawMatrix(panel, width, theme) {
  const mark = panel.marks.find((one) => one.kind === "heat"), [rows, columns] = [mark.rows.length, mark.rows[0].length];
  const left = 34, top = 24, side = Math.min(width - left - 12, 320), most = Math.max(extent(mark.rows.flat())[1], 1e-12);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  const pixels = new ImageData(columns, rows);
  mark.rows.forEach((row, nth) => row.forEach((value, at) => pixels.data.set([...colourOf(value / most), 255], 4 * ((rows - 1 - nth) * columns + at))));
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  const body = [
    `<image x="${left}" y="${top}" width="${side}" height="${side}" preserveAspectRatio="none" style="image-rendering: pixelated" href="${canvas.toDataURL()}"/>`,
    svgText(0, 12, `${panel.y.title}; ${mark.unit}, up to ${digits(most)}`, theme.faint, 'class="y-title"'), svgText(left + side, top + side + 18, panel.x.title, theme.faint, 'text-anchor="end" class="x-title"'),
    svgText(left - 6, top + side, "0", theme.faint, 'text-anchor="end" class="y-tick"'), svgText(left - 6, top + 10, rows - 1, theme.faint, 'text-anchor="end" class="y-tick"'),
  ];
  return { body: body.join(""), height: top + side + 28, points: [] };
}

function colourOf(share) {
  const at = Math.min(Math.max(share, 0), 1) * (MATRIX.length - 1), low = Math.min(Math.floor(at), MATRIX.length - 2);
  return MATRIX[low].map((one, part) => Math.round(one + (MATRIX[low + 1][part] - one) * (at - low)));
}
