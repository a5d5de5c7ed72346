/* Asks before each form of the admin is sent whether the session is still open. If it has ended,
   nothing is sent, the form keeps what was typed, and a note leads to the login in another tab. After
   it the note goes away, and the forms get the new token. A page that updates itself fires
   `session-ended` when it finds out first. Without an answer the form is sent as always. */
(() => {
    "use strict";

    const { session: ADDRESS } = document.currentScript.dataset;
    const EVERY = 5000; // milliseconds
    const DOUBLE_CLICK = 500; // milliseconds within which a form is sent once
    const TOKENS = "[name=csrfmiddlewaretoken]";

    const note = document.createElement("p");
    let again; // the timer of the next question
    let isAsking = false;
    let sent; // the form of the last moment
    let isOpen = false; // only while a form is sent that has been asked about

    async function ask() {
        clearTimeout(again);
        const answer = await fetch(ADDRESS, { redirect: "manual" }).catch(() => null);
        const hasEnded = answer?.type === "opaqueredirect";
        if (hasEnded) {
            if (!note.isConnected) document.body.append(note); // a note that moves loses a click
            again = setTimeout(ask, EVERY);
        } else {
            note.remove();
        }
        const token = answer?.headers.get("X-CSRFToken");
        for (const input of token ? document.querySelectorAll(TOKENS) : []) input.value = token;
        return !hasEnded;
    }

    async function hold(event) {
        const { target: form, submitter } = event;
        if (isOpen || !form.querySelector(TOKENS)) return;
        event.preventDefault();
        event.stopImmediatePropagation(); // the other scripts see the form when it is sent
        if (isAsking || form === sent) return;
        isAsking = true;
        isOpen = await ask();
        isAsking = false;
        try {
            if (isOpen) {
                sent = form;
                setTimeout(() => { sent = null; }, DOUBLE_CLICK);
                form.requestSubmit(submitter);
            }
        } finally {
            isOpen = false;
        }
    }

    note.className = "cs-silent";
    note.setAttribute("role", "alert");
    note.append(document.querySelector("#logged-out").content.cloneNode(true));
    document.addEventListener("session-ended", ask);
    document.addEventListener("submit", hold, true);
})();
