// Placing an order: the running sum. All works without it.
(() => {
  "use strict";
  const PARTS = 10000; // of one unit of money: sums of whole numbers are exact
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 4 });

  const filled = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => values[name]);

  // With the separators of the server, which writes the other prices.
  const shown = (amount, texts) => format.formatToParts(amount).map(({ type, value }) => texts[type] ?? value).join("");

  const cost = (sums, times, unpriced, texts) => {
    const amounts = [...sums.keys()].sort().map((currency) => `${shown((sums.get(currency) * times) / PARTS, texts)} ${currency}`.trim());
    const sum = amounts.join(" + ");
    if (!unpriced) return sum;
    return sum ? filled(texts.unpriced, { sum, count: unpriced * times }) : texts.unknown;
  };

  const sum = (table, output) => {
    const texts = JSON.parse(output.dataset.texts);
    const sums = new Map();
    let unpriced = 0;
    for (const row of table.querySelectorAll("tr[data-currency]")) {
      const count = Math.max(0, Number.parseInt(row.querySelector("input").value, 10) || 0);
      if (!count) continue;
      if (row.dataset.amount === "") {
        unpriced += count;
        continue;
      }
      const currency = row.dataset.currency;
      const amount = Math.round(Number(row.dataset.amount) * PARTS) * count;
      sums.set(currency, (sums.get(currency) || 0) + amount);
    }
    const properties = Number(output.dataset.properties);
    const one = cost(sums, 1, unpriced, texts);
    if (!one) output.textContent = texts.nothing;
    else if (properties < 2 || !sums.size) output.textContent = one;
    // The others may have other prices: only the review knows them.
    else output.textContent = filled(texts.several, { one, all: cost(sums, properties, unpriced, texts), count: properties });
  };

  const start = () => {
    const table = document.querySelector("[data-products]");
    if (table) {
      const output = document.querySelector("[data-sum]");
      table.addEventListener("input", () => sum(table, output));
      sum(table, output);
    }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
