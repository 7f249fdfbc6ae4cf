"use strict";
// Sends the forms of the page and shows the answers below them. Without it a form opens its answer.
(() => {
  function query(form) {
    const values = new URLSearchParams();
    for (const field of form.querySelectorAll("[name]")) {
      const texts = "lines" in field.dataset ? field.value.split("\n") : [field.value];
      for (const text of texts) if (text.trim()) values.append(field.name, text.trim());
    }
    return values.size ? `?${values}` : "";
  }

  async function send(form, output) {
    const body = "body" in form.dataset ? form.querySelector("textarea").value : null;
    const address = form.getAttribute("action") + (body === null ? query(form) : "");
    const options = body === null ? {} : {
      method: "POST", body, headers: { "content-type": "application/json" },
    };
    const [line, text] = output.children;
    try {
      const answer = await fetch(address, { ...options, credentials: "same-origin" });
      line.textContent = `${answer.status} · ${address}`;
      text.textContent = JSON.stringify(await answer.json(), null, 2);
    } catch (error) {
      line.textContent = `The server does not answer (${error.message})`;
      text.textContent = "";
    }
    output.hidden = false;
  }

  document.addEventListener("submit", (event) => {
    event.preventDefault();
    const output = event.target.parentElement.querySelector("output");
    send(event.target, output);
  });
})();
