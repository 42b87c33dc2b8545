for (const input of document.querySelectorAll("input[data-filters]")) {
  const rows = document.querySelectorAll(`#${input.dataset.filters} tbody tr`);
  const shown = document.getElementById(input.getAttribute("aria-describedby"));
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      count += !row.hidden;
    }
    shown.textContent = words.length ? `${count} of ${rows.length} shown` : "";
  });
}
