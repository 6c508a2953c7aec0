// What the pages do beside being read: filter (its state is in the address), sort tables, copy commands. Without it all is there.
"use strict";
(function () {
  const box = document.getElementById("find");
  const key = "#find=";
  const rows = document.querySelectorAll("[data-find]");

  function filter(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row) => {
      const held = (row.dataset.find || row.textContent).toLowerCase();
      row.classList.toggle("off", !words.every((word) => held.includes(word)));
    });
  }
  if (box) {
    box.hidden = false;
    box.addEventListener("input", () => {
      filter(box.value);
      history.replaceState(null, "", box.value ? key + encodeURIComponent(box.value) : location.pathname);
    });
    const read = () => {
      if (!location.hash.startsWith(key)) return;
      try { box.value = decodeURIComponent(location.hash.slice(key.length)); } catch { return; } // an address that was cut off
      filter(box.value);
    };
    window.addEventListener("hashchange", read);
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && document.activeElement.tagName !== "INPUT") { event.preventDefault(); box.focus(); }
    });
    read();
  }

  document.querySelectorAll("table.sortable thead th").forEach((head) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const table = head.closest("table"), place = [...head.parentNode.children].indexOf(head);
      const down = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("th[aria-sort]").forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "ascending" : "descending");
      const value = (row) => row.children[place].textContent.trim();
      const body = table.tBodies[0];
      const sorted = [...body.rows].sort((a, b) => value(a).localeCompare(value(b), "en", { numeric: true }));
      body.append(...(down ? sorted : sorted.reverse()));
    });
  });

  document.querySelectorAll("code.command").forEach((command) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy";
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(command);
      document.execCommand("copy");
      button.textContent = "copied";
    });
    command.after(" ", button);
  });
})();
