// Describes the element that has the keyboard.
(() => {
  const colour = text => text.match(/[\d.]+/g).map(Number);
  // Source of the formulas: WCAG 2.2, relative luminance and contrast ratio.
  const luminance = colour => {
    const [r, g, b] = colour.slice(0, 3)
      .map(c => c / 255)
      .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = e => {
    for (; e; e = e.parentElement) {
      const c = colour(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const e = document.activeElement;
  if (!e || e === document.body) return {Index: -1};
  const by = document.getElementById(e.getAttribute("aria-labelledby"));
  const name = e.ariaLabel || by?.textContent || e.labels?.[0]?.textContent || e.textContent;
  const style = getComputedStyle(e);
  const around = [luminance(colour(style.outlineColor)), luminance(background(e.parentElement))];
  const box = e.getBoundingClientRect();
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  let hidden = "";
  if (!e.checkVisibility({visibilityProperty: true, opacityProperty: true})) hidden = "it is not rendered";
  else if (box.width < 1 || box.height < 1) hidden = "it has no size";
  else if (!top || !e.contains(top) && !top.contains(e)) hidden = "it is outside the window or behind another element";
  return {
    Index: [...document.querySelectorAll("*")].indexOf(e),
    Element: e.localName,
    Name: name.trim().replace(/\s+/g, " "),
    Outline: style.outlineStyle,
    Width: parseFloat(style.outlineWidth),
    Contrast: (Math.max(...around) + 0.05) / (Math.min(...around) + 0.05),
    Hidden: hidden,
  };
})()
