/** Element helpers. Text is inserted as text only; the page never parses HTML. */

export const $ = (id) => document.getElementById(id);

/** Create an element with `on…` handlers, `data`, attributes and children (elements or strings). */
export function h(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(made.dataset, value);
    else if (name === "class") made.className = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
}

let numbers = 0;
/** A unique element id. */
export const fresh = (word) => `${word}-${(numbers += 1)}`;

/** Announce a text to screen readers. */
export function announce(text) {
  $("status").textContent = text;
}
