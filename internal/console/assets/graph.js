// @ts-check
// Graphs with scripts: a cross-hair through all of them, zooming by dragging, and images to download.

const left = 44; // the edges of the plot, which graph.go sets
const right = 8;
const local = document.documentElement.dataset.times === "local";

/** @param {SVGSVGElement} svg */
const width = (svg) => svg.viewBox.baseVal.width - left - right;

/** The graph under the pointer. @param {Event} event @returns {SVGSVGElement | null} */
function under(event) {
  const svg = event.target instanceof Element ? event.target.closest(".graph > svg") : null;
  return svg instanceof SVGSVGElement ? svg : null;
}

/** Where the pointer is, as a share of the plot's width. @param {SVGSVGElement} svg @param {MouseEvent} event */
function share(svg, event) {
  const box = svg.getBoundingClientRect();
  return (((event.clientX - box.left) * svg.viewBox.baseVal.width) / box.width - left) / width(svg);
}

/** The begin and the period in seconds, and the values. @param {Element} graph */
function data(graph) {
  const [begin, period, ...values] = (graph.getAttribute("data-values") ?? "").split(" ");
  return { begin: Number(begin), period: Number(period), values };
}

/** @param {number} seconds @param {number} period */
function clock(seconds, period) {
  const at = new Date(1000 * seconds);
  if (local) return at.toLocaleTimeString(undefined, { hourCycle: "h23" });
  return at.toISOString().slice(11, period < 60 ? 19 : 16);
}

/** Shows the values of all graphs at the time under the pointer, or the last ones.
 * @param {number | undefined} where share of the width of a graph */
function crossHair(where) {
  for (const g of document.querySelectorAll(".graph")) {
    const { begin, period, values } = data(g);
    const hair = g.querySelector(".hair");
    const output = g.querySelector("output");
    const svg = g.querySelector("svg");
    if (!hair || !output || !svg) continue;
    output.dataset.last ??= output.textContent ?? "";
    const at = where === undefined ? -1 : Math.floor(where * values.length);
    const shown = at >= 0 && at < values.length;
    const x = String(shown ? left + (at / values.length) * width(svg) : 0);
    hair.setAttribute("x1", x);
    hair.setAttribute("x2", x);
    hair.classList.toggle("on", shown);
    const value = () => `${values[at] || "–"} at ${clock(begin + at * period, period)}`;
    output.textContent = shown ? value() : output.dataset.last;
  }
}

/** What is being dragged over. @type {{ svg: SVGSVGElement, from: number, area: SVGRectElement } | undefined} */
let drag;

/** The ends of the dragged part, in shares. @param {MouseEvent} event */
function ends(event) {
  if (!drag) return [0, 0];
  const to = share(drag.svg, event);
  return [Math.min(drag.from, to), Math.max(drag.from, to)].map((s) => Math.min(1, Math.max(0, s)));
}

document.addEventListener("pointerdown", (event) => {
  const svg = under(event);
  if (!svg || event.button !== 0 || event.pointerType === "touch") return; // touching scrolls
  const area = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  area.setAttribute("class", "zoom");
  area.setAttribute("y", "12");
  area.setAttribute("height", String(svg.viewBox.baseVal.height - 12 - 26));
  svg.append(area);
  drag = { svg, from: share(svg, event), area };
});

document.addEventListener("pointermove", (event) => {
  if (drag) {
    const [a, b] = ends(event);
    drag.area.setAttribute("x", String(left + a * width(drag.svg)));
    drag.area.setAttribute("width", String((b - a) * width(drag.svg)));
  }
  const svg = under(event);
  if (svg) crossHair(share(svg, event));
});

document.addEventListener("pointerup", (event) => {
  if (!drag) return;
  const [a, b] = ends(event);
  const graph = drag.svg.closest(".graph");
  const wide = (b - a) * width(drag.svg) > 8;
  drag.area.remove();
  drag = undefined;
  if (wide && graph) zoom(graph, a, b);
});

document.addEventListener("pointercancel", () => {
  drag?.area.remove();
  drag = undefined;
});

document.addEventListener("pointerout", (event) => {
  if (under(event)) crossHair(undefined);
});

document.addEventListener("dblclick", (event) => {
  const link = document.querySelector("a[data-zoom-out]");
  if (under(event) && link instanceof HTMLElement) link.click();
});

/** Opens the page for a part of the time, at least a minute.
 * @param {Element} graph @param {number} a @param {number} b */
function zoom(graph, a, b) {
  const { begin, period, values } = data(graph);
  const from = Math.floor(begin + a * values.length * period);
  const to = Math.max(from + 60, Math.ceil(begin + b * values.length * period));
  const at = new URL(location.href);
  for (const [name, seconds] of Object.entries({ from, to })) {
    at.searchParams.set(name, new Date(1000 * seconds).toISOString().slice(0, 19) + "Z");
  }
  at.searchParams.delete("period"); // that of a long time may be longer than the part
  location.assign(at);
}

// A form in which all metrics are chosen, or none, leaves them out of its address.
document.querySelector("form.choose")?.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.currentTarget);
  const boxes = [...form.querySelectorAll("input[name=show]")].filter((e) => e instanceof HTMLInputElement);
  if (boxes.every((e) => e.checked)) for (const e of boxes) e.disabled = true;
  for (const e of form.elements) {
    if ((e instanceof HTMLInputElement || e instanceof HTMLSelectElement) && !e.value) e.disabled = true;
  }
});
addEventListener("pageshow", () => {
  for (const e of document.querySelectorAll("form.choose :disabled")) e.removeAttribute("disabled");
});

// The properties that come from the style of the page.
const styled = ["fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray", "opacity",
  "visibility", "font-size", "font-family", "text-anchor"];

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-png]");
  const graph = button && button.closest(".graph");
  const svg = graph && graph.querySelector("svg");
  if (!svg) return;
  const title = graph.getAttribute("data-title") ?? "graph";
  const link = document.createElement("a");
  link.href = await picture(svg, title);
  link.download = title.toLowerCase().replaceAll(" ", "-") + ".png";
  link.click();
});

/** A graph with its title as a PNG, in a data URL. @param {SVGSVGElement} svg @param {string} title */
async function picture(svg, title) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const { width: w, height: h } = svg.viewBox.baseVal;
  const from = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((e, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of styled) e.setAttribute(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(w));
  copy.setAttribute("height", String(h));
  const image = new Image();
  image.src = "data:image/svg+xml," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
  await image.decode();
  const scale = 2;
  const canvas = document.createElement("canvas");
  canvas.width = w * scale;
  canvas.height = (h + 28) * scale;
  const to = canvas.getContext("2d");
  if (!to) return "";
  const figure = getComputedStyle(/** @type {Element} */ (svg.closest(".graph")));
  to.scale(scale, scale);
  to.fillStyle = figure.backgroundColor;
  to.fillRect(0, 0, w, h + 28);
  to.fillStyle = figure.color;
  to.font = `600 14px ${figure.fontFamily}`;
  to.fillText(title, 12, 20);
  to.drawImage(image, 0, 28, w, h);
  return canvas.toDataURL("image/png");
}
