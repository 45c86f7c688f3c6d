// Saves clicks, and nothing else: without it every button still does its work.
// The slider writes an accuracy into its field, and the price follows while it moves.
"use strict";

const form = document.getElementById("asked");
let pending = null;
let asked = 0;

/** Numbers a person would write: two digits that matter. */
function rounded(value) {
  const digits = Math.max(0, 1 - Math.floor(Math.log10(value)));
  return value.toFixed(Math.min(digits, 6));
}

function accuracyAt(slide) {
  const finest = Math.log(Number(slide.dataset.finest));
  const coarsest = Math.log(Number(slide.dataset.coarsest));
  return Math.exp(finest + (coarsest - finest) * (Number(slide.value) / 100));
}

function place(slide) {
  const finest = Math.log(Number(slide.dataset.finest));
  const coarsest = Math.log(Number(slide.dataset.coarsest));
  slide.value = String(100 * (Math.log(Number(slide.dataset.at)) - finest) / (coarsest - finest));
}

/** Ask for the prices anew and put them where the old ones are; the controls stay as they are. */
async function reprice() {
  const mine = ++asked;
  const fields = new URLSearchParams(new FormData(form));
  fields.set("do", "preview");
  const places = document.querySelectorAll(".live");
  places.forEach((each) => each.setAttribute("aria-busy", "true"));
  try {
    const reply = await fetch(form.action, { method: "POST", body: fields });
    const found = new DOMParser().parseFromString(await reply.text(), "text/html");
    if (mine !== asked) return;
    if (!reply.ok || reply.redirected) {
      form.requestSubmit();
      return;
    }
    places.forEach((each) => {
      const fresh = found.getElementById(each.id);
      if (!fresh) return;
      // What was opened or closed stays so.
      const open = Array.from(each.querySelectorAll("details"), (part) => part.open);
      fresh.querySelectorAll("details").forEach((part, at) => {
        if (at < open.length) part.open = open[at];
      });
      each.replaceChildren(...fresh.childNodes);
    });
  } finally {
    if (mine === asked) places.forEach((each) => each.removeAttribute("aria-busy"));
  }
}

function soon() {
  clearTimeout(pending);
  pending = setTimeout(reprice, 250);
}

if (form) {
  for (const slide of form.querySelectorAll("input[type=range]")) {
    const field = document.getElementById(slide.dataset.for);
    place(slide);
    slide.setAttribute("aria-valuetext", `±${rounded(Number(slide.dataset.at))} ${slide.dataset.unit}`);
    slide.closest(".slide").hidden = false;
    slide.addEventListener("input", () => {
      field.value = rounded(accuracyAt(slide));
      slide.setAttribute("aria-valuetext", `±${field.value} ${slide.dataset.unit}`);
      soon();
    });
  }
}
