// Placing an order: the running sum. All works without it.
(() => {
  "use strict";
  const PARTS = 10000; // of one unit of money: sums of whole numbers are exact
  const shown = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 4 });

  const cost = (sums, times, unpriced) => {
    const texts = [...sums.keys()].sort().map((currency) => `${shown.format((sums.get(currency) * times) / PARTS)} ${currency}`.trim());
    if (unpriced && texts.length) texts.push(`${unpriced * times} without a price`);
    return texts.join(" + ") || (unpriced ? "price unknown" : "");
  };

  const sum = (table, output) => {
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
    const one = cost(sums, 1, unpriced);
    if (!one) output.textContent = "nothing chosen yet";
    else if (properties < 2 || !sums.size) output.textContent = one;
    // The others may have other prices: only the review knows them.
    else output.textContent = `${one} each, about ${cost(sums, properties, unpriced)} for ${properties}`;
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
