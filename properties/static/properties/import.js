/* Asks where an import stands, as long as its page shows a progress bar. */
(() => {
    "use strict";

    const EVERY = 1000; // milliseconds
    const AFTER_SILENCE = 5000;

    async function follow(box) {
        const bar = box.querySelector("progress");
        const text = box.querySelector("p");
        for (;;) {
            let pause = EVERY;
            try {
                const answer = await fetch(box.dataset.progress, { redirect: "error" });
                if (!answer.ok) throw new Error(String(answer.status));
                const now = await answer.json();
                if (now.state !== box.dataset.state) {
                    window.location.replace(window.location.pathname);
                    return;
                }
                if (now.total) {
                    bar.max = now.total;
                    bar.value = now.done;
                }
                if (text.textContent !== now.text) text.textContent = now.text;
            } catch (error) {
                text.textContent = "No answer at the moment; asking again.";
                pause = AFTER_SILENCE;
            }
            await new Promise((resolve) => setTimeout(resolve, pause));
        }
    }

    document.addEventListener("DOMContentLoaded", () => {
        document.querySelectorAll("[data-progress]").forEach(follow);
    });
})();
