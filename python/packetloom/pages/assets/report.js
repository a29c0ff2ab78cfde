// The report's choices, its contents list, and the page that follows a run.

const POLL_MS = 1000;
const NARROW = window.matchMedia("(max-width: 1000px)");

function tickBox(text, mark, set, value) {
  const box = element("input", {
    type: "checkbox", checked: !set.has(value),
    onchange: () => {
      if (box.checked) set.delete(value);
      else set.add(value);
      redraw();
    },
  });
  return element("label", {}, box, ...(mark ? [mark] : []), text);
}

/** The choices, once for the whole page. */
function makeControls() {
  const place = document.getElementById("controls"), group = (title, boxes) =>
    place.append(element("fieldset", {}, element("legend", {}, title), element("div", { class: "choices" }, ...boxes)));
  place.replaceChildren();
  const own = data.charts.filter((chart) => chart.choices), values = (name) => [...new Set(own.flatMap((chart) => chart.choices[name] || []))];
  const statistics = [...new Set(own.filter((chart) => chart.choices.statistic && !chart.facets.includes("statistic")).flatMap((chart) => chart.choices.statistic))];
  if (statistics.length > 1) {
    state.statistic ??= statistics[0];
    const select = element("select", { onchange: () => { state.statistic = select.value; redraw(); } });
    select.append(...statistics.map((one) => element("option", { value: one, selected: one === state.statistic }, one)));
    place.append(element("label", { class: "statistic" }, "Statistic ", select));
  }
  const conditions = new Set((data.schemes || []).map((one) => one.condition).filter(Boolean));
  const first = new Map();
  for (const one of data.schemes || []) if (!first.has(one.entity)) first.set(one.entity, one);
  if (first.size > 1) group("Schemes", [...first.values()].map((one) => tickBox(one.entity, swatch(one.look, "curve", true), state.hidden, one.entity)));
  if ((data.loads || []).length > 1) group("Loads", data.loads.map((load) => tickBox(load === null ? "none" : String(load), null, state.loads, load)));
  if (conditions.size > 1) group("With", [...conditions].sort((one, other) => parseFloat(one) - parseFloat(other) || 0).map((one) => tickBox(one, null, state.conditions, one)));
  const sizes = (data.sizes || []).filter((size) => values("bin").includes(size.label));
  if (sizes.length > 1) group("Sizes", sizes.map((size) => tickBox(size.text, null, state.sizes, size.label)));
  place.closest("details").hidden = !place.childElementCount;
}

function makePage() {
  makeCharts();
  makeControls();
  makeFabric();
  const ranksSection = document.getElementById("ranks");
  ranks = ranksSection && new Ranks(ranksSection, data.ranks);
  scrollHints();
}

let fabric = null, ranks = null;

/** A network can have thousands of links: they are drawn once they come into sight. */
const nearFabric = new IntersectionObserver((entries) => {
  if (!entries.some((entry) => entry.isIntersecting)) return;
  nearFabric.disconnect();
  fabric = new Fabric(entries[0].target, data.fabric, fabric);
  scrollHints();
}, { rootMargin: "300px" });

function makeFabric() {
  const section = document.getElementById("fabric");
  fabric?.stop();
  nearFabric.disconnect();
  if (section) nearFabric.observe(section);
}

document.addEventListener("theme", () => {
  fabric?.paint();
  ranks?.draw();
});

// A link to a row of a folded table opens it.
function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let one = target.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  drawAbove(target);
  target.scrollIntoView({ block: target.matches("tr") ? "center" : "start" });
}

window.addEventListener("hashchange", openTarget);
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  if (!link) return;
  if (NARROW.matches && link.closest("aside")) for (const one of document.querySelectorAll("aside details")) one.open = false;
  if (link.hash === location.hash) openTarget();
});

/** On a narrow screen the contents list and the choices are folded until they are asked for. */
function foldAside() {
  for (const one of document.querySelectorAll("aside details")) one.open = !NARROW.matches;
}

NARROW.addEventListener("change", foldAside);
window.addEventListener("beforeprint", () => {
  const section = document.getElementById("fabric");
  if (section && data.fabric && !section.childElementCount) fabric = new Fabric(section, data.fabric, fabric);
});

const nameOf = (details) => details.id || details.firstElementChild.textContent;

/** Takes in the page as it is now on the server; what the reader chose and opened stays. */
async function follow() {
  const answer = await fetch("state", { cache: "no-store" }).then((one) => one.json()).catch(() => null);
  if (answer && answer.stamp !== data.stamp) {
    const page = new DOMParser().parseFromString(await fetch("./", { cache: "no-store" }).then((one) => one.text()), "text/html");
    const opened = new Set([...document.querySelectorAll("main details[open]")].map(nameOf));
    data = JSON.parse(page.getElementById("data").textContent);
    for (const part of ["main", "nav"]) document.querySelector(part).replaceChildren(...page.querySelector(part).childNodes);
    makePage();
    for (const one of document.querySelectorAll("main details")) one.open = opened.has(nameOf(one));
  }
  setTimeout(follow, POLL_MS);
}

foldAside();
setTheme(systemDark.matches);
makePage();
openTarget();
if (data.stamp) setTimeout(follow, POLL_MS);
