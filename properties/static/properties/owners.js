// Saves an owner as soon as somebody chooses it. Without this script each row has a button.
(() => {
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("form[data-save]").forEach((form) => {
      const button = form.querySelector("button");
      button.hidden = true;
      form.addEventListener("change", () => form.requestSubmit(button));
    });
  });
})();
