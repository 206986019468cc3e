// Accessibility checks that run in the browser: names of controls, contrast, layout on small screens.

/** Returns controls without a name, duplicate names and missing headings. */
export function unnamed() {
  const seen = (e) => e.checkVisibility({ visibilityProperty: true });
  const text = (id) => document.getElementById(id)?.textContent.trim() ?? "";
  const name = (e) => {
    const by = (e.getAttribute("aria-labelledby") ?? "").split(" ").map(text).join(" ").trim();
    return by || e.getAttribute("aria-label") || [...(e.labels ?? [])].map((l) => l.textContent.trim()).join(" ") || (e.matches("a, button, summary") ? e.textContent.trim() : "");
  };
  const faults = [];
  for (const e of document.querySelectorAll("a[href], button, input, select, summary, progress, [role=img], [role=region], [role=group], dialog[open], main section")) {
    if ((seen(e) || e.matches("input")) && !name(e)) faults.push(`no name: ${e.outerHTML.slice(0, 120)}`);
  }
  for (const e of document.querySelectorAll("img:not([alt])")) faults.push(`no alt: ${e.outerHTML}`);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`twice: #${id}`);
  for (const attribute of ["aria-labelledby", "aria-describedby"]) {
    for (const e of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of e.getAttribute(attribute).split(" ")) if (seen(e) && !document.getElementById(id)) faults.push(`${attribute} names #${id}, which is not there`);
    }
  }
  if ([...document.querySelectorAll("h1")].filter(seen).length !== 1) faults.push("there must be one h1");
  return faults;
}

/** Returns texts with too little contrast (WCAG AA). */
export function faint() {
  const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (css) => {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = css;
    brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const c = colour(getComputedStyle(at).backgroundColor);
      if (c[3] === 255) return c;
    }
    return [255, 255, 255, 255];
  };
  const faults = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const e = n.parentElement;
    if (!n.textContent.trim() || !e.checkVisibility({ visibilityProperty: true }) || e.closest(".unseen, noscript, title, option, :disabled, [aria-disabled]")) continue;
    const style = getComputedStyle(e);
    if (style.stroke !== "none" && e.matches("text")) continue; // it has an edge of its own
    const [a, b] = [light(colour(e.matches("text") ? style.fill : style.color)), light(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (ratio < least) faults.push(`${ratio.toFixed(2)}: ${n.textContent.trim().slice(0, 60)}`);
  }
  return faults;
}

/** Returns elements that overflow the screen outside of scrolling areas. */
export function wide() {
  const width = document.documentElement.clientWidth;
  const faults = document.documentElement.scrollWidth > width ? [`the page is ${document.documentElement.scrollWidth} wide`] : [];
  for (const e of document.querySelectorAll("body *")) {
    const box = e.getBoundingClientRect();
    if (!e.checkVisibility() || e.closest(".table, .unseen, .skip")) continue;
    if (box.width > 0 && (box.right > width + 1 || box.left < -1)) faults.push(`from ${Math.round(box.left)} to ${Math.round(box.right)}: ${e.outerHTML.slice(0, 100)}`);
  }
  return faults;
}
