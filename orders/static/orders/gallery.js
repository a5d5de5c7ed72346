/* The pictures of a gallery, one by one: by keyboard, by swipe or by button. Without this script a
   tile leads to its picture alone. The tiles are looked up at each step, since a page may move.
   The texts stand at the gallery, in the language of the page. */
(() => {
    "use strict";

    const FAR = 40; // pixels of a swipe
    const KEYS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    let box, image, caption, place, links, quality, close, gallery, current, touch;
    let isLarge = false;

    const tiles = () => [...gallery.querySelectorAll("a[data-view]")];
    const key = (tile) => tile.closest("[data-key]").dataset.key;

    function make(name, properties, ...children) {
        const one = Object.assign(document.createElement(name), properties);
        one.append(...children);
        return one;
    }

    function build() {
        const said = gallery.dataset;
        image = make("img", { className: "og-image", alt: "" });
        caption = make("strong", { className: "og-caption" });
        place = make("span", { className: "cs-subtle" });
        links = make("span", { className: "og-save" });
        quality = make("button", { type: "button", className: "cs-quiet" });
        quality.addEventListener("click", () => {
            isLarge = !isLarge;
            show(0);
        });
        close = make("button", { type: "button", className: "cs-quiet", textContent: said.textClose });
        close.addEventListener("click", () => box.close());
        const step = (by, text, label) => {
            const one = make("button", { type: "button", className: "cs-quiet og-step", textContent: text });
            one.setAttribute("aria-label", label);
            one.addEventListener("click", () => show(by));
            return one;
        };
        const status = make("p", { className: "og-said" }, caption, place);
        status.setAttribute("role", "status");
        box = make(
            "dialog",
            { className: "og-viewer" },
            make("header", {}, status, make("div", { className: "cs-buttons" }, links, quality, close)),
            make("div", { className: "og-stage" }, step(-1, "‹", said.textBefore), image, step(1, "›", said.textNext)),
        );
        box.setAttribute("aria-label", said.textPictures);
        box.addEventListener("pointerdown", (event) => (touch = event.pointerType === "mouse" ? null : event.clientX));
        box.addEventListener("pointerup", (event) => {
            if (touch === null || touch === undefined) return;
            const moved = event.clientX - touch;
            touch = null;
            if (Math.abs(moved) > FAR) show(moved < 0 ? 1 : -1);
        });
        box.addEventListener("close", () => tiles().find((one) => key(one) === current)?.focus());
        document.body.append(box);
    }

    function show(by) {
        const all = tiles();
        const was = Math.max(0, all.findIndex((one) => key(one) === current));
        const now = Math.min(all.length - 1, Math.max(0, was + by));
        const tile = all[now];
        if (!tile) return box.close();
        const { view, large } = tile.dataset;
        const said = gallery.dataset;
        current = key(tile);
        image.src = isLarge && large ? large : view;
        image.alt = caption.textContent = tile.querySelector(".og-name").textContent;
        place.textContent = said.textPlace.replace("{number}", now + 1).replace("{count}", all.length);
        quality.hidden = !large;
        quality.textContent = isLarge ? said.textWeb : said.textHd;
        if (links.contains(document.activeElement)) close.focus(); // it is replaced now
        const save = tile.closest("li").querySelectorAll(".og-versions > span");
        links.replaceChildren(said.textSave, ...[...save].map((one) => one.cloneNode(true)));
        if (all[now + 1]) new Image().src = all[now + 1].dataset.view;
    }

    document.addEventListener("keydown", (event) => {
        if (!box?.open || !(event.key in KEYS)) return;
        event.preventDefault();
        show(KEYS[event.key]);
    });

    document.addEventListener("click", (event) => {
        const tile = event.target.closest?.("a[data-view]");
        if (!tile || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        gallery = tile.closest("[data-gallery]");
        if (!box) build();
        current = key(tile);
        show(0);
        box.showModal();
        close.focus();
    });
})();
