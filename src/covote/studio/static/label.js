// The labelling screen. An answer is kept in this browser until the server has said that it has it.
"use strict";
(() => {
  const desk = document.getElementById("desk");
  const data = JSON.parse(desk.dataset.state);
  const at = (id) => document.getElementById(id);
  const store = data.store;
  let queue = data.leases, done = data.done, left = data.left, sending = false, wait = 1000, timer = 0, keysOn = true;

  // What is not sent yet: one entry of localStorage per answer, so that two tabs never overwrite each other.
  const memory = new Map();
  const outbox = {
    put(entry) {
      memory.set(entry.key, entry);
      try { localStorage.setItem(store + entry.key, JSON.stringify(entry)); } catch { /* private mode: memory only */ }
    },
    drop(key) { memory.delete(key); try { localStorage.removeItem(store + key); } catch { /* nothing kept */ } },
    all() {
      const found = new Map(memory);
      try {
        for (let n = 0; n < localStorage.length; n++) {
          const name = localStorage.key(n);
          if (name.startsWith(store)) { const one = JSON.parse(localStorage.getItem(name)); found.set(one.key, one); }
        }
      } catch { /* nothing readable */ }
      return [...found.values()].sort((a, b) => a.at - b.at);
    },
  };

  function say(text, problem) {
    const place = at("said");
    place.replaceChildren();
    if (!text) return;
    const line = document.createElement("p");
    line.className = problem ? "said problem" : "said";
    line.setAttribute("role", problem ? "alert" : "status");
    line.textContent = text;
    place.append(line);
  }

  function content(lease) {
    const place = at("content");
    let part;
    if (lease.kind === "image") {
      part = document.createElement("img");
      part.alt = "Picture to be labelled: " + lease.key;
      part.addEventListener("load", () => part.classList.toggle("small", part.naturalHeight < 120));
      part.src = lease.content;
    } else if (lease.kind === "audio") {
      part = document.createElement("audio");
      part.controls = true;
      part.src = lease.content;
    } else {
      part = document.createElement("p");
      part.className = "text";
      part.dir = "auto";
      part.textContent = lease.content;
    }
    place.replaceChildren(part);
    at("zoom").hidden = lease.kind !== "image";
  }

  function show() {
    const lease = queue[0];
    at("working").hidden = !lease;
    at("nothing").hidden = Boolean(lease);
    at("counted").textContent = left === null ? `${done.toLocaleString()} answered` : `${done.toLocaleString()} answered, ${left.toLocaleString()} to go`;
    const bar = at("bar");
    if (left !== null) { bar.max = Math.max(1, done + left); bar.value = done; } else bar.hidden = true;
    if (!lease) return;
    content(lease);
    for (const name of ["item", "token"]) at("f-" + name).value = name === "item" ? lease.item_id : lease.token;
    at("f-key").value = lease.answer_key;
    for (const button of document.querySelectorAll(".choice")) {
      const before = lease.chosen !== null && String(lease.chosen) === button.value;
      button.setAttribute("aria-pressed", String(before));
      button.classList.remove("flash");
    }
    at("where").textContent = lease.chosen === null ? lease.key : "Change your answer to " + lease.key;
    at("where").title = lease.key;
    if (at("search")) { at("search").value = ""; filter(); }
    at("content").scrollTop = 0;
    for (const next of queue.slice(1)) if (next.kind === "image") new Image().src = next.content;
  }

  function choose(button) {
    const lease = queue[0];
    if (!lease) return;
    outbox.put({ item: lease.item_id, token: lease.token, key: lease.answer_key, choice: Number(button.value), at: Date.now() });
    if (lease.chosen === null) { done += 1; if (left !== null) left = Math.max(0, left - 1); }
    queue.shift();
    say("");
    at("announce").textContent = "Answered " + button.dataset.name;
    button.classList.add("flash");
    setTimeout(() => { button.classList.remove("flash"); }, 140);
    show();
    flush();
  }

  async function post(url, body) {
    return fetch(url, { method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" }, body: JSON.stringify(body), credentials: "same-origin" });
  }

  function merge(leases) {
    const unsent = new Set(outbox.all().map((one) => one.item));
    const here = new Set(queue.map((one) => one.item_id));
    for (const lease of leases) if (!here.has(lease.item_id) && !unsent.has(lease.item_id)) queue.push(lease);
    const first = at("working").hidden;
    if (first && queue.length) show();
    else for (const next of queue.slice(1)) if (next.kind === "image") new Image().src = next.content;
  }

  async function flush() {
    if (sending) return;
    sending = true;
    clearTimeout(timer);
    try {
      for (let entry = outbox.all()[0]; entry; entry = outbox.all()[0]) {
        const answer = await post("/label/answer", { item: entry.item, token: entry.token, key: entry.key, choice: entry.choice, unsent: outbox.all().length - 1 });
        if (answer.status >= 500 || answer.status === 429) throw new Error("later");
        if (answer.status === 401) { offline("You have been signed out. Your answers are kept on this device; sign in again in this browser."); return; }
        const told = await answer.json();
        outbox.drop(entry.key);
        wait = 1000;
        offline("");
        if (!answer.ok) { say(told.detail, true); await refill(); } else { merge(told.leases); reason(told.reason); }
      }
      if (!queue.length) await refill();
    } catch {
      const count = outbox.all().length;
      offline(`No connection. ${count === 1 ? "One answer is" : count + " answers are"} kept on this device and will be sent again.`);
      timer = setTimeout(flush, wait);
      wait = Math.min(wait * 2, 30000);
    } finally {
      sending = false;
    }
  }

  async function refill() {
    const answer = await post("/label/next", {});
    if (!answer.ok) return;
    const told = await answer.json();
    merge(told.leases);
    reason(told.reason);
    if (!queue.length) show();
  }

  function reason(text) { if (text) at("reason").textContent = text; }
  function offline(text) { at("offline").textContent = text; at("offline").hidden = !text; }

  async function undo() {
    await flush();
    if (outbox.all().length) { say("Undo works again when the connection is back.", true); return; }
    const answer = await post("/label/undo", {}).catch(() => null);
    if (!answer) { offline("No connection; try again in a moment."); return; }
    const told = await answer.json();
    if (!answer.ok) { say(told.detail, true); return; }
    queue = [told.lease, ...queue.filter((one) => one.item_id !== told.lease.item_id)];
    show();
    say("");
    at("where").focus();
  }

  function filter() {
    const wanted = at("search").value.trim().toLowerCase();
    let shown = 0;
    for (const button of document.querySelectorAll("#choices .choice")) {
      const match = button.dataset.name.toLowerCase().includes(wanted);
      button.hidden = !match;
      shown += match;
    }
    at("found").textContent = wanted ? `${shown} found` : "";
  }

  function zoom() {
    const picture = document.querySelector("#content img");
    if (!picture) return;
    at("large").src = picture.src;
    at("large").alt = picture.alt;
    at("large").classList.remove("actual");
    at("zoomed").showModal();
  }

  document.getElementById("answers").addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.submitter && event.submitter.classList.contains("choice")) choose(event.submitter);
  });
  at("undo").addEventListener("click", undo);
  at("zoom").addEventListener("click", zoom);
  at("large").addEventListener("click", () => at("large").classList.toggle("actual"));
  at("close").addEventListener("click", () => at("zoomed").close());
  if (at("search")) {
    at("search").addEventListener("input", filter);
    at("search").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      const first = document.querySelector("#choices .choice:not([hidden])");
      if (first && at("search").value.trim()) choose(first);
    });
  }
  at("keys").addEventListener("change", () => {
    keysOn = at("keys").checked;
    try { localStorage.setItem("covote:keys", String(keysOn)); } catch { /* not remembered */ }
  });
  try { keysOn = localStorage.getItem("covote:keys") !== "false"; } catch { /* as it is */ }
  at("keys").checked = keysOn;
  document.addEventListener("keydown", (event) => {
    if (!keysOn || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.matches("input:not([type=checkbox]), textarea, select") || at("zoomed").open) return;
    const key = event.key.toLowerCase();
    if (key === "/" && at("search")) { event.preventDefault(); at("search").focus(); return; }
    if (key === "u") { undo(); return; }
    if (key === "z") { zoom(); return; }
    const button = document.querySelector(`.choice[data-key="${CSS.escape(key)}"]`);
    if (button) { event.preventDefault(); choose(button); }
  });
  addEventListener("online", flush);
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  // What an earlier visit left unsent goes first; its items are not shown again.
  const unsent = new Set(outbox.all().map((one) => one.item));
  queue = queue.filter((one) => !unsent.has(one.item_id) || one.chosen !== null);
  show();
  if (unsent.size || !queue.length) flush();
})();
