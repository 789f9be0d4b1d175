// Keyboard shortcuts and subject suggestions. Every page works without this file: a shortcut only presses the
// visible button that carries the same data-key.
"use strict";
(() => {
  const typing = (element) =>
    element.isContentEditable || element.matches("textarea, select, input:not([type=submit]):not([type=checkbox])");
  const usable = (element) => !element.disabled && element.getClientRects().length > 0;
  const find = (selector) => Array.from(document.querySelectorAll(selector)).find(usable);

  const moveFocus = (key) => {
    const field = (key === "/" && find("#searchbar")) || find(`[data-focus-key="${CSS.escape(key)}"]`);
    if (field) field.focus();
    return Boolean(field);
  };

  // What opens hands the focus on to the first field that it opened.
  const press = (button) => {
    if (!button.matches("summary")) return button.click();
    button.parentElement.open = true;
    button.parentElement.querySelector("input:not([type=hidden]), textarea, select, button")?.focus();
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat) return;
    if (event.key === "Escape" && event.target.matches("textarea, input")) return event.target.blur();
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
    const button = find(`[data-key~="${CSS.escape(event.key)}"]`);
    if (button) press(button);
    else if (!moveFocus(event.key)) return;
    event.preventDefault();
  });

  for (const opener of document.querySelectorAll("[data-opens]")) {
    opener.addEventListener("click", () => document.getElementById(opener.dataset.opens).showModal());
  }

  // A second press while the first is on its way must not decide twice.
  for (const form of document.querySelectorAll("form.decision, .banner form")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
    });
  }
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  for (const field of document.querySelectorAll("[data-suggest]")) {
    let waiting;
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => suggest(field), 150);
    });
  }

  const suggest = async (field) => {
    const typed = field.value.trim();
    if (!typed) return;
    const answer = await fetch(`${field.dataset.suggest}?q=${encodeURIComponent(typed)}`);
    if (!answer.ok || field.value.trim() !== typed) return;
    const { subjects } = await answer.json();
    field.list.replaceChildren(
      ...subjects.map(({ key, name }) => {
        const option = document.createElement("option");
        option.value = key;
        option.label = name ? `${name} (${key})` : key;
        return option;
      }),
    );
  };
})();

// Decisions that need a reason: without one the press asks for it, and goes on from there.
(() => {
  let waiting;
  for (const button of document.querySelectorAll("button[data-needs-reason]")) {
    const reason = button.form?.elements.namedItem("reason");
    if (!reason) continue;
    button.addEventListener("click", (event) => {
      if (reason.value.trim()) return;
      event.preventDefault();
      waiting = button;
      reason.classList.add("asked-for");
      reason.focus();
    });
    reason.addEventListener("keydown", (event) => {
      if (waiting === button && event.ctrlKey && event.key === "Enter") button.click();
    });
  }
})();

// Rows of a list: going through them, opening and choosing them. What is chosen is kept on the server at once.
(() => {
  const rows = Array.from(document.querySelectorAll("#result_list tbody tr"));
  let at = -1;
  const link = (row) => row?.querySelector("th a, td a");
  const go = (step) => {
    at = Math.min(Math.max(at + step, 0), rows.length - 1);
    rows.forEach((row, place) => row.classList.toggle("at", place === at));
    link(rows[at])?.focus();
  };
  const acts = {
    next: () => go(1),
    previous: () => go(-1),
    choose: () => rows[Math.max(at, 0)]?.querySelector("input[type=checkbox]")?.click(),
    open: () => link(rows[Math.max(at, 0)])?.click(),
  };
  const keys = document.querySelector(".list-keys");
  if (keys && rows.length) {
    keys.hidden = false;
    for (const button of keys.querySelectorAll("button[data-row]")) {
      button.addEventListener("click", () => acts[button.dataset.row]());
    }
  }

  const form = document.querySelector("form[data-choose]");
  if (!form) return;
  const boxes = Array.from(document.querySelectorAll("input[name=chosen]"));
  const keep = async () => {
    const answer = await fetch(form.dataset.choose, {
      method: "POST",
      headers: { Accept: "application/json" },
      body: new FormData(form),
    });
    const { count, message } = await answer.json();
    form.querySelector("[data-count]").textContent = count;
    form.querySelector("[data-message]").textContent = message;
  };
  for (const box of boxes) box.addEventListener("change", keep);
  form.querySelector("[data-choose-all]")?.addEventListener("click", () => {
    for (const box of boxes) box.checked = true;
    keep();
  });
})();
