// While a project is being processed, asks now and then whether that is done, and then reloads the page, unless somebody
// is filling in a form on it.
"use strict";
const address = document.body.dataset.busy;
let touched = false;
document.addEventListener("input", () => { touched = true; });
const show = () => {
  const inForm = document.activeElement !== null && document.activeElement.closest("form") !== null;
  if (!touched && !inForm) { location.reload(); return; }
  const notice = document.getElementById("busy");
  notice.replaceChildren(Object.assign(document.createElement("a"), {
    href: location.pathname + location.search, textContent: "There is a new result: show it.",
  }));
};
const ask = async () => {
  try {
    const answer = await fetch(address, { credentials: "same-origin" });
    if (answer.status === 401) { return; }
    if (answer.ok && !(await answer.json()).busy) { show(); return; }
  } catch { /* the service is away: ask again */ }
  setTimeout(ask, 1000);
};
if (address) { setTimeout(ask, 1000); }
