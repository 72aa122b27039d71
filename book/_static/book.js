/* Boxes that scroll sideways can be reached and scrolled with the keyboard, and fade where they go on; the others are left alone. */
(() => {
  const NAMES = {".formula": "Formula", "span.math": "Formula", "figure": "Figure", ".pst-scrollable-table-container": "Table", "pre": "Code", ".cell_output > .output": "Output"};
  const ENDING = ", scrolls sideways";

  const atEnd = (box) => box.classList.toggle("at-end", box.scrollLeft + box.clientWidth >= box.scrollWidth - 1);

  /* A formula inside a sentence becomes a box of its own only where it is wider than its column. */
  const widen = (formulas) => {
    const widths = formulas.map((formula) => formula.firstElementChild.getBoundingClientRect().width
      > formula.closest("p, li, td, th, dd, dt, div").clientWidth);
    formulas.forEach((formula, i) => {
      formula.classList.toggle("wide", widths[i]);
      formula.closest(".unbroken")?.classList.toggle("long", widths[i]);
    });
  };

  /* All sizes are read before anything is written: the page is laid out once, not once a box. */
  const mark = () => {
    widen([...document.querySelectorAll("main span.math")]);
    const boxes = Object.entries(NAMES).flatMap(([selector, name]) => [...document.querySelectorAll(`main ${selector}`)].map((box) => [box, name]));
    const scrolling = boxes.map(([box]) => box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== "visible");
    boxes.forEach(([box, name], i) => {
      if (scrolling[i]) {
        box.classList.add("scrolls");
        box.tabIndex = 0;
        if (box.tagName !== "FIGURE") box.setAttribute("role", "group");
        box.setAttribute("aria-label", name + ENDING);
      } else if (box.classList.contains("scrolls")) {
        box.classList.remove("scrolls", "at-end");
        for (const attribute of ["tabindex", "role", "aria-label"]) box.removeAttribute(attribute);
      }
    });
    boxes.forEach(([box], i) => scrolling[i] && atEnd(box));
  };

  let waiting = 0;
  const later = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(mark);
  };

  document.addEventListener("DOMContentLoaded", () => {
    new ResizeObserver(later).observe(document.querySelector("main"));  /* also says the first size */
    document.fonts?.ready.then(later);
    document.addEventListener("toggle", later, true);
    document.addEventListener("scroll", (event) => event.target.classList?.contains("scrolls") && atEnd(event.target), true);
  });

  /* Paper is white, whatever the screen. */
  const root = document.documentElement;
  let onScreen;
  addEventListener("beforeprint", () => { onScreen ??= root.dataset.theme; root.dataset.theme = "light"; });
  addEventListener("afterprint", () => { root.dataset.theme = onScreen; onScreen = undefined; });

  /* From a folder no page may read another, so the search lists titles without excerpts. */
  if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
})();
