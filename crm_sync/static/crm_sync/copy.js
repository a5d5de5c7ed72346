// A button that copies the text of another element. Without a script it stays hidden.
(() => {
  "use strict";
  const select = (element) => getSelection().selectAllChildren(element);

  const copy = async (button) => {
    const element = document.getElementById(button.dataset.copy);
    const status = document.querySelector("[data-copied]");
    try {
      await navigator.clipboard.writeText(element.textContent);
      status.textContent = status.dataset.copied;
    } catch {
      // Over http, or if the person does not allow it, there is no clipboard.
      select(element);
      status.textContent = status.dataset.marked;
    }
  };

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
})();
