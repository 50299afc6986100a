// Keys of the review: j and k move, Enter opens, digits choose a class.
"use strict";
(() => {
  const rows = [...document.querySelectorAll("#queue tbody a")];
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=radio]), textarea, select")) return;
    const key = event.key.toLowerCase();
    if (key === "j" || key === "k") {
      if (rows.length) {
        const place = rows.indexOf(document.activeElement) + (key === "j" ? 1 : -1);
        rows[Math.min(rows.length - 1, Math.max(0, place))].focus();
      } else if (key === "k") history.back();
      else document.getElementById("next")?.click();
      return;
    }
    const choice = document.querySelector(`.pick input[data-key="${CSS.escape(key)}"]`);
    if (choice) { choice.checked = true; choice.focus(); document.getElementById("reason").focus({ preventScroll: true }); event.preventDefault(); }
  });
})();
