"use strict";
// Follows links and sends forms without a reload: the server's next page replaces this one, and the
// focus stays in place. Keys press the buttons of the page.
(() => {
  const byId = (id) => document.getElementById(id);
  const trouble = byId("trouble");
  const waiting = []; // decisions made while another one was being sent
  let busy = false;

  // --- From page to page ------------------------------------------------------------------

  const openSet = () => byId("page").dataset.set;
  const root = byId("page").dataset.root; // the path above all pages; it stays the same

  // Fetches a page and shows it. An error is shown too, with a button to try again.
  async function load(address, options = {}) {
    if (busy) return;
    busy = true;
    document.documentElement.classList.add("busy");
    try {
      const answer = await fetch(address, { ...options, credentials: "same-origin" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      trouble.hidden = true;
      if (answer.status === 409 || answer.status === 503) waiting.length = 0; // not seen yet
      show(page, answer);
    } catch {
      const message = options.method
        ? "The server does not answer. Nothing was recorded."
        : "The server does not answer.";
      trouble.querySelector("p").textContent = message;
      trouble.querySelector("button").onclick = () => load(address, options);
      trouble.hidden = false;
      say("");
      waiting.length = 0;
    } finally {
      busy = false;
      document.documentElement.classList.remove("busy");
    }
    sendNext();
  }

  // A decision waits for the one before it. It applies only to the set that was open then.
  function decide(address, fields) {
    const set = address === `${root}/decide` ? openSet() : null;
    waiting.push({ address, fields, set });
    if (!busy) sendNext();
  }

  // Undo is meant for what is still on its way.
  function undoNext() {
    waiting.push({ undo: true });
  }

  function sendNext() {
    const next = waiting.shift();
    if (!next) return;
    if (next.undo) return byId("undo").click();
    if (next.set !== null && next.set !== openSet()) return sendNext();
    // The page in between was sent to this reviewer, so its state is what the reviewer saw.
    for (const name of ["seen", "shown"]) {
      const value = document.querySelector(`[name=${name}]`)?.value;
      if (next.fields.has(name) && value !== undefined) next.fields.set(name, value);
    }
    load(next.address, { method: "POST", body: next.fields });
  }

  function show(page, answer) {
    const next = page.getElementById("page");
    if (!next) return location.assign(`${root}/`); // another page, such as that for the name
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
    say(page.getElementById("announcement").textContent, !page.getElementById("toast-undo").hidden);
    if (byId("queue") && opened !== undefined) byId("queue").open = opened;
    focusAgain(place, sameSet);
    if (!sameSet) scrollTo(0, 0);
  }

  // Shows a message, which a screen reader announces; without a text there is none.
  function say(text, undo = false) {
    byId("announcement").textContent = text;
    byId("toast-undo").hidden = !undo;
  }

  // --- The focus --------------------------------------------------------------------------

  function placeOfFocus() {
    const element = document.activeElement;
    return { id: element?.id, term: element?.closest?.(".term")?.id };
  }

  function focusAgain(place, sameSet) {
    const kept = sameSet || ["q", "show", "sort", "kind", "known", "seeded", "filter"].includes(place.id);
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

  // A scope makes a term correct, unless it already has a verdict.
  function judge(term, scope) {
    const select = term.querySelector("[name=scope]");
    select.value = scope;
    const verdict = term.querySelector(".verdicts [aria-pressed=true]");
    (verdict ?? term.querySelector(".verdicts .correct")).click();
  }

  // --- Forms and clicks --------------------------------------------------------------------

  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (form.method === "dialog") return;
    event.preventDefault();
    if (form.id === "undoing") {
      if (busy) return undoNext();
      if (byId("undo").ariaDisabled) return say("There is no decision of yours to undo.");
    }
    const fields = new URLSearchParams(new FormData(form, submitter));
    if (submitter?.value === "split" && !fields.has("term")) {
      say("Tick the terms to split off first.");
      byId("tick-1")?.focus();
      return;
    }
    const address = form.getAttribute("action");
    if (form.method === "post") decide(address, fields);
    else load(`${address}?${fields}`);
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest(`a[href^='${root}/?'], a[href='${root}/']`);
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
    if (link && plain) {
      event.preventDefault();
      if (busy && link.id === "undo") undoNext();
      else load(link.getAttribute("href"));
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

  // --- Start ------------------------------------------------------------------------------

  function prepare() {
    for (const hidden of document.querySelectorAll(".scripted")) hidden.hidden = false;
  }

  document.documentElement.classList.add("live");
  prepare();
  byId("keys-on").checked = keysWork();
  if (matchMedia("(max-width: 60rem)").matches) byId("queue").open = false;
})();
