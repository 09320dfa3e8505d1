// @ts-check
// What the pages do with scripts: live parts, copy buttons, keys, the palette, countdowns, local times. Without scripts
// they are complete pages.

import { hold } from "./held.js";
import { scroll, scrolled } from "./scrolls.js";

const state = document.getElementById("state");

/** @param {string} text @param {boolean} on */
function show(text, on) {
  if (!state) return;
  state.textContent = text;
  state.classList.toggle("on", on);
}

/** Replaces the parts of the page that differ from those of another version of it. @param {Document} next */
function replace(next) {
  prepare(next);
  stale(next);
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = next.getElementById(part.id);
    // A part in which somebody works stays as it is until they leave it.
    const active = document.activeElement;
    if (!other || part.querySelector("details[open]")) continue;
    const fresh = document.importNode(other, true);
    if (hold(part, fresh, facts, update) || (active !== part && part.contains(active))) continue;
    update(part, fresh);
    if (active === part && fresh instanceof HTMLElement) fresh.focus({ preventScroll: true });
  }
}

/** Notes beside a form that what it changes has changed. @param {Document} next */
function stale(next) {
  const now = next.querySelector("input[name=basis]");
  const mine = document.querySelector("input[name=basis]");
  const note = mine?.parentElement?.querySelector("[data-stale]");
  if (!note || !now) return;
  const same = now.getAttribute("value") === mine?.getAttribute("value");
  const text = same ? "" : "It was changed after this form was opened. Reload the page to see what is stored now.";
  if (note.textContent !== text) note.textContent = text;
}

/** Replaces an element, row by row if it has rows with ids, so that those that differ show it.
 * @param {Element} old @param {Element} fresh */
function update(old, fresh) {
  if (plain(old) === plain(fresh)) return;
  const cells = [...fresh.querySelectorAll("tr[id], .figures div")];
  for (const cell of fresh.matches("tr[id]") ? [fresh] : cells) {
    const before = cell.id ? document.getElementById(cell.id) : null;
    if (before && facts(before) !== facts(cell)) cell.classList.add("changed");
  }
  for (const box of old.querySelectorAll("input[type=checkbox][id]:checked")) {
    const same = fresh.querySelector(`#${CSS.escape(box.id)}`);
    if (same instanceof HTMLInputElement) same.checked = true;
  }
  const places = scrolled(old);
  old.replaceWith(fresh);
  scroll(fresh, places);
}

/** The markup without what scripts add. @param {Element} e */
function plain(e) {
  const copy = /** @type {Element} */ (e.cloneNode(true));
  for (const c of copy.querySelectorAll(".changed")) {
    c.classList.remove("changed");
    if (!c.getAttribute("class")) c.removeAttribute("class");
  }
  return copy.outerHTML;
}

/** The text without relative times. @param {Element} e */
function facts(e) {
  const copy = /** @type {Element} */ (e.cloneNode(true));
  for (const t of copy.querySelectorAll("time, [data-left]")) t.remove();
  return copy.textContent;
}

let came = 0; // lines of a log since its stream began
let counted = 0; // of those, at the reading before
let skipped = 0;

/** Shows how many lines of a log came too fast to be shown, if the page is one of a log. */
function count() {
  const note = document.querySelector("[data-skipped]");
  if (!note) return;
  const shown = document.querySelectorAll("#lines tbody tr").length;
  skipped += Math.max(0, came - counted - shown);
  counted = came;
  if (skipped) note.textContent = `Skipped about ${skipped.toLocaleString("en")} lines that came faster than they can be shown.`;
}

/** @type {EventSource | undefined} */
let source;
let reading = false;
let again = false;
let last = 0;
let later = 0; // the timer of a page that lacks something
const pace = 1000 * Number(document.body.dataset.watch ?? 0);

async function refresh() {
  if (Date.now() - last < pace) return; // the stream has a beat: it is not the last time
  if (reading) {
    again = true;
    return;
  }
  reading = true;
  last = Date.now();
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.redirected && !answer.url.includes("/console/")) location.reload();
    if (answer.ok) {
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      replace(next);
      count();
      clearTimeout(later);
      // A shard may be back without a signal to this node.
      if (source && next.querySelector("#missing p")) later = setTimeout(refresh, 1000);
    }
    if (source) show(answer.status < 500 ? "live" : "no answer", answer.status < 500);
  } catch {
    show("reconnecting", false);
  }
  reading = false;
  if (again) {
    again = false;
    setTimeout(refresh, 500);
  }
}

