// The figures of the inbox: asked for every five seconds while somebody looks at them.
(() => {
  const box = document.querySelector("[data-live]");
  if (!box) return;
  const note = box.querySelector("[data-note]");

  const ask = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch(box.dataset.live, { credentials: "same-origin" });
        if (!answer.ok || answer.redirected) throw new Error(answer.status);
        const figures = await answer.json();
        for (const cell of box.querySelectorAll("[data-count]")) {
          cell.textContent = figures[cell.dataset.count];
        }
        note.textContent = "";
      } catch {
        note.textContent = "cannot be asked for just now";
      }
    }
    setTimeout(ask, 5000);
  };
  setTimeout(ask, 5000);
})();
