// The page of a running batch: asks once a second how far it is, until nothing is left to do.
(() => {
  const box = document.querySelector("[data-progress]");
  if (!box || "finished" in box.dataset) return;
  const bar = box.querySelector("[data-bar]");
  const note = box.querySelector("[data-note]");
  const usual = note.textContent;

  const show = (counts) => {
    for (const cell of box.querySelectorAll("[data-count]")) {
      cell.textContent = counts[cell.dataset.count];
    }
    bar.hidden = false;
    bar.max = Math.max(1, counts.total);
    bar.value = counts.done + counts.person;
  };

  const ask = async () => {
    try {
      const answer = await fetch(box.dataset.progress, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(answer.status);
      const counts = await answer.json();
      show(counts);
      note.textContent = usual;
      if (counts.is_finished) return location.reload();
    } catch {
      note.textContent = "This page cannot ask how far it is just now; the work goes on.";
    }
    setTimeout(ask, 1000);
  };
  ask();
})();
