// JupyterLab and Notebook 7 render a chapter's Markdown with jupyterlab-myst.  This adds what that cannot know:
// the book's numbers in captions, references and citations; captions and alt texts of pictures, which stand in cell
// metadata; folded code cells; and solutions that go on in later cells.  It changes nothing that is saved.
(() => {
  "use strict";
  const NAME = "sequence-models-book";
  const STYLE = `
    .book-caption { margin-bottom: 12px; max-width: 46em;
      padding-left: calc(var(--jp-cell-collapser-width) + var(--jp-cell-prompt-width) + var(--jp-cell-padding) + 4px); }
    .jp-RenderedHTMLCommon caption { text-align: left; min-width: min(30em, 60vw); padding-left: 6px; }
    .book-caption, .jp-RenderedHTMLCommon caption { font-size: var(--jp-content-font-size1); line-height: 1.5; color: var(--jp-content-font-color1); }
    .book-caption .jp-RenderedMarkdown, .book-caption .myst { padding: 0; }
    .book-caption p { margin: 0; }
    .book-number { font-weight: 600; margin-right: .4em; }
    .myst [data-book-reference], [data-book-reference] { color: var(--jp-content-link-color); cursor: pointer; }
    [data-book-reference]:not([data-page]) { color: inherit; cursor: inherit; }
    [data-book-term] { color: inherit !important; text-decoration: underline dotted !important; }
    [data-book-reference] > svg { display: none; }
    [data-book-folded], [data-book-end] { display: none !important; }
    .jp-RenderedSVG img { max-width: 100%; }
    .jp-InputPlaceholder > .jp-Placeholder-content { min-width: 0; }
    .jp-PlaceholderText { text-overflow: ellipsis; }
    .jp-Placeholder-content .jp-MoreHorizIcon { flex: none; }
    [data-jp-theme-light="false"] .jp-RenderedSVG { background: white; width: fit-content; padding: 4px; }
  `;

  // Elements and text nodes belong to React, which writes classes anew: attributes of our own and the data of text are safe.
  const texts = element => [...element.childNodes].filter(child => child.nodeType === Node.TEXT_NODE);
  const write = (element, text) => {
    texts(element).forEach((node, i) => {
      const data = i === 0 ? text : "";
      if (node.data !== data) node.data = data;
    });
  };

  const readable = label => label.replace(/^(tab|fig|eq|chap|sec|ex)-/, "").replace(/[-_]/g, " ");
  const kind = label => ({ tab: "table", fig: "figure", eq: "equation", chap: "chapter" })[label.split("-")[0]] ?? "section";

  class Chapter {
    constructor(app, panel, rendermime, labels) {
      Object.assign(this, { app, panel, notebook: panel.content, rendermime, labels, folded: new WeakSet(), folds: new WeakSet(), opened: new WeakMap() });
      let last = 0;
      const dress = () => { this.waiting = 0; this.dress(); last = performance.now(); };
      const later = () => {  // at once, but seldom while outputs stream in
        this.waiting ||= setTimeout(dress, Math.max(0, last + 150 - performance.now()));
      };
      this.observer = new MutationObserver(later);
      this.observer.observe(this.notebook.node, { childList: true, subtree: true, characterData: true });
      this.notebook.node.addEventListener("toggle", event => { this.remember(event.target); later(); }, true);
      this.notebook.node.addEventListener("click", event => this.follow(event));
      panel.disposed.connect(() => this.observer.disconnect());
      later();
    }

    text(label) {
      const work = /^([a-z]+)(\d{4})[a-z]*$/.exec(label);
      return this.labels[label]?.text ?? (work ? `${work[1][0].toUpperCase()}${work[1].slice(1)} [${work[2]}]`
                                               : `${kind(label)} “${readable(label)}”`);
    }

    dress() {
      let gate = null;  // the opened or closed solution that the cells below still belong to
      for (const cell of this.notebook.widgets) {
        if (cell.model.type === "code") {
          const absent = cell.model.getMetadata("tags")?.includes("remove-cell")
            && !cell.node.querySelector('[data-mime-type="application/vnd.jupyter.error"]');
          cell.node.toggleAttribute("data-book-folded", absent || (gate !== null && !gate.open));
          this.code(cell);
        } else {
          this.restore(cell.node);
          this.prose(cell.node, cell.model.sharedModel.getSource());
          gate = this.fold(cell.node, gate);
        }
      }
    }

    // A cell that is drawn anew, as when its kernel arrives, has its folds closed; those that a reader opened stay open.
    remember(fold) {
      const cell = fold.closest(".jp-MarkdownCell");
      const place = cell ? [...cell.querySelectorAll("details")].indexOf(fold) : -1;
      if (place < 0) return;
      if (!this.opened.has(cell)) this.opened.set(cell, new Set());
      this.opened.get(cell)[fold.open ? "add" : "delete"](place);
    }

    restore(cell) {
      cell.querySelectorAll("details").forEach((fold, place) => {
        if (!this.folds.has(fold) && this.opened.get(cell)?.has(place)) fold.open = true;
        this.folds.add(fold);
      });
    }

    code(cell) {
      const tags = cell.model.getMetadata("tags") ?? [];
      if (tags.some(tag => tag === "hide-input" || tag === "remove-input") && !this.folded.has(cell)) {
        this.folded.add(cell);
        cell.inputHidden = true;
      }
      for (const caption of cell.node.querySelectorAll("table[id] > caption")) {
        this.number(caption, caption.parentElement.id);
        this.prose(caption);
      }
      const said = cell.model.getMetadata("mystnb") ?? {};
      const drawn = cell.node.querySelector(".jp-RenderedSVG img, .jp-RenderedImage img");
      const old = cell.node.querySelector(".book-caption");
      if (!drawn) old?.remove();
      else {
        if (said.image?.alt && drawn.alt !== said.image.alt) drawn.alt = said.image.alt;
        if (said.figure?.caption && !old) this.caption(cell, said.figure);
        else if (old) this.prose(old);
      }
    }

    caption(cell, figure) {
      const place = document.createElement("div");
      place.className = "book-caption";
      place.id = figure.name ?? "";
      const rendered = this.rendermime.createRenderer("text/markdown");
      const number = this.labels[figure.name]?.text ?? "Figure";
      const model = this.rendermime.createModel({ data: { "text/markdown": `**${number}.** ${figure.caption}` } });
      rendered.renderModel(model);
      place.append(rendered.node);
      cell.node.querySelector(".jp-Cell-outputWrapper").after(place);
    }

    number(caption, label) {
      if (caption.querySelector(".book-number")) return;
      const number = document.createElement("span");
      number.className = "book-number";
      number.textContent = `${this.labels[label]?.text ?? "Table"}.`;
      caption.prepend(number);
    }

    // References and citations that jupyterlab-myst did not find, and the numbers it gave to equations and exercises.
    prose(node, source = "") {
      for (const lost of node.querySelectorAll('[title="Cross Reference Not Found"], [title="Citation Not Found"]')) {
        const said = lost.dataset.said ??= lost.textContent.trim();
        const named = [...source.matchAll(/\{ref\}`([^`<]*?)\s*<([^>]+)>`/gs)].find(match => match[1] === said);
        const label = lost.dataset.label = named ? named[2] : said;
        const target = this.labels[label];
        lost.toggleAttribute("data-book-reference", true);
        if (target?.page) lost.dataset.page = target.page;
        write(lost, named ? said : this.text(label));
      }
      for (const code of node.matches("caption") ? node.querySelectorAll("code") : []) {
        const role = code.previousSibling?.data ?? "";
        const match = /^(.*)\{(?:numref|ref|eq|cite:\w+)\}$/s.exec(role);
        if (!match) continue;
        const words = document.createElement("span");
        words.textContent = this.text(code.textContent);
        code.previousSibling.data = match[1];
        code.replaceWith(words);
      }
      for (const line of node.querySelectorAll(".myst p")) {  // {.web-only}, which speaks to the other editions
        const first = line.firstChild;
        if (first?.nodeType !== Node.TEXT_NODE || !/^\{\.[\w-]+\}/.test(first.data)) continue;
        first.data = first.data.replace(/^\{\.[\w-]+\}\s*/, "");
        line.toggleAttribute("data-book-end", !line.textContent);
      }
      // A list of the page's headings stays empty in a cell; JupyterLab has its own at the side.
      const listed = /\{contents\}[^\S\n]*(.+)/.exec(source)?.[1].trim();
      for (const heading of listed ? node.querySelectorAll(".myst .heading-text") : []) {
        if (heading.textContent === listed) heading.closest("h1, h2, h3, h4").toggleAttribute("data-book-end", true);
      }
      for (const equation of node.querySelectorAll(".myst div.flex.my-5.group")) {
        const number = equation.lastElementChild?.querySelector("a");
        const label = this.labels[equation.id]?.text.replace(/^equation /, "");
        if (number) label ? write(number, label) : this.labels.loaded && number.toggleAttribute("data-book-end", true);
      }
      for (const link of node.querySelectorAll('.myst a[href^="#"]')) {
        const target = this.labels[link.hash.slice(1)];
        const own = link.closest("figcaption") && link.title;  // the number in front of a caption
        if (/^(Table|Figure|Exercise) /.test(target?.text) || (/^equation /.test(target?.text) && !link.title)) {
          write(link, own ? `${target.text}.` : target.text);
        } else if (link.matches('.hover-link[href="#"]')) this.term(link, source);
      }
      for (const link of node.querySelectorAll(".myst a.link")) {
        const path = link.dataset.path ??= link.textContent;
        const [, file, place] = /^([^:]+)\.md(?:#(.*))?$/.exec(path) ?? [];
        if (!file) continue;
        const page = this.resolve(file);
        link.toggleAttribute("data-book-reference", true);
        link.dataset.page = page;
        write(link, this.labels[place ? `${page}#${place}` : page]?.text ?? readable(place ?? file.split("/").at(-1)));
      }
    }

    // A word of the glossary says on hovering what it means.
    term(link, source) {
      const said = link.textContent;
      const named = [...source.matchAll(/\{term\}`([^`<]*?)\s*<([^>]+)>`/gs)].find(match => match[1] === said);
      const target = this.labels[`term-${(named ? named[2] : said).toLowerCase().replace(/[^a-z0-9]+/g, "-")}`];
      link.toggleAttribute("data-book-term", true);
      link.dataset.page = target?.page ?? "";
      link.title = target?.says ?? "";
    }

    // A prompt is headed by its own words, and the fold below it says what opening it does.  The renderer may put its
    // own link and words back later, into a heading that has ours.
    prompt(title) {
      const link = title.querySelector("a:not([data-book-end])");
      const [said, answer, bracket] = /^(Solution to |Answer)?Exercise\s*(\()?Pause and predict/.exec(title.textContent) ?? [];
      if (!link || !said) return;
      if (answer) write(title, "Answer");
      else if (bracket) {
        const words = texts(title).filter(node => node.data.trim());
        words[0].data = words[0].data.replace("(", "").trimStart();
        words.at(-1).data = words.at(-1).data.replace(/\)$/, "");
      }
      link.toggleAttribute("data-book-end", true);
    }

    fold(node, gate) {
      const rendered = node.querySelector(".myst");
      if (!rendered) return gate;
      for (const part of rendered.children) {
        const title = part.querySelector(":scope > .myst-exercise-header .myst-exercise-title, :scope > summary .myst-exercise-title");
        if (title?.firstChild) this.prompt(title);
        const start = part.tagName === "DETAILS" && /^(Start of )?Solution to/.test(title?.textContent ?? "");
        const end = title !== null && title.textContent === "" && !part.querySelector(".myst-exercise-body")?.textContent;
        part.toggleAttribute("data-book-folded", gate !== null && !gate.open && !end);
        if (end) {
          part.toggleAttribute("data-book-end", true);
          gate = null;
        } else if (start && title.firstChild.data?.startsWith("Start of ")) {
          part.dataset.gate = "";
          title.firstChild.data = title.firstChild.data.replace("Start of ", "");
        }
        if ("gate" in part.dataset) gate = part;
      }
      return gate;
    }

    follow(event) {
      const link = event.target.closest?.("[data-book-reference], [data-book-term]");
      if (!link?.dataset.page) return;
      event.preventDefault();
      const here = link.dataset.label && document.getElementById(link.dataset.label);
      if (here && this.notebook.node.contains(here)) here.scrollIntoView({ block: "center" });
      else this.app.commands.execute("docmanager:open", { path: [...this.root(), `${link.dataset.page}.md`].join("/") });
    }

    // Pages of the book have names such as chapters/one_head, below the folder that holds them all.
    root() {
      return this.panel.context.path.split("/").slice(0, -2);
    }

    // The page that a relative path leads to from this one.
    resolve(path) {
      const parts = this.panel.context.path.split("/").slice(this.root().length, -1);
      for (const part of path.split("/")) part === ".." ? parts.pop() : part !== "." && parts.push(part);
      return parts.join("/");
    }
  }

  async function activate(app, tracker, rendermime) {
    const style = document.createElement("style");
    style.textContent = STYLE;
    document.head.append(style);
    const config = JSON.parse(document.getElementById("jupyter-config-data").textContent);
    const answer = await fetch(`${config.fullLabextensionsUrl}/${NAME}/static/labels.json`).catch(() => null);
    const labels = answer?.ok ? { ...(await answer.json()), loaded: true } : {};
    const dress = panel => panel.context.ready.then(() => new Chapter(app, panel, rendermime, labels));
    tracker.forEach(dress);
    tracker.widgetAdded.connect((_, panel) => dress(panel));
  }

  let shared;
  const load = async name => {
    const versions = Object.values(shared[name]);
    return (await versions[0].get())();
  };
  (window._JUPYTERLAB ??= {})[NAME] = {
    init: scope => { shared = scope; },
    get: async () => {
      const [{ INotebookTracker }, { IRenderMimeRegistry }] =
        await Promise.all(["@jupyterlab/notebook", "@jupyterlab/rendermime"].map(load));
      const plugin = { id: `${NAME}:chapters`, autoStart: true, requires: [INotebookTracker, IRenderMimeRegistry], activate };
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
