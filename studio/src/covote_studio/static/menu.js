// On a phone the pages are behind a button.
"use strict";
(() => {
  const burger = document.getElementById("burger");
  if (!burger) return;
  document.documentElement.classList.add("with-menu");
  const here = document.querySelector(".top nav [aria-current]");
  if (here) burger.textContent = `${here.textContent} ▾`;
  const open = (on) => { burger.setAttribute("aria-expanded", String(on)); };
  burger.addEventListener("click", () => open(burger.getAttribute("aria-expanded") !== "true"));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") open(false); });
  document.addEventListener("click", (event) => { if (!event.target.closest(".top")) open(false); });
})();
