// A picture at full size: wheel, pinch and pan, contrast, brightness, inverted.
"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const stage = at("stage"), large = at("large");
  const LEAST = 1, MOST = 16;
  let scale = 1, x = 0, y = 0;
  const touching = new Map();

  function draw() {
    const box = stage.getBoundingClientRect();
    const most = { x: Math.max(0, (large.offsetWidth * scale - box.width) / 2), y: Math.max(0, (large.offsetHeight * scale - box.height) / 2) };
    x = Math.min(most.x, Math.max(-most.x, x));
    y = Math.min(most.y, Math.max(-most.y, y));
    large.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    large.style.filter = `contrast(${at("contrast").value}%) brightness(${at("brightness").value}%) invert(${at("invert").checked ? 1 : 0})`;
    at("scale").textContent = `${Math.round(scale * 100)}%`;
  }

  // Enlarge by a factor around a point of the screen, which stays where it is.
  function enlarge(factor, px, py) {
    const box = stage.getBoundingClientRect();
    const next = Math.min(MOST, Math.max(LEAST, scale * factor));
    const cx = px - box.left - box.width / 2, cy = py - box.top - box.height / 2;
    x = cx - (cx - x) * (next / scale);
    y = cy - (cy - y) * (next / scale);
    scale = next;
    draw();
  }
  function centre(factor) {
    const box = stage.getBoundingClientRect();
    enlarge(factor, box.left + box.width / 2, box.top + box.height / 2);
  }
  function reset() {
    scale = 1; x = 0; y = 0;
    at("contrast").value = at("brightness").value = 100;
    at("invert").checked = false;
    draw();
  }

  function open() {
    const picture = document.querySelector("#content img");
    if (!picture) return;
    large.src = picture.src;
    large.alt = picture.alt;
    at("zoomed").showModal();
    history.pushState({ zoomed: true }, ""); // Back closes the picture, and does not leave the page
    reset();
    stage.focus();
  }
  at("zoom").addEventListener("click", open);
  at("content").addEventListener("click", (event) => { if (event.target.matches("img")) open(); });
  at("close").addEventListener("click", () => history.back());
  at("zoomed").addEventListener("cancel", (event) => { event.preventDefault(); history.back(); });
  addEventListener("popstate", () => at("zoomed").close());
  at("plus").addEventListener("click", () => centre(1.5));
  at("minus").addEventListener("click", () => centre(1 / 1.5));
  at("fit").addEventListener("click", reset);
  for (const name of ["contrast", "brightness", "invert"]) at(name).addEventListener("input", draw);

  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    enlarge(Math.exp(-event.deltaY / 300), event.clientX, event.clientY);
  }, { passive: false });
  stage.addEventListener("dblclick", (event) => { if (scale > 1) reset(); else enlarge(3, event.clientX, event.clientY); });
  stage.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    stage.setPointerCapture(event.pointerId);
    touching.set(event.pointerId, event);
  });
  stage.addEventListener("pointermove", (event) => {
    const before = touching.get(event.pointerId);
    if (!before) return;
    if (touching.size === 1) {
      x += event.clientX - before.clientX;
      y += event.clientY - before.clientY;
      draw();
    } else {
      const [other] = [...touching.values()].filter((one) => one.pointerId !== event.pointerId);
      const far = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      enlarge(far(event) / Math.max(1, far(before)), (event.clientX + other.clientX) / 2, (event.clientY + other.clientY) / 2);
    }
    touching.set(event.pointerId, event);
  });
  for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, (event) => touching.delete(event.pointerId));
  stage.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (move) { event.preventDefault(); x += move[0]; y += move[1]; draw(); }
    if (event.key === "+" || event.key === "=") centre(1.5);
    if (event.key === "-") centre(1 / 1.5);
    if (event.key === "0") reset();
    if (event.key.toLowerCase() === "i") { at("invert").checked = !at("invert").checked; draw(); }
  });
})();
