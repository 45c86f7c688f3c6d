"""The style of the data-protection pack: what it needs beside the report's own.

Everything is under `.dpo`, so that a page of somebody else's can show the same body.
"""

from __future__ import annotations

DPO_CSS = """
.dpo h2{font-size:1.5rem;margin:2.2rem 0 .2rem}
.dpo h3{font-size:1.1rem;margin:0 0 .5rem}
.dpo h4{font-size:.95rem;margin:1.2rem 0 .3rem}
.dpo .card>:last-child,.dpo li>:last-child{margin-bottom:0}
.dpo .wide{overflow-x:auto}
.dpo table{font-size:.84rem}
.dpo th,.dpo td{white-space:normal;overflow-wrap:anywhere;padding:.34rem .9rem .34rem 0;
 vertical-align:top}
.dpo thead th{overflow-wrap:normal;vertical-align:bottom}
.dpo tbody th{min-width:6rem}
.dpo td.number,.dpo th.number{text-align:right;white-space:nowrap;min-width:0}
.dpo thead th.number{white-space:normal}
.dpo td.words{overflow-wrap:normal}
.dpo .words span{white-space:nowrap}
.dpo td:last-child,.dpo th:last-child{padding-right:0}
.dpo ul{margin:.3rem 0;padding-left:1.2rem;max-width:46rem}
.dpo li{margin:.25rem 0}
.dpo code{font-family:ui-monospace,'Cascadia Mono',Menlo,Consolas,monospace;font-size:.86em;
 overflow-wrap:anywhere}
.dpo .notice{border-left:5px solid var(--amber)}
.dpo .alarm{border:3px solid var(--missed)}
.dpo .alarm h2,.dpo .alarm h3,.dpo .alarm strong{color:var(--missed);margin-top:0}
.dpo .ok{color:var(--met);font-weight:600}
.dpo .blank{display:block;border-bottom:1px dotted var(--ink);padding-top:1.5rem;
 color:var(--muted);font-size:.8rem;max-width:46rem}
.dpo dl{display:block}
.dpo dl>div{display:grid;grid-template-columns:9rem 1fr;gap:.1rem 1.5rem;margin:.25rem 0}
.dpo .record>div{margin:.8rem 0}
.dpo .record dt{color:var(--ink);font-weight:600}
.dpo .card>div+.wide{margin-top:1rem}
.dpo .record p{margin-bottom:.25rem}
@media (max-width:40rem){.dpo dl>div{grid-template-columns:1fr;margin:.6rem 0}}
@media print{
 @page{size:A4;margin:16mm 14mm 18mm;@bottom-right{content:counter(page) " / " counter(pages);
  font:8pt system-ui,sans-serif;color:#545f6e}}
 .dpo{font-size:9.5pt}
 .dpo h2{font-size:15pt;margin-top:1rem}
 .dpo .log+.log,.dpo .log+.whole{break-before:page}
 .dpo dl,.dpo .muted,.dpo .blank{font-size:9pt}
 .dpo table,.dpo caption{font-size:8pt}
 .dpo th,.dpo td{padding-right:.55rem}
 .dpo .wide{overflow:visible}
 .dpo tr,.dpo dl>div,.dpo .promise,.dpo .alarm,.dpo li,.dpo p{break-inside:avoid}
 .dpo h2,.dpo h3,.dpo h4,.dpo .lead,.dpo caption{break-after:avoid}
 .dpo a{color:inherit;text-decoration:none}
 .dpo .alarm,.dpo .promise,.dpo .notice{padding:.6rem 1rem;margin:.6rem 0}
}
"""