// A hidden page costs nothing: its connection is closed.
function watch() {
  if (document.hidden) {
    source?.close();
    source = undefined;
    show("paused", false);
    return;
  }
  if (source) return;
  source = new EventSource(document.body.dataset.stream ?? "/console/live");
  source.addEventListener("open", () => {
    show("live", true);
    came = counted = 0;
    refresh();
  });
  source.addEventListener("changed", (e) => {
    came = Number(e.data);
    refresh();
  });
  source.addEventListener("error", () => {
    show("reconnecting", false);
    if (source?.readyState !== EventSource.CLOSED) return; // the browser tries again
    source = undefined; // an answer that is no stream: a proxy's, or of a service that starts
    setTimeout(watch, 2000);
  });
}

if ("watch" in document.body.dataset) {
  document.addEventListener("visibilitychange", watch);
  watch();
}

// Countdowns of reservations.
setInterval(() => {
  for (const e of document.querySelectorAll("[data-left]")) {
    const left = Number(e.getAttribute("data-left")) - 1;
    if (left < 0) continue;
    e.setAttribute("data-left", String(left));
    e.textContent = `${left} s left`;
  }
}, 1000);

if (document.querySelector(".graph")) import("./graph.js");

const local = document.documentElement.dataset.times === "local";
const zone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

/** Of the axes of graphs. @type {Intl.DateTimeFormatOptions} */
const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
/** @type {Intl.DateTimeFormatOptions} */
const date = { day: "numeric", month: "short" };

/** Shows what needs scripts, and times in the zone that was chosen. @param {ParentNode} root */
function prepare(root) {
  for (const b of root.querySelectorAll(".copy[hidden]")) b.removeAttribute("hidden");
  if (!local) return;
  for (const t of root.querySelectorAll("text[data-time]")) {
    const at = new Date(1000 * Number(t.getAttribute("data-time")));
    t.textContent = at.toLocaleString(undefined, t.textContent?.includes(":") ? clock : date);
  }
  for (const t of root.querySelectorAll("time[datetime]")) {
    const text = zone.format(new Date(t.getAttribute("datetime") ?? ""));
    if (t.hasAttribute("title")) t.setAttribute("title", text);
    if (t.hasAttribute("data-exact")) t.textContent = text;
  }
}
prepare(document);

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-copy]");
  if (!button) return;
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(button.getAttribute("data-copy") ?? "");
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed: copy by hand"; // browsers refuse it on unencrypted pages
  }
  setTimeout(() => (button.textContent = label), 2000);
});

// The editor: numbers of lines, and the service's opinion 300 ms after the last key.
for (const area of document.querySelectorAll("textarea[data-check], textarea[data-numbers]")) {
  if (area instanceof HTMLTextAreaElement) edit(area);
}

/** @param {HTMLTextAreaElement} area */
function edit(area) {
  const numbers = area.parentElement?.querySelector(".numbers");
  const verdict = document.getElementById("verdict");
  let timer = 0;
  let asked = 0;
  let bad = Number(area.dataset.line ?? 0);
  const number = () => {
    if (!(numbers instanceof HTMLElement)) return;
    numbers.hidden = false;
    const count = area.value.split("\n").length;
    numbers.replaceChildren();
    for (let i = 1; i <= count; i++) {
      const line = document.createElement(i === bad ? "b" : "span");
      line.textContent = String(i);
      numbers.append(line);
    }
    numbers.scrollTop = area.scrollTop;
  };
  const check = async () => {
    const mine = ++asked;
    const form = new URLSearchParams({ body: area.value });
    const answer = await fetch(area.dataset.check ?? "", { method: "POST", body: form }).catch(() => undefined);
    if (mine !== asked || !answer?.ok || !verdict) return;
    const told = await answer.json();
    bad = told.line ?? 0;
    verdict.textContent = told.problem ? (bad ? `Line ${bad}: ` : "") + told.problem : told.summary;
    verdict.className = `verdict ${told.problem ? "bad" : "good"}`;
    area.setAttribute("aria-invalid", String(Boolean(told.problem)));
    number();
  };
  area.addEventListener("input", () => {
    number();
    clearTimeout(timer);
    if (area.dataset.check) timer = setTimeout(check, 300);
  });
  area.addEventListener("scroll", () => numbers && (numbers.scrollTop = area.scrollTop));
  number();
}

