// Runs before the first paint, so that the page does not flash in the other theme.
"use strict";
try {
  const kept = localStorage.getItem("theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch {
  // A browser that keeps nothing shows what the system wants.
}
