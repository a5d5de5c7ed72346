// Shows the button of a row once another owner is chosen. Without this script each row shows it.
(() => {
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("form[data-save]").forEach((form) => {
      const [button, owner] = [form.querySelector("button"), form.querySelector("select")];
      const saved = owner.value;
      button.hidden = true;
      form.addEventListener("change", () => { button.hidden = owner.value === saved; });
    });
  });
})();
