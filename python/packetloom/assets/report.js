// The report's choices, and the page that follows a run.

const POLL_MS = 1000;

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

function makeControls() {
  const place = document.getElementById("controls");
  if (!place) return;
  const group = (title, boxes) => element("fieldset", {}, element("legend", {}, title), element("div", { class: "choices" }, ...boxes));
  place.append(group("Schemes", data.schemes.map(({ label, look }) => tickBox(label, swatch(look, "curve", true), state.hidden, label))));
  if (data.loads.length > 1) place.append(group("Loads", data.loads.map((load) => tickBox(load === null ? "none" : String(load), null, state.loads, load))));
}

function makePage() {
  makeCharts();
  makeControls();
  makeFabric();
}

let fabric = null;

/** A network can have thousands of links: they are drawn once they come into sight. */
const nearFabric = new IntersectionObserver((entries) => {
  if (!entries.some((entry) => entry.isIntersecting)) return;
  nearFabric.disconnect();
  fabric = new Fabric(entries[0].target, data.fabric, fabric);
}, { rootMargin: "300px" });

function makeFabric() {
  const section = document.getElementById("fabric");
  fabric?.stop();
  nearFabric.disconnect();
  if (section) nearFabric.observe(section);
}

document.addEventListener("theme", () => fabric?.paint());

const nameOf = (details) => details.id || details.firstElementChild.textContent;

/** Takes in the page as it is now on the server; what the reader chose and opened stays. */
async function follow() {
  const answer = await fetch("state", { cache: "no-store" }).then((one) => one.json()).catch(() => null);
  if (answer && answer.stamp !== data.stamp) {
    const page = new DOMParser().parseFromString(await fetch("./", { cache: "no-store" }).then((one) => one.text()), "text/html");
    const opened = new Set([...document.querySelectorAll("main details[open]")].map(nameOf));
    data = JSON.parse(page.getElementById("data").textContent);
    document.querySelector("main").replaceChildren(...page.querySelector("main").childNodes);
    makePage();
    for (const one of document.querySelectorAll("main details")) one.open = opened.has(nameOf(one));
  }
  setTimeout(follow, POLL_MS);
}

setTheme(systemDark.matches);
makePage();
if (data.stamp) setTimeout(follow, POLL_MS);
