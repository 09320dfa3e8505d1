// @ts-check
// Tables and lists that scroll by themselves keep their place when a new version replaces them, and when the page is
// read again or returned to. Browsers keep only the place of the whole page.

const scrolling = ".scroll, .list, .tabs, .side, pre";

/** The elements that scroll, by the nearest id and their number there. @param {ParentNode} root */
function scrollers(root) {
  /** @type {Map<string, Element>} */
  const found = new Map();
  for (const e of [root, ...root.querySelectorAll(scrolling)]) {
    if (!(e instanceof Element) || !e.matches(scrolling)) continue;
    const id = e.closest("[id]")?.id;
    let number = 0;
    while (found.has(`${id} ${number}`)) number++;
    found.set(`${id} ${number}`, e);
  }
  return found;
}

/** How far the elements are scrolled that are. @param {ParentNode} root @returns {Record<string, number[]>} */
export function scrolled(root) {
  const all = [...scrollers(root)].filter(([, e]) => e.scrollLeft || e.scrollTop);
  return Object.fromEntries(all.map(([key, e]) => [key, [e.scrollLeft, e.scrollTop]]));
}

/** Scrolls the elements again. @param {ParentNode} root @param {Record<string, number[]>} places of scrolled */
export function scroll(root, places) {
  for (const [key, e] of scrollers(root)) [e.scrollLeft, e.scrollTop] = places[key] ?? [0, 0];
}

const key = `scrolled ${location.href}`;

try {
  const store = sessionStorage;
  addEventListener("pagehide", () => store.setItem(key, JSON.stringify(scrolled(document))));
  const [visit] = performance.getEntriesByType("navigation");
  const again = visit instanceof PerformanceNavigationTiming && visit.type !== "navigate"; // back, forward, or reloaded
  if (again) scroll(document, JSON.parse(store.getItem(key) ?? "{}"));
} catch {
  // The browser stores nothing for this site: tables begin at the left.
}
