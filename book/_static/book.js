/* Boxes that scroll sideways can be reached and scrolled with the keyboard, and fade where they go on; the others are left alone. */
(() => {
  const NAMES = {".formula": "Formula", "span.math.wide": "Formula", "figure": "Figure", ".pst-scrollable-table-container": "Table", "pre": "Code", ".cell_output > .output": "Output"};

  const atEnd = (box) => box.classList.toggle("at-end", box.scrollLeft + box.clientWidth >= box.scrollWidth - 1);

  /* A formula inside a sentence becomes a box of its own only where it is wider than its column. */
  const widen = () => {
    for (const formula of document.querySelectorAll("main span.math")) {
      const column = formula.closest("p, li, td, th, dd, dt, div");
      const wide = formula.firstElementChild.getBoundingClientRect().width > column.clientWidth;
      formula.classList.toggle("wide", wide);
      formula.closest(".unbroken")?.classList.toggle("long", wide);
    }
  };

  const mark = () => {
    widen();
    for (const [selector, name] of Object.entries(NAMES)) {
      for (const box of document.querySelectorAll(`main ${selector}`)) {
        const scrolls = box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== "visible";
        box.classList.toggle("scrolls", scrolls);
        atEnd(box);
        if (scrolls) {
          box.tabIndex = 0;
          if (box.tagName !== "FIGURE") box.setAttribute("role", "group");
          box.setAttribute("aria-label", `${name}, scrolls sideways`);
        } else if (box.getAttribute("aria-label")?.endsWith(", scrolls sideways")) {
          for (const attribute of ["tabindex", "role", "aria-label"]) box.removeAttribute(attribute);
        }
      }
    }
  };

  document.addEventListener("DOMContentLoaded", () => {
    mark();
    document.fonts?.ready.then(mark);
    new ResizeObserver(mark).observe(document.querySelector("main"));
    document.addEventListener("toggle", mark, true);
    document.addEventListener("scroll", (event) => event.target.classList?.contains("scrolls") && atEnd(event.target), true);
  });

  /* From a folder no page may read another, so the search lists titles without excerpts. */
  if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
})();
