// Texts of a listing: an area grows with its text, and a preview shows the text as paragraphs. What
// somebody typed is only ever set as text: the platform has no markup, and here it is none either.
(() => {
  const TAG = /<\/?[a-z][^>]*>/i;

  const element = (name, className, text) => {
    const made = document.createElement(name);
    made.className = className;
    made.textContent = text;
    return made;
  };

  // A blank line ends a paragraph; a line break within one is kept by its style.
  const paragraphs = (text, className = "") =>
    text.split(/\n\s*\n/).filter((part) => part.trim()).map((part) => element("p", className, part.trim()));

  const watch = (box) => {
    const preview = box.querySelector("[data-preview-of-text]");
    const inputs = new Map(
      [...box.querySelectorAll("input, textarea")].map((input) => [input.name.split(".").pop(), input]),
    );
    const show = () => {
      const parts = [];
      for (const [name, input] of inputs) {
        const text = input.value.trim();
        if (!text || name === "languageCode") continue;
        if (name === "title") parts.push(element("p", "ps-preview-title", text));
        else if (name === "excerpt") parts.push(...paragraphs(text, "ps-preview-lead"));
        else {
          if (name !== "description") parts.push(element("p", "ps-preview-part", input.labels[0].textContent));
          parts.push(...paragraphs(text));
        }
      }
      if (parts.some((part) => TAG.test(part.textContent))) {
        parts.push(element("p", "ps-problem", preview.dataset.markup));
      }
      preview.lang = inputs.get("languageCode")?.value.trim() ?? "";
      preview.replaceChildren(element("p", "ps-preview-head", preview.dataset.head), ...parts);
      preview.hidden = !parts.length;
    };
    box.addEventListener("input", show);
    show();
  };

  const grow = (area) => {
    const fit = () => {
      area.style.height = "auto";
      area.style.height = `${area.scrollHeight + 2}px`; // and its border
    };
    for (const event of ["input", "focus"]) area.addEventListener(event, fit);
  };

  addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-text]").forEach(watch);
    if (CSS.supports("field-sizing", "content")) return; // then the style does it
    document.querySelectorAll("textarea.ps-input").forEach(grow);
  });
})();
