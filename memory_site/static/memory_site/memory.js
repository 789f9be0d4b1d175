// Keyboard shortcuts and subject suggestions. Every page works without this file: a shortcut only presses the
// visible button that carries the same data-key.
"use strict";
(() => {
  const typing = (element) =>
    element.isContentEditable || element.matches("textarea, select, input:not([type=submit]):not([type=checkbox])");
  const usable = (element) => !element.disabled && element.getClientRects().length > 0;
  const find = (selector) => Array.from(document.querySelectorAll(selector)).find(usable);

  const moveFocus = (key) => {
    const field = key === "/" ? find("#searchbar") : find(`[data-focus-key="${CSS.escape(key)}"]`);
    if (field) field.focus();
    return Boolean(field);
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat) return;
    if (event.key === "Escape" && event.target.matches("textarea, input")) return event.target.blur();
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    const button = find(`[data-key="${CSS.escape(event.key)}"]`);
    if (button) button.click();
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
