"""The stylesheet of notebook outputs, scoped to the class ``dynkube``.

Notebooks select the dark mode by ``color-scheme`` (JupyterLab, marimo), which ``light-dark()`` follows, or by a class
or attribute (VS Code, documentation pages, ``nbconvert --theme dark``), which is mapped to it here. Text and lines use
the notebook's own colours if it defines them. Browsers without ``light-dark()`` (before 2024) show everything without
colours.
"""

from __future__ import annotations

import re
from typing import Final

# Browsers without ::details-content (before 2025) drop the rule with .dk-never: they show the text, and the card on a
# click. A reversed .dk-tail is scrolled to its end when it appears. Selectors repeat the class to get a higher
# specificity than the notebooks' rules for tables.
_SOURCE: Final = """
.dynkube {
  --dk-fg: var(--jp-content-font-color1, var(--vscode-editor-foreground, light-dark(#1f2328, #e3e8ee)));
  --dk-dim: var(--jp-content-font-color2, var(--vscode-descriptionForeground, light-dark(#59636e, #9aa4af)));
  --dk-rule: light-dark(#d8dee4, #3a424b);
  --dk-soft: light-dark(#f4f6f8, #ffffff0d);
  --dk-good: light-dark(#116329, #7ee2a8);
  --dk-warn: light-dark(#7d4e00, #f2cc60);
  --dk-bad: light-dark(#a40e26, #ff9f97);
  --dk-info: light-dark(#0a4ea3, #8ec7ff);
  --dk-mono: var(--jp-code-font-family, var(--vscode-editor-font-family, ui-monospace, monospace));
  color: var(--dk-fg); font-size: 13px; line-height: 20px; overflow-x: auto; overflow-wrap: anywhere;
}
html[theme=dark] .dynkube, html[data-theme=dark] .dynkube, body[data-theme=dark] .dynkube,
body[data-jp-theme-light=false] .dynkube, body.vscode-dark .dynkube { color-scheme: dark; }
.dynkube .dk-page { display: block !important; margin: 0; }
.dynkube .dk-page::details-content { content-visibility: visible; }
.dynkube .dk-fallback, .dynkube .dk-page > summary, .dynkube .dk-never::details-content { display: none; }
.dynkube .dk-page > .dk-card { margin: 0 !important; padding: 2px 2px 4px; }
.dynkube .dk-head { padding-bottom: 3px; }
.dynkube .dk-head:not(:last-child) { margin-bottom: 5px; border-bottom: 1px solid var(--dk-rule); }
.dynkube .dk-inner { margin: 0 0 14px; }
.dynkube .dk-strong { font-weight: 600; }
.dynkube .dk-muted { color: var(--dk-dim); }
.dynkube .dk-key, .dynkube .dk-info { color: var(--dk-info); }
.dynkube .dk-good { color: var(--dk-good); }
.dynkube .dk-warn { color: var(--dk-warn); }
.dynkube .dk-bad { color: var(--dk-bad); }
.dynkube .dk-added { color: var(--dk-good); background: light-dark(#e3f7e8, #12331d); }
.dynkube .dk-removed { color: var(--dk-bad); background: light-dark(#ffebe9, #44191a); }
.dynkube .dk-hue0 { color: light-dark(#116329, #7ee2a8); }
.dynkube .dk-hue1 { color: light-dark(#7d4e00, #f2cc60); }
.dynkube .dk-hue2 { color: light-dark(#0a4ea3, #8ec7ff); }
.dynkube .dk-hue3 { color: light-dark(#8a2a86, #f0a6ee); }
.dynkube .dk-hue4 { color: light-dark(#0b6370, #79dbe8); }
.dynkube .dk-hue5 { color: light-dark(#1a7034, #5fd07a); }
.dynkube .dk-hue6 { color: light-dark(#8f5a00, #e3b341); }
.dynkube .dk-hue7 { color: light-dark(#0860ca, #6cb0ff); }
.dynkube .dk-hue8 { color: light-dark(#7a3fc0, #cfa6ff); }
.dynkube .dk-hue9 { color: light-dark(#0d6d6d, #4fd0d0); }
.dynkube .dk-chips { margin: 5px 0; display: flex; flex-wrap: wrap; gap: 4px 5px; }
.dynkube .dk-chip {
  display: inline-block; box-sizing: border-box; max-width: 100%; vertical-align: middle;
  padding: 0 8px; border-radius: 10px; font-size: 12px; line-height: 20px;
  background: light-dark(#eceff2, #ffffff17);
}
.dynkube .dk-chip.dk-good { background: light-dark(#dcf5e3, #14381f); }
.dynkube .dk-chip.dk-warn { background: light-dark(#fff0c7, #40320c); }
.dynkube .dk-chip.dk-bad { background: light-dark(#ffe3e0, #4d1b1b); }
.dynkube .dk-chip.dk-info { background: light-dark(#dfeeff, #13304f); }
.dynkube.dynkube table {
  border-collapse: collapse; margin: 4px 0; font-size: 13px; color: inherit; table-layout: auto; border: 0;
}
.dynkube.dynkube th, .dynkube.dynkube td {
  padding: 2px 16px 2px 0; border: 0; text-align: left; vertical-align: top; background: none;
  white-space: normal; overflow-wrap: anywhere; max-width: 48em; line-height: 20px;
}
.dynkube.dynkube table tr { background: none; border: 0; }
.dynkube.dynkube th { font-weight: 400; color: var(--dk-dim); white-space: nowrap; }
.dynkube.dynkube .dk-grid thead th { font-size: 11px; letter-spacing: .04em; border-bottom: 1px solid var(--dk-rule); }
.dynkube.dynkube .dk-grid td { white-space: nowrap; overflow-wrap: normal; }
.dynkube.dynkube .dk-grid .dk-long { white-space: normal; overflow-wrap: anywhere; min-width: 13em; }
.dynkube.dynkube .dk-grid th:last-child, .dynkube.dynkube .dk-grid td:last-child { padding-right: 2px; }
.dynkube.dynkube .dk-tree td { padding-top: 0; padding-bottom: 0; line-height: 1.35; }
.dynkube.dynkube .dk-tree td:first-child { white-space: nowrap; overflow-wrap: normal; }
.dynkube .dk-tree td:first-child .dk-muted { font-family: var(--dk-mono); white-space: pre; }
.dynkube.dynkube .dk-grid tbody tr:hover { background: var(--dk-soft); }
.dynkube.dynkube .dk-grid .dk-right { text-align: right; font-variant-numeric: tabular-nums; }
.dynkube.dynkube .dk-gap td { color: var(--dk-dim); text-align: center; padding: 3px; background: var(--dk-soft); }
.dynkube.dynkube pre.dk-code {
  font: 12px/1.5 var(--dk-mono); margin: 2px 0 6px; padding: 6px 10px; color: inherit;
  background: var(--dk-soft); border: 0; border-radius: 4px; overflow-x: auto; white-space: pre;
}
.dynkube .dk-tail { display: flex; flex-direction: column-reverse; max-height: 34em; overflow: auto; }
.dynkube.dynkube .dk-tail pre.dk-code { flex: none; overflow: visible; white-space: pre-wrap; }
.dynkube details { margin: 1px 0; }
.dynkube summary { cursor: pointer; padding: 1px 0; }
.dynkube summary::marker { font-size: 11px; color: var(--dk-dim); }
.dynkube summary:hover { background: var(--dk-soft); }
.dynkube details > :not(summary) { margin-left: 16px !important; }
.dynkube p.dk-note { margin: 4px 0; color: var(--dk-dim); }
.dynkube ul { margin: 2px 0 4px; padding-left: 20px; }
"""

_BLANKS: Final = re.compile(r"\s*([{};,])\s+|\s+(?=[{}])")

STYLESHEET: Final = f"<style>{_BLANKS.sub(lambda found: found[1] or '', _SOURCE.strip())}</style>"
"""The minified style element."""
