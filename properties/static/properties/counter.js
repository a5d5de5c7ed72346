// How much of a limited text is used, and how long one without a limit is. Counts like the server: code points, without the blanks at
// both ends. Shown while somebody types there, and always when the text is nearly full.
(() => {
  const NEAR = 0.9;
  const SHORT = 10; // a code is full when it is right

  const { lang } = document.documentElement;
  const inWords = (number) => number.toLocaleString(lang);
  const filled = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => values[name]);

  const watch = (input) => {
    const limit = Number(input.dataset.limit);
    const counter = document.createElement("p");
    counter.className = "ps-counter";
    counter.setAttribute("aria-live", "polite");
    input.insertAdjacentElement("afterend", counter);
    const show = () => {
      const used = [...input.value.trim()].length;
      if (!limit) {
        const isOne = new Intl.PluralRules(lang).select(used) === "one";
        counter.textContent = filled(isOne ? input.dataset.one : input.dataset.many, { count: inWords(used) });
        counter.hidden = document.activeElement !== input;
        return;
      }
      const tone = used > limit ? "over" : limit > SHORT && used >= NEAR * limit ? "near" : "";
      const over = { used, limit, count: used - limit };
      counter.textContent = used > limit ? filled(input.dataset.over, over) : `${used} / ${limit}`;
      counter.dataset.tone = tone;
      counter.hidden = !tone && document.activeElement !== input;
      input.setAttribute("aria-invalid", String(used > limit));
    };
    for (const event of ["input", "focus", "blur"]) input.addEventListener(event, show);
    show();
  };

  const start = () => document.querySelectorAll("[data-limit], [data-counted]").forEach(watch);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
