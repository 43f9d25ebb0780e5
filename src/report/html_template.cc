#include "report/html_template.h"

namespace bdnn {

const char* const kReportStyle = R"css(
:root { color-scheme: light dark; --page: #fffffd; --text: #1c1c1c; --quiet: #66635d; --rule: #1c1c1c; --hair: #d9d6cf;
  --tint: #f5f3ee; --link: #0b5394; --right: #0b8457; --wrong: #c9c5bc; }
@media (prefers-color-scheme: dark) { :root { --page: #17181b; --text: #e8e6e1; --quiet: #a3a099; --rule: #c9c6bf; --hair: #3a3b40;
  --tint: #202226; --link: #8fc4ff; --right: #3fcba0; --wrong: #4a4b50; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 17px/1.55 Charter, "Bitstream Charter", "Iowan Old Style", "Source Serif 4", Georgia, "Liberation Serif", serif; }
main { max-width: 47rem; margin: 0 auto; padding: 3.5rem 1.25rem 4rem; }
h1 { font-size: 2rem; line-height: 1.15; font-weight: 600; margin: 0 0 .5rem; text-wrap: balance; }
h2 { font-size: 1.4rem; line-height: 1.25; font-weight: 600; margin: 3.25rem 0 .5rem; }
h3 { font-size: 1.05rem; font-weight: 600; margin: 2rem 0 .25rem; }
p { margin: .5rem 0 .9rem; hyphens: auto; }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 2px; }
code, pre { font: .82em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
pre { background: var(--tint); padding: .8rem 1rem; overflow-x: auto; border-radius: 3px; }
.byline { color: var(--quiet); margin: 0 0 1.5rem; }
.lead { font-size: 1.08rem; }
.quiet { font-size: .88rem; line-height: 1.45; color: var(--quiet); }
.note { border-left: 3px solid var(--hair); padding-left: .9rem; color: var(--quiet); }
nav ol { margin: .25rem 0 0; padding-left: 1.4rem; }
figure { margin: 1.6rem 0; break-inside: avoid; }
figcaption { font-size: .88rem; line-height: 1.45; color: var(--quiet); margin: 0 0 .5rem; }
figcaption b { color: var(--text); font-weight: 600; }
.below figcaption { margin: .4rem 0 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; line-height: 1.3;
  font-variant-numeric: tabular-nums lining-nums; border-top: 1.5px solid var(--rule); border-bottom: 1.5px solid var(--rule); }
th { font-weight: 600; text-align: right; padding: .35rem 0 .35rem 1rem; white-space: nowrap; }
thead th { border-bottom: .75px solid var(--rule); vertical-align: bottom; }
th:first-child { text-align: left; padding-left: 0; }
tbody th { font-weight: 400; }
td { text-align: right; padding: .3rem 0 .3rem 1rem; vertical-align: top; white-space: nowrap; }
tbody tr + tr th, tbody tr + tr td { border-top: .75px solid var(--hair); }
tbody th { vertical-align: top; padding-top: .3rem; }
.sub { display: block; font-size: .8rem; color: var(--quiet); }
.sub .diff { display: inline-block; min-width: 2.9rem; }
.phone { display: none; }
.spread { display: inline-block; min-width: 2.9rem; font-size: .74rem; color: var(--quiet); font-weight: 400; }
.sub b { color: var(--text); font-weight: 600; }
b { font-weight: 700; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: 1.8rem 0 .2rem; padding: 0; list-style: none; }
.legend button { all: unset; cursor: pointer; display: inline-flex; align-items: center; gap: .35rem; font-size: .9rem; padding: .1rem 0; }
.legend button:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
.legend button[aria-pressed="false"] { color: var(--quiet); text-decoration: line-through; }
.legend button[aria-pressed="false"] .key { opacity: .25; }
.key { width: 26px; height: 12px; flex: none; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); gap: .5rem 1.5rem; }
.plots figure { margin: .5rem 0; min-width: 0; }
.plots figcaption { text-align: center; margin: .1rem 0 .4rem; }
.plot { display: block; width: 100%; height: auto; font-family: system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
.plot.key { width: 26px; height: 12px; }
.off { display: none; }
.tip { position: fixed; z-index: 2; pointer-events: none; max-width: 17rem; background: var(--text); color: var(--page);
  font-size: .8rem; line-height: 1.35; padding: .3rem .55rem; border-radius: 3px; transform: translate(-50%, calc(-100% - 10px)); }
.query { display: grid; grid-template-columns: 5.2rem 1fr; gap: .2rem 1rem; padding: .8rem 0; border-top: .75px solid var(--hair); break-inside: avoid; }
.query:first-of-type { border-top: 1.5px solid var(--rule); }
.query:last-of-type { border-bottom: 1.5px solid var(--rule); }
.query > div:first-child { font-size: .82rem; line-height: 1.3; color: var(--quiet); }
.query > div:first-child img { width: 4rem; display: block; margin-bottom: .25rem; }
.found { display: grid; grid-template-columns: 5.6rem repeat(10, minmax(0, 2.6rem)); gap: .2rem; align-items: center; font-size: .82rem; }
.found + .found { margin-top: .2rem; }
img { image-rendering: pixelated; }
.found img { width: 100%; display: block; border: 2px solid transparent; opacity: .62; border-radius: 2px; background: none; }
.found img.right { border-color: var(--right); opacity: 1; }
.facts { font-size: .9rem; color: var(--quiet); padding-left: 1.1rem; margin: .4rem 0; }
.facts li { margin: .1rem 0; overflow-wrap: anywhere; }
details { margin: .8rem 0; } summary { cursor: pointer; color: var(--quiet); font-size: .9rem; }
footer { margin-top: 3.5rem; border-top: .75px solid var(--hair); padding-top: .8rem; color: var(--quiet); font-size: .85rem; }
@media (max-width: 36rem) {
  body { font-size: 16px; } main { padding: 1.6rem 1rem 3rem; } h1 { font-size: 1.6rem; }
  table { font-size: .84rem; } th, td { padding-left: .45rem; }
  .sub, .spread { font-size: .72rem; line-height: 1.3; } .spread, .sub .diff { display: block; min-width: 0; } .phone { display: block; }
  .query { grid-template-columns: 1fr; gap: .4rem; }
  .query > div:first-child { display: flex; gap: .6rem; align-items: center; } .query > div:first-child img { width: 3rem; margin: 0; }
  .found { grid-template-columns: repeat(10, minmax(0, 1fr)); } .found span { grid-column: 1 / -1; margin-top: .25rem; }
}
@media print {
  :root { color-scheme: light; --page: #fff; --text: #000; --quiet: #444; --rule: #000; --hair: #ccc; --tint: #f4f4f4; --link: #000; --right: #0b8457; --wrong: #bbb; }
  @page { margin: 18mm 17mm; }
  body { font-size: 10pt; } main { max-width: none; padding: 0; } .tip, nav { display: none; } h2, h3 { break-after: avoid; }
  .plots { grid-template-columns: 1fr 1fr; } a { text-decoration: none; } .legend { margin-top: 1rem; }
  section + section { break-before: auto; }
}
)css";

const char* const kReportScript = R"js(
'use strict';
(() => {
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  document.body.append(tip);
  // The notes of points become ours to show: nearer than a browser's own, and without its delay.
  for (const title of document.querySelectorAll('.point > title')) {
    title.parentNode.dataset.note = title.textContent;
    title.remove();
  }
  for (const plot of document.querySelectorAll('figure .plot')) {
    const points = [...plot.querySelectorAll('.point')];
    const show = event => {
      const matrix = plot.getScreenCTM();
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
      let best = null, least = 24 * 24;
      for (const point of points) {
        if (point.closest('.off')) continue;
        const d = (point.dataset.x - at.x) ** 2 + (point.dataset.y - at.y) ** 2;
        if (d < least) { least = d; best = point; }
      }
      tip.hidden = !best;
      if (!best) return;
      const on = new DOMPoint(+best.dataset.x, +best.dataset.y).matrixTransform(matrix);
      tip.textContent = best.dataset.note;
      tip.style.top = on.y + 'px';
      tip.style.left = Math.min(Math.max(on.x, tip.offsetWidth / 2 + 4), innerWidth - tip.offsetWidth / 2 - 4) + 'px';
    };
    plot.addEventListener('pointermove', show);
    plot.addEventListener('pointerdown', show);
    plot.addEventListener('pointerleave', () => { tip.hidden = true; });
  }
  addEventListener('scroll', () => { tip.hidden = true; }, { passive: true });
  for (const button of document.querySelectorAll('.legend button')) {
    button.addEventListener('click', () => {
      const on = button.getAttribute('aria-pressed') === 'false';
      button.setAttribute('aria-pressed', on);
      for (const series of button.closest('section').querySelectorAll('.series')) {
        if (series.dataset.series === button.dataset.series) series.classList.toggle('off', !on);
      }
    });
  }
})();
)js";

}  // namespace bdnn
