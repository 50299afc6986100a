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
  if (event.target.closest("[data-back]")) { history.back(); return; }
  const fill = event.target.closest("[data-fill]");
  if (fill) { const field = document.getElementById(fill.dataset.fill); field.value = fill.dataset.text; field.focus(); return; }
  const save = event.target.closest("[data-save]");
  if (save) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([document.getElementById(save.dataset.save).value], { type: "text/csv" }));
    link.download = save.dataset.name;
    link.click();
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
// Whoever signs out leaves no page behind.
if (location.pathname.endsWith("/login") && window.caches) caches.keys().then((names) => names.forEach((one) => caches.delete(one)));
addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent; });

// Forms with data-into show what the server answers in a place of the page.
async function ask(place, address, body) {
  const notice = document.createElement("p");
  try {
    const answer = await fetch(address, { method: body ? "POST" : "GET", body, credentials: "same-origin", headers: { Accept: "application/json" } });
    if (answer.ok) { place.innerHTML = await answer.text(); return; } // made by the server, where every text is escaped
    notice.textContent = (await answer.json()).detail;
  } catch { notice.textContent = "The server did not answer; try again in a moment."; }
  notice.className = "notice problem";
  notice.setAttribute("role", "alert");
  place.replaceChildren(notice);
}
document.addEventListener("submit", async (event) => {
  const place = document.getElementById(event.target.dataset.into);
  if (!place) return;
  event.preventDefault();
  place.textContent = "Working …";
  await ask(place, event.target.action, new FormData(event.target));
  place.scrollIntoView({ block: "nearest" });
});
document.addEventListener("change", (event) => {
  const list = event.target.closest("[data-ask]");
  if (!list) return;
  const ticked = [...list.querySelectorAll("input:checked")].map((one) => ["class", one.value]);
  ask(document.getElementById(list.id.replace(/-list$/, "-again")), `${list.dataset.ask}?${new URLSearchParams(ticked)}`);
});

// A file that was chosen is sent at once.
document.addEventListener("change", (event) => {
  if (event.target.matches("select[data-auto-submit]")) { event.target.form.requestSubmit(); return; }
  if (event.target.matches("input[type=file][data-auto]") && event.target.files.length) {
    const form = event.target.form;
    if (form.dataset.drop !== undefined) sendFiles(form, [...event.target.files].map((file) => [file, file.webkitRelativePath || file.name]));
    else form.requestSubmit();
  }
});

// Files and folders that are dropped anywhere on a page with a place for them.
async function sendFiles(form, files) {
  const state = form.querySelector("[data-state]");
  state.textContent = `Sending ${files.length.toLocaleString()} file${files.length === 1 ? "" : "s"} …`;
  const body = new FormData();
  for (const [file, name] of files) body.append("files", file, name);
  try {
    const answer = await fetch(form.action, { method: "POST", body, credentials: "same-origin", headers: { Accept: "application/json", "X-Sent-By-Script": "yes" } });
    const reply = await answer.json();
    if (answer.ok) location.href = document.documentElement.dataset.root + reply.to;
    else state.textContent = reply.detail;
  } catch { state.textContent = "The files could not be sent; try again in a moment."; }
}

async function filesOf(entry, found) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => { entry.file(resolve, reject); });
    found.push([file, entry.fullPath.replace(/^\//, "")]);
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
    if (!some.length) return;
    for (const one of some) await filesOf(one, found);
  }
}

const dropped = document.querySelector("form[data-drop]");
if (dropped) {
  addEventListener("dragover", (event) => { event.preventDefault(); dropped.classList.add("over"); });
  addEventListener("dragleave", () => { dropped.classList.remove("over"); });
  addEventListener("drop", async (event) => {
    event.preventDefault();
    dropped.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((one) => one.webkitGetAsEntry && one.webkitGetAsEntry()).filter(Boolean);
    const found = [];
    if (entries.length) for (const entry of entries) await filesOf(entry, found);
    else for (const file of event.dataTransfer.files) found.push([file, file.name]);
    if (found.length) sendFiles(dropped, found);
  });
}
