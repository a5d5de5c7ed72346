// The tabs on the page of a property. Which one is open stands in the address: "#prices" opens what
// has the id "prices-group", with all that holds it. Without a script all of them are open.
(() => {
  document.documentElement.classList.add("ps-scripted"); // at once, so that nothing is seen to close

  const start = (box) => {
    const panels = [...box.querySelectorAll(".ps-panel")];
    const links = [...box.querySelectorAll(".ps-tabs a, .ps-groups a")];
    const named = (hash) => document.getElementById(`${hash.slice(1)}-group`);

    const swipeTo = (link) => {
      const row = link.parentElement;
      row.scrollLeft = link.offsetLeft - row.offsetLeft - (row.clientWidth - link.clientWidth) / 2;
    };

    // A tab without an input has nothing to save, as long as no other tab has.
    const form = box.closest("form");
    const saving = document.querySelector("#submit-row:has([type=submit])");
    let isChanged = document.querySelector(".ps-questions, .ps-error") !== null;
    const showSaving = () => {
      const isForm = panels.some((panel) => panel.matches("[data-open]:has(input, select, textarea)"));
      saving?.toggleAttribute("hidden", !isForm && !isChanged);
    };

    const open = () => {
      let target = named(location.hash);
      if (!box.contains(target)) target = panels[0];
      // What holds it; and of a panel with groups, the first one.
      const opened = panels.filter((panel) => panel.contains(target));
      for (let inner = target; inner?.matches(".ps-panel"); ) {
        inner = inner.querySelector(".ps-panel");
        if (inner) opened.push(inner);
      }
      for (const panel of panels) panel.toggleAttribute("data-open", opened.includes(panel));
      for (const link of links) {
        const isOpen = opened.includes(named(link.hash));
        if (isOpen) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
        if (isOpen) swipeTo(link);
      }
      showSaving();
      if (!panels.includes(target)) target.scrollIntoView({ block: "start" });
      return opened;
    };

    // Of the inputs that were refused, show one: in the tab that is open, else in the first one.
    const showRefused = () => {
      const wrong = [...box.querySelectorAll(".ps-error")].map((one) => one.closest(".ps-panel"));
      if (!wrong.length) return;
      const panel = wrong.find((one) => one.hasAttribute("data-open")) ?? wrong[0];
      if (!panel.hasAttribute("data-open")) {
        history.replaceState(null, "", `#${panel.id.replace(/-group$/, "")}`);
        open();
      }
      panel.querySelector(".errors :is(input, select, textarea)")?.focus();
    };

    open();
    showRefused();
    // Once more in the widths of the font that is loaded: else the last tab may be cut.
    document.fonts.ready.then(() => links.filter((link) => link.ariaCurrent).forEach(swipeTo));
    addEventListener("hashchange", open);
    form?.addEventListener("input", () => {
      isChanged = true;
      showSaving();
    });
    // The answer to a save opens the same tab: a redirect keeps this part of the address, too.
    form?.addEventListener("submit", ({ submitter }) => {
      const tab = submitter?.name === "_addanother" ? "" : location.hash;
      form.setAttribute("action", location.pathname + location.search + tab);
    });
  };

  addEventListener("DOMContentLoaded", () => document.querySelectorAll("[data-tabs]").forEach(start));
})();
