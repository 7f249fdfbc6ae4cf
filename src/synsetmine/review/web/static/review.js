"use strict";
// Does what links and forms do, without a reload: the server's next page takes the place of this
// one, and the focus stays where it was. Keys press the buttons that are there.
(() => {
  const byId = (id) => document.getElementById(id);
  const trouble = byId("trouble");
  const waiting = []; // decisions that were made while another one was on its way
  let busy = false;

  // --- From page to page ------------------------------------------------------------------

  const openSet = () => byId("page").dataset.set;
  const root = byId("page").dataset.root; // the path above all pages; it stays the same

  // Fetches a page and shows it. What went wrong on the way is shown too, and can be tried again.
  async function load(address, options = {}, said = "") {
    if (busy) return;
    busy = true;
    document.documentElement.classList.add("busy");
    try {
      const answer = await fetch(address, { ...options, credentials: "same-origin" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      trouble.hidden = true;
      if (answer.status === 409 || answer.status === 503) waiting.length = 0; // he must look first
      show(page, answer);
      announce(answer.ok ? said : "");
    } catch {
      const message = options.method
        ? "The server does not answer. Nothing was recorded."
        : "The server does not answer.";
      trouble.querySelector("p").textContent = message;
      trouble.querySelector("button").onclick = () => load(address, options, said);
      trouble.hidden = false;
      waiting.length = 0;
    } finally {
      busy = false;
      document.documentElement.classList.remove("busy");
    }
    sendNext();
  }

  // A decision waits for the one before it. It was about the set that was open then, and no other.
  function decide(address, fields, said) {
    waiting.push({ address, fields, said, set: address === `${root}/decide` ? openSet() : null });
    if (!busy) sendNext();
  }

  function sendNext() {
    const next = waiting.shift();
    if (!next) return;
    if (next.set !== null && next.set !== openSet()) return sendNext();
    // The page in between is an answer to this reviewer, so its state is what he has seen.
    for (const name of ["seen", "shown", "last"]) {
      const value = document.querySelector(`[name=${name}]`)?.value;
      if (next.fields.has(name) && value !== undefined) next.fields.set(name, value);
    }
    load(next.address, { method: "POST", body: next.fields }, next.said);
  }

  function show(page, answer) {
    const next = page.getElementById("page");
    if (!next) return location.assign(`${root}/`); // a page of another kind, such as that for the name
    const before = byId("page");
    const place = placeOfFocus();
    const sameSet = next.dataset.set === before.dataset.set;
    const opened = byId("queue")?.open;
    before.replaceWith(next);
    document.title = page.title;
    if (answer.redirected || new URL(answer.url).pathname === `${root}/`) {
      history.pushState(null, "", answer.url);
    }
    prepare();
    if (byId("queue") && opened !== undefined) byId("queue").open = opened;
    focusAgain(place, sameSet);
    if (!sameSet) scrollTo(0, 0);
  }

  // The progress is read out after what was done.
  function announce(said) {
    const far = byId("progress")?.textContent ?? "";
    byId("said").textContent = said ? `${said}. ${far}.` : "";
  }

  // --- The focus --------------------------------------------------------------------------

  function placeOfFocus() {
    const element = document.activeElement;
    return { id: element?.id, term: element?.closest?.(".term")?.id };
  }

  function focusAgain(place, sameSet) {
    const kept = sameSet || ["q", "show", "new", "seeded", "filter"].includes(place.id);
    const target =
      (kept && (byId(place.id) ?? byId(place.term))) || byId("set-title") || byId("page");
    target.focus({ preventScroll: true });
    if (target.matches("input[type=search]")) target.setSelectionRange(-1, -1); // its end
    if (kept && target.id === place.id) target.scrollIntoView({ block: "nearest" });
  }

  function terms() {
    return [...document.querySelectorAll(".term")];
  }

  function currentTerm() {
    return document.activeElement?.closest?.(".term");
  }

  function moveToTerm(step) {
    const all = terms();
    const at = all.indexOf(currentTerm());
    const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step;
    const term = all[Math.min(Math.max(next, 0), all.length - 1)];
    term?.focus({ preventScroll: true });
    term?.scrollIntoView({ block: "nearest" });
  }

  // --- Keys -------------------------------------------------------------------------------

  const SCOPES = { 1: "exact", 2: "broad", 3: "narrow", 4: "related" };

  function keysWork() {
    return localStorage.getItem("keys") !== "off";
  }

  function onKey(event) {
    const { key, target } = event;
    const typing = target.matches?.("input:not([type=checkbox]), select, textarea");
    if (key === "Escape" && typing) return target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    if (key !== "?" && !keysWork()) return;
    if (press(key)) event.preventDefault();
  }

  function press(key) {
    if (key === "j" || key === "k") return moveToTerm(key === "j" ? 1 : -1), true;
    if (key === "/") return toSearch(), true;
    const term = currentTerm();
    const ofTerm = term?.querySelector(`[data-term-key="${CSS.escape(key)}"]`);
    if (ofTerm) return ofTerm.click(), true;
    if (term && key === "t") return term.querySelector(".tick").click(), true;
    if (term && SCOPES[key]) return judge(term, SCOPES[key]), true;
    const element = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!element) return false;
    if (element.matches("input")) element.focus();
    else element.click();
    return true;
  }

  function toSearch() {
    if (byId("queue")) byId("queue").open = true;
    byId("q")?.select();
  }

  // A scope is said of a term that is correct, unless something else was said of it.
  function judge(term, scope) {
    const select = term.querySelector("[name=scope]");
    select.value = scope;
    const said = term.querySelector(".verdicts [aria-pressed=true]");
    (said ?? term.querySelector(".verdicts .correct")).click();
  }

  // --- What is pressed --------------------------------------------------------------------

  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (form.method === "dialog") return;
    event.preventDefault();
    if (submitter?.getAttribute("aria-disabled") === "true") return;
    const fields = new URLSearchParams(new FormData(form, submitter));
    if (submitter?.value === "split" && !fields.has("term")) {
      byId("said").textContent = "Tick the terms to split off first.";
      byId("tick-1")?.focus();
      return;
    }
    const address = form.getAttribute("action");
    if (form.method === "post") decide(address, fields, submitter?.dataset.said ?? "");
    else load(`${address}?${fields}`);
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest(`a[href^='${root}/?'], a[href='${root}/']`);
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
    if (link && plain) {
      event.preventDefault();
      load(link.getAttribute("href"));
    }
    if (event.target.closest("#help")) {
      byId("keys").showModal();
      byId("keys").querySelector("form button").focus();
    }
  });

  document.addEventListener("change", (event) => {
    const { target } = event;
    if (target.matches("[data-submits]")) target.form.requestSubmit();
    if (target.matches("[data-judges]")) judge(target.closest(".term"), target.value);
    if (target.id === "keys-on") localStorage.setItem("keys", target.checked ? "on" : "off");
  });

  document.addEventListener("keydown", onKey);
  addEventListener("popstate", () => location.reload());

  // --- Sentences that come later ----------------------------------------------------------

  async function fetchSentences() {
    if (busy || !document.querySelector("[data-waiting]")) return;
    const id = openSet();
    try {
      const answer = await fetch(`${root}/?set=${encodeURIComponent(id)}`);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (openSet() !== id) return;
      for (const old of document.querySelectorAll("[data-waiting]")) {
        const found = page.querySelector(`[data-quotes="${old.dataset.quotes}"]`);
        if (found && !("waiting" in found.dataset)) old.replaceWith(found);
      }
    } catch {
      // The next try may be better.
    }
  }

  // --- Start ------------------------------------------------------------------------------

  function prepare() {
    for (const hidden of document.querySelectorAll(".scripted")) hidden.hidden = false;
  }

  document.documentElement.classList.add("live");
  prepare();
  byId("keys-on").checked = keysWork();
  if (matchMedia("(max-width: 60rem)").matches) byId("queue").open = false;
  setInterval(fetchSentences, 2000);
})();
