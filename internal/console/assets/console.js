// @ts-check
// What the pages do with scripts: live parts, copy buttons, keys, countdowns. Without scripts they are complete pages.

const state = document.getElementById("state");

/** @param {string} text @param {boolean} on */
function show(text, on) {
  if (!state) return;
  state.textContent = text;
  state.classList.toggle("on", on);
}

/** Replaces the parts of the page that differ from those of another version of it. @param {Document} next */
function replace(next) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = next.getElementById(part.id);
    // A part in which somebody works stays as it is until they leave it.
    const active = document.activeElement;
    if (!other || (active !== part && part.contains(active)) || part.querySelector("details[open]")) continue;
    const fresh = document.importNode(other, true);
    update(part, fresh);
    if (active === part && fresh instanceof HTMLElement) fresh.focus();
  }
  prepare(document);
}

/** Replaces an element, row by row if it has rows with ids, so that those that differ show it.
 * @param {Element} old @param {Element} fresh */
function update(old, fresh) {
  if (plain(old) === plain(fresh)) return;
  for (const cell of fresh.querySelectorAll("tr[id], .figures div")) {
    const before = cell.id ? document.getElementById(cell.id) : null;
    if (before && facts(before) !== facts(cell)) cell.classList.add("changed");
  }
  const moved = [...old.querySelectorAll(".scroll")].map((e) => e.scrollLeft);
  old.replaceWith(fresh);
  fresh.querySelectorAll(".scroll").forEach((e, i) => (e.scrollLeft = moved[i] ?? 0));
}

/** The markup without what scripts add. @param {Element} e */
function plain(e) {
  const copy = /** @type {Element} */ (e.cloneNode(true));
  for (const b of copy.querySelectorAll(".copy")) b.setAttribute("hidden", "");
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

/** @type {EventSource | undefined} */
let source;
let reading = false;
let again = false;

async function refresh() {
  if (reading) {
    again = true;
    return;
  }
  reading = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.redirected && !answer.url.includes("/console/")) location.reload();
    if (answer.ok) replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
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
  source = new EventSource("/console/live");
  source.addEventListener("open", () => {
    show("live", true);
    refresh();
  });
  source.addEventListener("changed", refresh);
  source.addEventListener("error", () => show("reconnecting", false));
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
    e.textContent = `${left}s left`;
  }
}, 1000);

/** Shows the copy buttons. @param {ParentNode} root */
function prepare(root) {
  for (const b of root.querySelectorAll(".copy[hidden]")) b.removeAttribute("hidden");
}
prepare(document);

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.getAttribute("data-copy") ?? "");
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 2000);
});

const pages = { d: "", f: "fleets", s: "game-sessions", p: "players", q: "queues", m: "matchmaking", l: "locations" };
let went = 0;

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.matches("input, textarea, select");
  if (typing || event.altKey) return;
  if (event.key === "/" || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
    event.preventDefault();
    document.getElementById("find")?.focus();
  } else if (event.ctrlKey || event.metaKey) {
    return;
  } else if (event.key === "g") {
    went = Date.now();
  } else if (Date.now() - went < 1500 && event.key in pages) {
    location.href = "/console/" + pages[/** @type {keyof typeof pages} */ (event.key)];
  }
});
