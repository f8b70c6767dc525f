// Search: only rows that contain the text are shown, groups that have some are opened, and boxes that lack it are faint.
(function () {
  "use strict";
  var input = document.getElementById("search");
  if (!input) return;
  input.hidden = false;
  function search() {
    var text = input.value.trim().toLowerCase();
    document.querySelectorAll("table.steps tr").forEach(function (row) {
      row.hidden = text !== "" && row.textContent.toLowerCase().indexOf(text) < 0;
    });
    document.querySelectorAll(".graph .box").forEach(function (box) {
      box.classList.toggle("away", text !== "" && box.textContent.toLowerCase().indexOf(text) < 0);
    });
    document.querySelectorAll("details.phase, details.group").forEach(function (group) {
      var found = group.querySelector("tr:not([hidden])") !== null;
      group.hidden = text !== "" && !found;
      if (text !== "" && found) group.open = true;
    });
  }
  input.addEventListener("input", search);
  var due = false; // parts of a live page have been replaced, of which many may come at once
  document.addEventListener("replaced", function () {
    if (due || input.value === "") return;
    due = true;
    requestAnimationFrame(function () { due = false; search(); });
  });
  function reveal() {
    var row = document.getElementById(decodeURIComponent(location.hash.slice(1))) || document.getElementById(location.hash.slice(1));
    for (var at = row; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (row) row.scrollIntoView({ block: "center" });
  }
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();
})();
