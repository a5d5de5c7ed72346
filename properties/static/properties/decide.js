// Shows the result while somebody chooses. The server computes it, and decides nothing yet.
(() => {
  const follow = (form) => {
    const button = form.querySelector("[data-preview-button]");
    const part = form.querySelector('[data-part="result"]');
    if (!button || !part) return;
    const decide = form.querySelector('button[value="CHOSEN"]');
    let last = 0;

    const enable = () => {
      decide.disabled = !form.querySelector("input[type=radio]:checked");
    };

    const preview = async () => {
      enable();
      const turn = (last += 1);
      const chosen = new FormData(form, button);
      try {
        const answer = await fetch(form.action, { method: "POST", body: chosen, redirect: "error" });
        if (!answer.ok) throw new Error(String(answer.status));
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (turn !== last) return; // a later choice is on its way
        part.replaceChildren(...fresh.querySelector('[data-part="result"]').childNodes);
        button.hidden = true;
      } catch (error) {
        button.hidden = false; // by hand then
      }
    };
    form.addEventListener("change", preview);
    form.addEventListener("click", (event) => {
      const side = event.target.closest("[data-every]")?.value;
      if (!side) return;
      event.preventDefault();
      form.querySelectorAll(`input[value="${side}"]`).forEach((one) => (one.checked = true));
      preview();
    });
    button.hidden = true;
    enable();
    window.addEventListener("pageshow", enable); // the browser brings back what was chosen
  };

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("form[data-preview]").forEach(follow);
  });
})();