// The palette: what the page offers, by its text.
const palette = /** @type {HTMLDialogElement | null} */ (document.getElementById("palette"));
const command = /** @type {HTMLInputElement | null} */ (document.getElementById("command"));
const offers = [...document.querySelectorAll("[data-command]")].filter((e) => e instanceof HTMLElement);
let chosen = 0;

function offer() {
  const words = (command?.value ?? "").toLowerCase().split(/\s+/);
  const list = document.getElementById("commands");
  const found = offers.filter((e) => words.every((w) => describe(e).toLowerCase().includes(w)));
  chosen = Math.max(0, Math.min(chosen, found.length - 1));
  list?.replaceChildren(
    ...found.map((e, i) => {
      const item = document.createElement("li");
      item.id = `command-${i}`;
      item.role = "option";
      item.ariaSelected = String(i === chosen);
      item.textContent = describe(e);
      item.addEventListener("click", () => run(e));
      return item;
    }),
  );
  list?.children[chosen]?.scrollIntoView({ block: "nearest" });
  if (found.length > 0) command?.setAttribute("aria-activedescendant", `command-${chosen}`);
  else command?.removeAttribute("aria-activedescendant");
  return found;
}

/** @param {HTMLElement} e */
function describe(e) {
  const group = e.closest("fieldset")?.querySelector("legend")?.textContent;
  return (group ? group + ": " : "") + (e.textContent ?? "").trim();
}

/** @param {HTMLElement} e */
function run(e) {
  palette?.close();
  e.click();
}

command?.addEventListener("input", () => {
  chosen = 0;
  offer();
});
command?.addEventListener("keydown", (event) => {
  const found = offer();
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(found.length, 1);
    offer();
    event.preventDefault();
  }
});
// At Enter, and at the key that sends a form on other keyboards.
command?.form?.addEventListener("submit", (event) => {
  const found = offer();
  if (found.length === 0) return; // the form searches
  event.preventDefault();
  run(found[chosen]);
});
for (const d of document.querySelectorAll("dialog")) {
  d.addEventListener("click", (event) => {
    if (event.target === d) d.close(); // beside it
  });
}

/** Opens a dialog unless another one is open. @param {string} id */
function open(id) {
  const dialog = document.getElementById(id);
  if (dialog instanceof HTMLDialogElement && !document.querySelector("dialog[open]")) dialog.showModal();
}

/** Moves the focus to the first link of another row. @param {number} by */
function row(by) {
  const rows = [...document.querySelectorAll("main tbody tr")].filter((r) => r.querySelector("a, summary, button"));
  const at = rows.findIndex((r) => r.contains(document.activeElement));
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
  const target = next?.querySelector("a, summary, button");
  if (target instanceof HTMLElement) target.focus();
}

let went = 0;

document.addEventListener("keydown", (event) => {
  if ((event.key === "k" || event.key === "K") && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (command) command.value = "";
    chosen = 0;
    open("palette");
    offer();
    return;
  }
  const typing = event.target instanceof Element && event.target.matches("input:not([type=checkbox]), textarea, select");
  if (typing || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (Date.now() - went < 1500) {
    const page = document.querySelector(`.side a[data-key="${CSS.escape(event.key)}"]`);
    went = 0;
    if (page instanceof HTMLElement) page.click();
    return;
  }
  switch (event.key) {
    case "/":
      event.preventDefault();
      document.getElementById("find")?.focus();
      break;
    case "?":
      open("keys");
      break;
    case "g":
      went = Date.now();
      break;
    case "e": {
      const file = document.querySelector("a[data-csv]");
      if (file instanceof HTMLElement) file.click();
      break;
    }
    case "x": {
      const box = document.activeElement?.closest("tr")?.querySelector("input[type=checkbox]");
      if (box instanceof HTMLElement) box.click();
      break;
    }
    case "j":
      row(1);
      break;
    case "k":
      row(-1);
      break;
  }
});

// A slider sets the field for a number that it belongs to, and follows it.
for (const slider of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("input[data-sets]"))) {
  const field = /** @type {HTMLInputElement} */ (document.getElementById(slider.dataset.sets ?? ""));
  slider.hidden = false;
  slider.addEventListener("input", () => { field.value = slider.value; });
  field.addEventListener("input", () => { slider.value = field.value || "0"; });
}
