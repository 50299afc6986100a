// Small helpers for the owner's pages; everything works without them, only less conveniently.
"use strict";
document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const field = document.getElementById(copy.dataset.copy);
    try { await navigator.clipboard.writeText(field.value); } catch { field.select(); document.execCommand("copy"); }
    copy.textContent = "Copied";
    return;
  }
  const all = event.target.closest("[data-tick]");
  if (all) {
    const list = document.getElementById(all.dataset.tick);
    for (const box of list.querySelectorAll("label:not([hidden]) input[type=checkbox]")) box.checked = all.dataset.on === "true";
    list.dispatchEvent(new Event("change", { bubbles: true }));
  }
});
document.addEventListener("input", (event) => {
  const search = event.target.closest("[data-filter]");
  if (!search) return;
  const wanted = search.value.trim().toLowerCase();
  for (const line of document.getElementById(search.dataset.filter).querySelectorAll("label"))
    line.hidden = !line.textContent.toLowerCase().includes(wanted);
});
document.addEventListener("submit", (event) => {
  // A double click sends a form once.
  const form = event.target;
  if (event.defaultPrevented || form.dataset.many !== undefined) return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
  setTimeout(() => { delete form.dataset.sent; }, 4000);
});
addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent; });
