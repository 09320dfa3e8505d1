// @ts-check
// The rows of a live table stay where they are while the pointer or the keyboard is among them: new ones collect behind
// a button, and come when it is pressed or the table is left.

/** What puts the newest version of a part in its place, by the id of the part. @type {Map<string, () => void>} */
const held = new Map();

/** Whether the pointer or the keyboard is in the rows of a part. @param {Element | null} part */
const busy = (part) => part?.querySelector("tbody:is(:hover, :focus-within) tr, .new-rows:is(:hover, :focus)") != null;

/** Holds a new version of a part back if it is busy: it changes only the rows that are there, except the one with the
 * focus. @param {Element} part @param {Element} fresh @param {(row: Element) => string} facts the text that identifies
 * a row without an id @param {(old: Element, fresh: Element) => void} update @returns {boolean} whether it is held */
export function hold(part, fresh, facts, update) {
  held.delete(part.id);
  const rows = fresh.querySelectorAll("tbody tr");
  if (!busy(part) || rows.length === 0) return false;
  /** @param {Element} row */
  const key = (row) => row.id || facts(row);
  const known = new Map([...part.querySelectorAll("tbody tr")].map((row) => [key(row), row]));
  let count = 0;
  for (const row of rows) {
    const old = known.get(key(row));
    if (!old) count++;
    else if (!old.contains(document.activeElement)) update(old, /** @type {Element} */ (row.cloneNode(true)));
  }
  held.set(part.id, () => {
    held.delete(part.id);
    update(part, fresh);
  });
  offer(part, count);
  return true;
}

/** Shows how many rows are new. @param {Element} part @param {number} count */
function offer(part, count) {
  const place = part.querySelector("table")?.closest(".scroll") ?? part;
  let button = place.querySelector(".new-rows");
  if (count === 0) return button?.remove();
  if (!button) {
    button = document.createElement("button");
    button.className = "new-rows small";
    button.setAttribute("type", "button");
    button.addEventListener("click", () => held.get(part.id)?.());
    place.append(button);
  }
  button.textContent = `${count} new`;
}

// A table that is left shows what was held back.
for (const event of ["pointerover", "focusin"]) {
  document.addEventListener(event, () => {
    for (const [id, apply] of held) if (!busy(document.getElementById(id))) apply();
  });
}
