// The form that sets fields of many properties: shows the groups and fields that have all words of
// the search. And the page of an edit that is not finished: it goes on by itself.
(() => {
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

  const find = (box) => {
    const groups = [...document.querySelectorAll("[data-group]")];
    const opened = new Map(groups.map((group) => [group, group.open]));
    const none = document.querySelector("[data-none]");
    const show = () => {
      const words = plain(box.value).split(/\s+/).filter(Boolean);
      let found = false;
      for (const group of groups) {
        let inGroup = false;
        for (const block of group.querySelectorAll(".ps-block")) {
          let inBlock = false;
          const above = `${group.dataset.group} ${block.querySelector("h2")?.textContent ?? ""}`;
          for (const field of block.querySelectorAll(".ps-field")) {
            const text = plain(`${above} ${field.querySelector("label")?.textContent ?? ""}`);
            field.hidden = !words.every((word) => text.includes(word));
            inBlock ||= !field.hidden;
          }
          block.hidden = !inBlock;
          inGroup ||= inBlock;
        }
        group.hidden = !inGroup;
        group.open = words.length ? inGroup : opened.get(group);
        found ||= inGroup;
      }
      none.hidden = found;
    };
    const search = (event) => {
      if (event.target !== box) return;
      event.stopPropagation(); // who leaves after a search loses nothing
      show();
    };
    box.form.addEventListener("input", search, true);
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.preventDefault(); // it searches, and sends nothing
    });
    box.form.addEventListener("keydown", (event) => {
      // As in a line of text: browsers do not send a form by Enter from a list of choices.
      if (event.key !== "Enter" || !event.target.matches("select.ps-input")) return;
      event.preventDefault();
      box.form.requestSubmit(box.form.querySelector("button[value=plan]"));
    });
    box.closest("[hidden]")?.removeAttribute("hidden");
    if (!document.querySelector(".ps-error, [role=alert]")) box.focus();
    show();
  };

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-find]").forEach(find);
    document.querySelector("form[data-go-on]")?.requestSubmit();
  });
})();
