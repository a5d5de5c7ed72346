// What the templates of the admin leave out for people with a keyboard or a screen reader:
// landmarks, and a way to each control that a mouse can press.
const saidByScripts = () => document.querySelector("#words")?.dataset ?? {};

addEventListener("DOMContentLoaded", () => {
  const said = saidByScripts();
  const sidebar = document.querySelector("#nav-sidebar");
  sidebar?.setAttribute("role", "navigation");
  sidebar?.setAttribute("aria-label", said.screens);
  // A landmark within that one, without a name, as is the one of the tabs above some lists.
  document.querySelector("#nav-sidebar-inner")?.setAttribute("role", "presentation");
  // On the pages without a sidebar, such as the login, everything is in #page.
  (document.querySelector("#main") ?? document.querySelector("#page"))?.setAttribute("role", "main");
  const content = document.querySelector("#content");
  if (content) content.tabIndex = -1; // the skip link moves the focus here
  // The browser looks for `autofocus` once, and finds nothing while the layout is still being made.
  if (document.activeElement === document.body) document.querySelector("[autofocus]")?.focus();

  const WORDS = { dock_to_right: said.sidebar, filter_list: said.filters, close: said.close };
  for (const one of document.querySelectorAll("span, div, a:not([href])")) {
    if (!one.hasAttribute("x-on:click") && !one.hasAttribute("@click")) continue;
    if (one.querySelector("a[href], button, input, select")) continue; // it holds the control itself
    one.setAttribute("role", "button");
    one.tabIndex = 0;
    const word = WORDS[one.textContent.trim()];
    if (word) one.setAttribute("aria-label", word);
    one.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      one.click();
    });
  }
});

// Django makes the two lists of a user's groups once the page has loaded; each has an icon that
// explains it. A choice with a search takes the name of the choice that it stands for.
addEventListener("load", () =>
  setTimeout(() => {
    for (const one of document.querySelectorAll(".help-tooltip")) one.setAttribute("role", "img");
    const said = saidByScripts();
    // The script of the scroll bars calls each of its regions "scrollable content".
    for (const one of document.querySelectorAll(".simplebar-content-wrapper")) {
      const panel = one.closest("#changelist-filter");
      one.setAttribute("aria-label", panel ? said.filtersScrollable : said.screensScrollable);
    }
    for (const one of document.querySelectorAll("select.select2-hidden-accessible")) {
      const shown = document.getElementById(`select2-${one.id}-container`);
      if (shown && one.labels[0]) shown.setAttribute("aria-label", one.labels[0].textContent.trim());
    }
  }),
);
