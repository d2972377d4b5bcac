// Runs before the first paint to avoid a flash of the other theme.
"use strict";
try {
  const kept = localStorage.getItem("theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch {
  // Without storage, the system's theme applies.
}
