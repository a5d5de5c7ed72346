/* The search for everything: Ctrl K or the button of the header opens it. Each letter asks anew, and
   an older answer never replaces a newer one. Enter opens the first result, also if the answer is
   still on its way; the arrows move along the results. */
addEventListener("DOMContentLoaded", () => {
  "use strict";

  const PAUSE = 150; // milliseconds after the last letter
  const dialog = document.querySelector("#palette");
  if (!dialog) return;
  const input = dialog.querySelector("input");
  const said = dialog.querySelector("[role=status]");
  const found = dialog.querySelector(".cs-palette-found");
  let timer, asked, shown; // shown: the words whose results are there

  const words = () => input.value.trim();
  const links = () => [...found.querySelectorAll("a")];

  async function ask() {
    clearTimeout(timer);
    asked?.abort();
    const mine = (asked = new AbortController());
    const query = words();
    let page = "";
    try {
      if (query) {
        const address = `${dialog.dataset.address}?${new URLSearchParams({ s: query })}`;
        const answer = await fetch(address, { redirect: "error", signal: mine.signal });
        if (!answer.ok) throw new Error(String(answer.status));
        page = await answer.text();
      }
    } catch {
      if (mine.signal.aborted) return false;
      shown = undefined;
      found.replaceChildren();
      said.textContent = dialog.dataset.silent;
      return false;
    }
    if (mine.signal.aborted) return false;
    found.innerHTML = page; // escaped by the template
    shown = query;
    const count = links().length;
    const { one, several } = dialog.dataset;
    said.textContent = count ? (count === 1 ? one : several).replace("#", count) : "";
    return true;
  }

  function open() {
    if (dialog.open) return;
    dialog.showModal();
    input.select();
  }

  function move(step) {
    const all = [input, ...links()];
    const at = all.indexOf(document.activeElement);
    all[Math.min(Math.max(at + step, 0), all.length - 1)].focus();
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  });
  input.addEventListener("keydown", async (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    const query = words();
    if (!query || (shown !== query && !(await ask())) || words() !== query) return;
    links()[0]?.click();
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    move(step);
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-close]")) dialog.close();
  });
  for (const one of document.querySelectorAll("[data-palette]")) one.addEventListener("click", open);
  addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    open();
  });
});
