"use strict";
// Lists, searches and sorts the mined sets. Data becomes text nodes only, never markup.
(() => {
  const ROWS = 25; // sets on a page
  const PREVIEW = 12; // terms shown in a closed row
  const FIRST = 15; // new names and groups shown first
  const MORE = 100; // shown in addition on demand
  const MEMBERS = 200; // terms shown of an open set; more on demand

  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const sets = data.sets;
  const controls = {
    search: byId("search"),
    kind: byId("kind"),
    order: byId("order"),
    several: byId("several"),
    fresh: byId("fresh"),
  };
  const state = { page: 0, open: new Set(), found: [] };

  const format = new Intl.NumberFormat("en");
  const number = (value) => format.format(value);
  const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

  // Case, accents, hyphens and underscores make no difference to a search.
  const fold = (text) =>
    text
      .normalize("NFKD")
      .replace(/[\u0300-\u036f]/g, "")
      .toLowerCase()
      .replace(/[\s_-]+/g, " ")
      .trim();

  sets.forEach((set, index) => {
    const given = set.terms.map((term) => term.probability).filter((p) => p !== undefined);
    set.index = index;
    set.size = set.terms.length;
    set.count = set.terms.reduce((sum, term) => sum + term.count, 0);
    set.least = given.length ? given.reduce((low, p) => Math.min(low, p)) : null;
    set.title = set.name ?? (set.size ? set.terms[0].text : set.id);
    set.fresh = set.terms.some((term) => !term.known);
    const names = set.terms.map((term) => (term.sense ? `${term.text}\n${term.sense}` : term.text));
    const all = [set.id, set.entity ?? "", set.name ?? "", ...names].join("\n").split("\n");
    set.words = `\n${all.map(fold).join("\n")}\n`;
  });
  const indexOfId = new Map(sets.map((set, index) => [set.id, index]));

  const gained = new Set(data.names.map(([index]) => index));
  const isKnown = (set) => set.terms.some((term) => ["seed", "accepted"].includes(term.action));
  const kinds = {
    all: () => true,
    known: isKnown,
    gained: (set) => gained.has(set.index),
    new: (set) => !isKnown(set),
  };
  const orders = {
    count: (a, b) => b.count - a.count || a.index - b.index,
    size: (a, b) => b.size - a.size || b.count - a.count || a.index - b.index,
    least: (a, b) => (a.least ?? 2) - (b.least ?? 2) || a.index - b.index,
  };
  const sorted = {}; // by order, once each

  // --- New names, groups of unknown terms -------------------------------------------------

  const namesOf = {
    all: () => true,
    content: (term) => term.kind === "abbreviation" || term.kind === "other-words",
    abbreviation: (term) => term.kind === "abbreviation",
    "other-words": (term) => term.kind === "other-words",
  };

  // A table that shows its first rows, and more of them on demand; a menu filters them by kind.
  function growingTable(id, select, noun, all, isKind, rowOf) {
    let items = [];
    let shown = 0;
    const draw = (count) => {
      shown = Math.min(count, items.length);
      byId(`${id}-rows`).replaceChildren(
        ...items.slice(0, shown).map((item, i) => rowOf(item, items[i - 1])),
      );
      const part = shown < items.length ? `${number(shown)} of ` : "";
      const whole = items.length < all.length ? `, of ${number(all.length)} in all` : "";
      byId(`${id}-shown`).textContent = `${part}${counted(items.length, noun)}${whole}`;
      byId(`${id}-more`).parentElement.hidden = shown === items.length;
    };
    const choose = () => {
      items = all.filter((item) => isKind(item, select.value));
      draw(FIRST);
    };
    byId(`${id}-more`).addEventListener("click", () => draw(shown + MORE));
    select.addEventListener("change", choose);
    choose();
    if (!items.length) {
      select.value = "all";
      choose();
    }
  }

  function nameRow([index, place], before) {
    const set = sets[index];
    const term = set.terms[place];
    const name = make("strong", {}, bdi(term.text));
    const about = term.about ? make("span", { class: "quiet" }, term.about) : null;
    const link = make("a", { href: `#set-${encodeURIComponent(set.id)}` }, bdi(set.title));
    const id = set.id === set.title ? null : make("span", { class: "quiet" }, set.id);
    return make(
      "tr",
      { class: before?.[0] === index ? "same" : null },
      make("td", {}, link, id ? " " : null, id),
      make("th", { scope: "row" }, name, about ? " " : null, about),
      make("td", { class: "quoted" }, ...firstSentence(sentencesOf(set)[place])),
      make("td", { class: "right" }, probability(term.probability ?? null)),
    );
  }

  function groupRow([index]) {
    const set = sets[index];
    const first = set.terms.slice(0, PREVIEW);
    const terms = first.flatMap((term, i) => (i ? [", ", bdi(term.text)] : [bdi(term.text)]));
    if (set.size > first.length) terms.push(` and ${number(set.size - first.length)} more`);
    const evidence = sentencesOf(set).flat().filter((sentence) => sentence.length > 4);
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, make("a", { href: `#set-${encodeURIComponent(set.id)}` }, ...terms)),
      make("td", { class: "quoted" }, ...firstSentence(evidence)),
      make("td", { class: "right" }, probability(set.least)),
    );
  }

  function firstSentence(sentences) {
    if (!sentences.length) return [];
    const [document_, before, term, after, relation, page] = sentences[0];
    const text = make("span", { dir: "auto" }, before, make("mark", {}, term), after);
    return [...badgeOf(relation), make("cite", {}, documentLink(document_, page)), " ", text];
  }

  function documentLink(id, page) {
    return page ? make("a", { href: page, target: "_blank", rel: "noreferrer" }, bdi(id)) : bdi(id);
  }

  function badgeOf(relation) {
    return relation ? [make("span", { class: "badge evidence" }, `evidence: ${relation}`), " "] : [];
  }

  // --- What is listed ---------------------------------------------------------------------

  function update() {
    const query = fold(controls.search.value);
    const words = query.split(" ").filter(Boolean);
    const isKind = kinds[controls.kind.value];
    const order = controls.order.value;
    sorted[order] ??= [...sets].sort(orders[order]);
    const found = sorted[order].filter(
      (set) =>
        isKind(set) &&
        (!controls.several.checked || set.size > 1) &&
        (!controls.fresh.checked || set.fresh) &&
        words.every((word) => set.words.includes(word)),
    );
    if (words.length) {
      // A set that is called exactly so comes first.
      const exactly = (set) => set.words.includes(`\n${query}\n`);
      state.found = [...found.filter(exactly), ...found.filter((set) => !exactly(set))];
    } else {
      state.found = found;
    }
    state.page = 0;
    markOrder(order);
    show();
  }

  function show() {
    const pages = Math.max(Math.ceil(state.found.length / ROWS), 1);
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const visible = state.found.slice(state.page * ROWS, (state.page + 1) * ROWS);
    const words = fold(controls.search.value).split(" ").filter(Boolean);
    const rows = visible.flatMap((set) => rowsOf(set, words));
    byId("rows").replaceChildren(...(rows.length ? rows : [emptyRow()]));
    byId("found").textContent =
      state.found.length === sets.length
        ? counted(sets.length, "set")
        : `${number(state.found.length)} of ${counted(sets.length, "set")}`;
    byId("page").textContent = `Page ${number(state.page + 1)} of ${number(pages)}`;
    document.querySelector("#sets .pager").hidden = pages === 1;
    const ends = { first: 0, previous: 0, next: pages - 1, last: pages - 1 };
    for (const [id, end] of Object.entries(ends)) {
      // A disabled button would lose the keyboard's place.
      byId(id).setAttribute("aria-disabled", String(state.page === end));
    }
  }

  function markOrder(order) {
    for (const head of document.querySelectorAll("th[data-order]")) {
      if (head.dataset.order !== order) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", order === "least" ? "ascending" : "descending");
    }
  }

  // --- Rows -------------------------------------------------------------------------------

  function rowsOf(set, words) {
    const open = state.open.has(set.id);
    const detailsId = `details-${set.index}`;
    const button = make(
      "button",
      { type: "button", class: "set-name", "aria-expanded": String(open) },
      bdi(set.title),
    );
    if (open) button.setAttribute("aria-controls", detailsId);
    const row = make(
      "tr",
      { id: `set-${set.id}`, class: open ? "open" : null },
      make(
        "th",
        { scope: "row" },
        button,
        " ",
        make("span", { class: "quiet" }, set.entity ?? set.id),
        open ? null : preview(set, words),
      ),
      make("td", { class: "right" }, number(set.size)),
      make("td", { class: "right optional" }, probability(set.least)),
      make("td", { class: "right optional" }, number(set.count)),
    );
    row.addEventListener("click", (event) => {
      const selecting = String(getSelection()).length > 0;
      if (!selecting && !event.target.closest("a")) toggle(set);
    });
    if (!open) return [row];
    const cell = make("td", { colspan: "4" }, details(set));
    return [row, make("tr", { class: "details", id: detailsId }, cell)];
  }

  function emptyRow() {
    const text = "No set matches. Try other words or fewer filters.";
    return make("tr", {}, make("td", { colspan: "4", class: "nothing" }, text));
  }

  function preview(set, words) {
    const isHit = (term) => {
      const text = fold(term.text);
      return words.some((word) => text.includes(word));
    };
    const hits = words.length ? set.terms.filter(isHit) : [];
    const isIn = new Set(hits);
    const others = set.terms.filter((term) => !isIn.has(term));
    const shown = [...hits, ...others].slice(0, PREVIEW);
    const list = make("ul", { class: "terms" });
    for (const term of shown) {
      const classes = [term.known ? "" : "new", isIn.has(term) ? "hit" : ""];
      const item = make("li", { class: classes.join(" ").trim() || null }, bdi(term.text));
      if (!term.known) item.append(make("span", { class: "unseen" }, " (not in the knowledge base)"));
      list.append(item);
    }
    const more = set.size - shown.length;
    if (more > 0) list.append(make("li", { class: "quiet" }, `and ${number(more)} more`));
    return list;
  }

  function details(set) {
    const address = `#set-${encodeURIComponent(set.id)}`;
    const entity = set.entity === undefined ? "No known entity" : `Entity ${set.entity}`;
    const facts = [entity];
    if (set.id !== set.entity) facts.push(`set ${set.id}`);
    facts.push(counted(set.count, "occurrence"));
    if (set.least !== null) facts.push(`least certain ${probability(set.least)}`);
    const link = make("a", { href: address, "aria-label": `Link to set ${set.id}` }, "Link to this set");
    const list = make("ul", { class: "members" });
    const sentences = sentencesOf(set);
    const more = make("button", { type: "button" });
    const grow = () => {
      const from = list.children.length;
      const added = set.terms.slice(from, from + MEMBERS);
      list.append(...added.map((term, i) => member(term, sentences[from + i] ?? [])));
      const left = set.size - list.children.length;
      more.textContent = counted(left, "more term");
      more.hidden = left === 0;
    };
    more.addEventListener("click", grow);
    grow();
    return make(
      "div",
      { class: "inside" },
      make("p", { class: "quiet facts" }, `${facts.join(" · ")} · `, link),
      list,
      more,
    );
  }

  function member(term, sentences) {
    const name = make("p", {}, make("strong", {}, bdi(term.text)));
    if (term.sense) name.append(" ", make("span", { class: "quiet" }, term.sense));
    const badge = term.known
      ? make("span", { class: "badge" }, "in the knowledge base")
      : make("span", { class: "badge new" }, "not in the knowledge base");
    const kind = term.about ? make("p", { class: "kind" }, bdi(term.about)) : null;
    const about = make("div", { class: "about" }, name, kind, ...figures(term), make("p", {}, badge));
    const quotes = make("div", { class: "quotes" }, ...sentences.slice(0, 1).map(quote));
    const rest = sentences.slice(1);
    if (rest.length) {
      const summary = counted(rest.length, "more sentence");
      quotes.append(make("details", {}, make("summary", {}, summary), ...rest.map(quote)));
    } else if (!sentences.length) {
      quotes.append(make("p", { class: "quiet" }, "No example sentence."));
    }
    return make("li", {}, about, quotes);
  }

  function figures(term) {
    const how = make("p", { class: "quiet" }, data.actions[term.action] ?? term.action);
    if (term.probability !== undefined) {
      const value = make("b", {}, probability(term.probability));
      const unseen = make("span", { class: "unseen" }, " with probability ");
      how.append(unseen, meter(term.probability), value);
    }
    return [how, make("p", { class: "quiet" }, `seen ${counted(term.count, "time")}`)];
  }

  function meter(value) {
    const level = make("span", { class: "level" });
    level.style.width = `${100 * Math.min(Math.max(value, 0), 1)}%`;
    const bar = make("span", { class: "meter", "aria-hidden": "true" }, level);
    if (data.threshold !== null) {
      const mark = make("span", { class: "mark" });
      mark.style.left = `${100 * Math.min(Math.max(data.threshold, 0), 1)}%`;
      bar.append(mark);
    }
    return bar;
  }

  function quote([document_, before, term, after, relation, page]) {
    return make(
      "blockquote",
      {},
      ...badgeOf(relation),
      make("p", { dir: "auto" }, before, make("mark", {}, term), after),
      make("cite", {}, documentLink(document_, page)),
    );
  }

  const blocks = new Map(); // sentences, read when they are first needed

  function sentencesOf(set) {
    const number_ = Math.floor(set.index / data.block);
    if (!blocks.has(number_)) {
      blocks.set(number_, JSON.parse(byId(`sentences-${number_}`).textContent));
    }
    return blocks.get(number_)[set.index % data.block];
  }

  // --- Opening, closing, going to a set ---------------------------------------------------

  function toggle(set) {
    const opens = !state.open.delete(set.id);
    if (opens) state.open.add(set.id);
    show();
    focusRow(set);
    setAddress(opens ? `#set-${encodeURIComponent(set.id)}` : "#sets");
  }

  function focusRow(set) {
    const row = byId(`set-${set.id}`);
    row?.querySelector("button").focus({ preventScroll: true });
    return row;
  }

  function setAddress(hash) {
    try {
      history.replaceState(null, "", hash);
    } catch {
      // Some viewers of local files forbid it; the page works without.
    }
  }

  function goToAddress() {
    let id;
    try {
      id = decodeURIComponent(location.hash);
    } catch {
      return;
    }
    const fold = byId(id.slice(1))?.querySelector("details.fold");
    if (fold) {
      fold.open = true;
      fold.scrollIntoView();
    }
    const index = id.startsWith("#set-") ? indexOfId.get(id.slice(5)) : undefined;
    if (index === undefined) return;
    const set = sets[index];
    if (!state.found.includes(set)) {
      controls.search.value = "";
      controls.kind.value = "all";
      controls.several.checked = controls.fresh.checked = false;
      update();
    }
    state.page = Math.floor(state.found.indexOf(set) / ROWS);
    state.open.add(set.id);
    show();
    focusRow(set).scrollIntoView({ block: "start" });
  }

  // --- Small helpers ----------------------------------------------------------------------

  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== null) element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  // Text of any direction leaves the text around it alone.
  function bdi(text) {
    return make("bdi", {}, text);
  }

  function probability(value) {
    if (value === null) return "–";
    if (value >= 0.995 && value < 1) return "> 0.99";
    if (value > 0 && value < 0.005) return "< 0.01";
    return value.toFixed(2);
  }

  // --- Start ------------------------------------------------------------------------------

  for (const hidden of document.querySelectorAll(".scripted")) hidden.hidden = false;
  document.documentElement.classList.add("live");

  for (const head of document.querySelectorAll("th[data-order]")) {
    const button = make("button", { type: "button" }, head.textContent);
    button.addEventListener("click", () => {
      controls.order.value = head.dataset.order;
      update();
    });
    head.replaceChildren(button);
  }
  controls.search.addEventListener("input", update);
  for (const id of ["kind", "order", "several", "fresh"]) {
    controls[id].addEventListener("change", update);
  }
  const moves = {
    first: () => 0,
    previous: () => state.page - 1,
    next: () => state.page + 1,
    last: () => Infinity,
  };
  for (const [id, move] of Object.entries(moves)) {
    byId(id).addEventListener("click", (event) => {
      if (event.currentTarget.getAttribute("aria-disabled") === "true") return;
      state.page = move();
      show();
      byId("found").scrollIntoView({ block: "start" });
    });
  }
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      controls.search.focus();
    } else if (event.key === "Escape" && event.target === controls.search) {
      controls.search.value = "";
      update();
    }
  });
  document.querySelector("svg.map")?.addEventListener("click", (event) => {
    const id = event.target.closest("circle")?.dataset.set;
    if (id === undefined) return;
    setAddress(`#set-${encodeURIComponent(id)}`);
    goToAddress();
  });
  addEventListener("hashchange", goToAddress);

  if (data.names.length) {
    const isKind = ([index, place], kind) => namesOf[kind](sets[index].terms[place]);
    growingTable("names", byId("name-kind"), "new name", data.names, isKind, nameRow);
  }
  if (data.groups.length) {
    const isKind = ([, inFormOnly], kind) => kind === "all" || !inFormOnly;
    growingTable("groups", byId("group-kind"), "group", data.groups, isKind, groupRow);
  }
  controls.several.checked = sets.some((set) => set.size > 1);
  update();
  goToAddress();
})();
