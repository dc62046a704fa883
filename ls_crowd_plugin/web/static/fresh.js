// While a project is being worked on, asks now and then whether that is done, and then loads the page again.
"use strict";
const address = document.body.dataset.busy;
if (address) {
  const ask = async () => {
    try {
      const answer = await fetch(address, { credentials: "same-origin" });
      if (answer.ok && !(await answer.json()).busy) { location.reload(); return; }
    } catch { /* the service is away: ask again */ }
    setTimeout(ask, 1000);
  };
  setTimeout(ask, 1000);
}
