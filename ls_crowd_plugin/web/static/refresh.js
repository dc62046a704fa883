// While a project is being processed, asks now and then whether that is done or there are new results, and then reloads
// the page, unless somebody is filling in a form on it.
"use strict";
const address = document.body.dataset.busy;
const shown = Number(document.body.dataset.resultsAt);  // the time of the results on this page
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
    const state = answer.ok ? await answer.json() : null;
    if (state !== null && (!state.busy || state.results_at !== shown)) { show(); return; }
  } catch { /* the service is away: ask again */ }
  setTimeout(ask, 1000);
};
if (address) { setTimeout(ask, 1000); }
