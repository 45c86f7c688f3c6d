"""The style sheet of the report: calm, readable, and the same thing on paper."""

from __future__ import annotations

from pappi.report.charts import CHART_CSS
from pappi.report.palette import theme_css

_LAYOUT = """
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);
 font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif}
header,main,footer{max-width:58rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:3rem}
h1{font-size:2.1rem;line-height:1.2;letter-spacing:-.02em;margin:0 0 .3rem;font-weight:680}
h2{font-size:1.25rem;line-height:1.3;letter-spacing:-.01em;margin:0 0 .4rem;font-weight:650}
h3{font-size:.95rem;margin:0 0 .3rem}
p{margin:0 0 .7rem;max-width:46rem}
a{color:var(--accent);text-underline-offset:.2em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-100rem}
.skip:focus{left:1rem;top:1rem;background:var(--surface);padding:.5rem 1rem}
.muted,figcaption,caption,footer{color:var(--muted);font-size:.875rem}
.card{background:var(--surface);border:1px solid var(--grid);border-radius:12px;
 padding:1.4rem 1.5rem;margin:1.25rem 0}
.promise{border-left:5px solid var(--accent)}
.promise p{margin-bottom:.4rem}
.promise .first{font-size:1.15rem;line-height:1.45}
.promise p:last-child{margin-bottom:0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.5rem;margin:1rem 0 0;
 font-size:.9rem}
dt{color:var(--muted)}
dd{margin:0;overflow-wrap:anywhere}
figure{margin:1rem 0 .75rem;overflow-x:auto}
figure svg{display:block;max-width:100%;min-width:34rem;height:auto}
figcaption{margin-top:.25rem}
.scroll{overflow:auto;max-height:20.2rem;border-top:1px solid var(--grid);background:
 linear-gradient(transparent,var(--surface) 60%) center bottom/100% 3rem no-repeat local,
 linear-gradient(transparent,var(--grid)) center bottom/100% 1rem no-repeat scroll}
table{border-collapse:collapse;width:100%;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.4rem 0}
th,td{text-align:left;padding:.34rem .8rem .34rem 0;border-bottom:1px solid var(--grid);
 vertical-align:baseline;white-space:nowrap}
thead th{color:var(--muted);font-weight:600;position:sticky;top:0;background:var(--surface)}
tbody th{font-weight:500}
tbody tr:last-child th,tbody tr:last-child td{border-bottom:0}
.number{text-align:right;padding-right:1.6rem}
.name{white-space:normal;overflow-wrap:break-word;min-width:7rem}
.verdict{font-weight:600}
.met{color:var(--met)}
.missed{color:var(--missed)}
.amber{color:var(--amber)}
.undecided{color:var(--undecided)}
.scroll.whole{max-height:none;border:0;background:none}
.overview th:first-child{min-width:13rem}
.tally{white-space:normal}
.tally span{margin-right:.8rem;white-space:nowrap;display:inline-block}
.read{display:grid;grid-template-columns:repeat(auto-fit,minmax(19rem,1fr));gap:.9rem 1.75rem;
 margin:.75rem 0 0;padding:0;list-style:none;font-size:.9rem}
footer{padding-top:.5rem;padding-bottom:3rem}
@media (max-width:40rem){.card{padding:1.1rem 1rem;border-radius:10px}h1{font-size:1.65rem}}
@media print{
 @page{margin:16mm 14mm}
 body{background:none;font-size:10.5pt}
 header,main,footer{max-width:none;padding-left:0;padding-right:0}
 header{padding-top:0}
 .card{border:0;border-top:1px solid var(--grid);border-radius:0;padding:1rem 0;margin:0}
 .promise{border-top:0;border-left:4px solid var(--accent);padding:.4rem 0 .4rem 1rem}
 .scroll{overflow:visible;max-height:none;background:none}
 .skip{display:none}
 figure,tr,h2,.keep{break-inside:avoid}
 h2,article p{break-after:avoid}
 thead{display:table-header-group}
 thead th{position:static}
}
"""

PAGE_CSS = theme_css(":root") + CHART_CSS + _LAYOUT
