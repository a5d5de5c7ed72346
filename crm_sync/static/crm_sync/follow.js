/* A page that moves by itself. What bears `data-part` is asked for anew at the address in
   `data-follow`, and only what differs is written: what stays keeps its focus, its selection, its
   scroll and whether it is folded. Nothing is asked while nobody looks, nor while there is something
   of the kind that `data-still` selects, such as chosen rows, or a text is being selected; nor after
   `data-finished` or `data-next` has come: the latter is a link or a button, which is pressed.
   `data-now` asks for the first time at once. */
(() => {
    "use strict";

    const EVERY = 3000; // milliseconds
    const AFTER_SILENCE = 10000;
    const NOT_OURS = new Set(["open"]); // what a person unfolded

    const isLike = (one, other) =>
        one.nodeType === other.nodeType &&
        one.nodeName === other.nodeName &&
        one.dataset?.key === other.dataset?.key;

    function update(old, fresh) {
        if (old.nodeType !== Node.ELEMENT_NODE) {
            if (old.data !== fresh.data) old.data = fresh.data;
            return;
        }
        for (const { name } of [...old.attributes]) {
            if (!NOT_OURS.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
        }
        for (const { name, value } of fresh.attributes) {
            if (!NOT_OURS.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
        }
        updateChildren(old, fresh);
    }

    function updateChildren(old, fresh) {
        let at = old.firstChild;
        for (const wanted of [...fresh.childNodes]) {
            let found = at;
            while (found && !isLike(found, wanted)) found = found.nextSibling;
            if (!found) {
                old.insertBefore(wanted, at);
                continue;
            }
            while (at !== found) {
                const gone = at;
                at = at.nextSibling;
                gone.remove();
            }
            update(found, wanted);
            at = found.nextSibling;
        }
        while (at) {
            const gone = at;
            at = at.nextSibling;
            gone.remove();
        }
    }

    const isHeld = (still) =>
        still && (document.querySelector(still) || !getSelection().isCollapsed);

    const boxes = () => document.querySelectorAll("tr input.action-select");

    async function ask(address, still) {
        const answer = await fetch(address, { redirect: "manual" });
        if (answer.type === "opaqueredirect") {
            document.dispatchEvent(new Event("session-ended")); // session.js says so
            return;
        }
        if (!answer.ok) throw new Error(String(answer.status));
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (isHeld(still)) return;
        const count = boxes().length;
        for (const part of fresh.querySelectorAll("[data-part]")) {
            const name = CSS.escape(part.dataset.part);
            const old = document.querySelector(`[data-part="${name}"]`);
            if (old) update(old, part);
        }
        // Django's script counts the chosen rows among those that it has seen.
        if (boxes().length !== count) countAgain();
    }

    function countAgain() {
        const parent = document.querySelector(".result-list-wrapper");
        const counter = parent?.querySelector(".action-counter");
        if (!counter || !boxes().length) return;
        counter.dataset.actionsIcnt = boxes().length;
        window.Actions([...boxes()], { parent });
    }

    async function follow(box) {
        const note = document.createElement("p");
        note.className = "cs-silent";
        note.setAttribute("role", "status");
        note.hidden = true;
        note.textContent = document.querySelector("#words").dataset.silent;
        document.body.append(note);
        let pause = "now" in box.dataset ? 0 : Number(box.dataset.every) || EVERY;
        while (!document.querySelector("[data-finished], [data-next]")) {
            await new Promise((resolve) => setTimeout(resolve, pause));
            if (document.hidden || isHeld(box.dataset.still)) continue;
            pause = Number(box.dataset.every) || EVERY;
            try {
                await ask(box.dataset.follow, box.dataset.still);
                note.hidden = true;
            } catch (error) {
                note.hidden = false;
                pause = AFTER_SILENCE;
            }
        }
        document.querySelector("[data-next]")?.click();
    }

    document.addEventListener("DOMContentLoaded", () => {
        document.querySelectorAll("[data-follow]").forEach(follow);
    });
})();
