// Reads the parts of the page again that have data-live, and lends commandfor to browsers without it. Everything works without this script.
const every = 2000, slow = 30000, speakEvery = 10000;
const spoken = document.getElementById("spoken"), stale = document.getElementById("stale");
const tags = new Map();
let failed = 0, saidAt = 0, saidText = "";

// Read by people: a form that was changed, an open dialog or selected text must not be replaced.
function busy(part) {
  if (document.hidden || document.querySelector("dialog[open]")) return true;
  if (document.querySelector("form[data-dirty]")) return true;
  const selected = getSelection();
  if (selected && !selected.isCollapsed && part.contains(selected.anchorNode)) return true;
  return part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");
}

function speak(text) {
  const now = Date.now();
  if (!text || text === saidText || now - saidAt < speakEvery) return;
  saidAt = now;
  saidText = text;
  spoken.textContent = text;
}

async function read(part) {
  const url = new URL(location.href);
  url.searchParams.set("live", part.dataset.live);
  url.searchParams.delete("said");
  url.hash = "";
  const headers = {};
  if (tags.has(part.dataset.live)) headers["If-None-Match"] = tags.get(part.dataset.live);
  const answer = await fetch(url, {headers, redirect: "error", signal: AbortSignal.timeout(15000)});
  if (answer.status === 304) return;
  if (!answer.ok) throw new Error(answer.status);
  const text = await answer.text();
  if (busy(part)) return;
  tags.set(part.dataset.live, answer.headers.get("ETag"));
  replace(part, text);
  const say = part.querySelector("[data-say]");
  if (say) speak(say.dataset.say);
}

// Keeps which details are open, and the focus.
const named = e => e.id ? "#" + CSS.escape(e.id) : e.getAttribute("href") ? `a[href="${CSS.escape(e.getAttribute("href"))}"]` : null;
function replace(part, text) {
  const open = [...part.querySelectorAll("details[open]")].map(d => d.id).filter(Boolean);
  const focused = part.contains(document.activeElement) ? named(document.activeElement) : null;
  const scrolled = [...part.querySelectorAll("[data-scroll]")].map(e => e.scrollLeft);
  part.innerHTML = text;
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (focused) part.querySelector(focused)?.focus({preventScroll: true});
  part.querySelectorAll("[data-scroll]").forEach((e, i) => { e.scrollLeft = scrolled[i] || 0; });
}

async function round() {
  let good = 0, bad = 0;
  for (const part of document.querySelectorAll("[data-live]")) {
    if (busy(part)) continue;
    try {
      await read(part);
      good++;
    } catch {
      bad++;
    }
  }
  if (bad) failed++;
  else if (good) failed = 0;
  if (stale) stale.hidden = failed < 3;
  setTimeout(round, Math.min(every * 2 ** Math.min(failed, 5), slow));
}
if (document.querySelector("[data-live]")) setTimeout(round, every);
document.addEventListener("visibilitychange", () => { failed = 0; });

// A form that was typed into stops the reading; one that is sent cannot be sent again from here.
const changed = e => e.type === "checkbox" ? e.checked !== e.defaultChecked : e.value !== (e.defaultValue ?? e.value);
document.addEventListener("input", e => e.target.form?.method === "post" && e.target.form.toggleAttribute("data-dirty", [...e.target.form.elements].some(changed)));
document.addEventListener("reset", e => e.target.removeAttribute("data-dirty"));
document.addEventListener("submit", e => {
  if (e.target.method !== "post") return;
  if (e.target.dataset.sent) { e.preventDefault(); return; }
  e.target.dataset.sent = "1";
  e.submitter?.setAttribute("aria-disabled", "true");
});
addEventListener("pageshow", e => { // back from the next page
  if (!e.persisted) return;
  for (const f of document.querySelectorAll("form[data-sent]")) delete f.dataset.sent;
  for (const b of document.querySelectorAll("[aria-disabled]")) b.removeAttribute("aria-disabled");
});

if (!("commandForElement" in HTMLButtonElement.prototype)) {
  document.addEventListener("click", e => {
    const button = e.target.closest("button[commandfor]");
    const dialog = button && document.getElementById(button.getAttribute("commandfor"));
    if (!dialog) return;
    if (button.getAttribute("command") === "show-modal") dialog.showModal();
    else dialog.close();
  });
}
// What was closed, a dialog or the details of a form, changes nothing.
function closed(e) {
  if (!e.target.open) for (const f of e.target.querySelectorAll?.("form") ?? []) { f.reset(); f.removeAttribute("data-dirty"); }
}
document.addEventListener("close", closed, true);
document.addEventListener("toggle", closed, true);

// Times of the server are UTC: the title has the time of this machine.
document.addEventListener("mouseover", e => {
  const time = e.target.closest?.("time[datetime]");
  if (time && !time.dataset.local) {
    time.dataset.local = "1";
    time.title = new Date(time.dateTime).toLocaleString(undefined, {dateStyle: "medium", timeStyle: "long"});
  }
});
