"""The report as one self-contained page."""

from __future__ import annotations

from typing import Any

from dynreg_numpy.coverage._results import MODES, OUTCOMES

__all__ = ["render"]

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Coverage of dynreg-numpy</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } th, td { padding: .2rem .6rem; text-align: left }
tr + tr { border-top: 1px solid #ddd } pre { margin: 0; white-space: pre-wrap; font-size: 12px }
.native { color: #12733a } .fallback { color: #9a6700 } .mismatch, .error { color: #b42318 }
input { font: inherit; width: 24rem; padding: .3rem; margin: 1rem 0 }
</style>
<h1>Coverage of dynreg-numpy</h1>
<p>{% for name, version in report.versions.items() %}{{ name }} {{ version }}{{ ", " if not
loop.last }}{% endfor %}; first {{ report.samples }} samples of each entry, {{ report.seconds }} s.
</p>
<table><tr><th>mode{% for outcome in outcomes %}<th title="{{ outcomes[outcome] }}">{{ outcome }}
{% endfor %}</tr>
{% for mode, counts in report.summary.items() %}<tr><td title="{{ modes[mode] }}">{{ mode }}
{% for outcome in outcomes %}<td>{{ counts[outcome] }}{% endfor %}</tr>{% endfor %}</table>
<input id="q" placeholder="filter: name, dtype, mode, outcome" aria-label="filter">
<table id="t"><tr><th>entry<th>dtype<th>mode<th>outcome<th>detail</tr>
{% for r in report.results %}<tr><td>{{ r.name }}<td>{{ r.dtype }}<td>{{ r.mode }}
<td class="{{ r.outcome }}">{{ r.outcome }}
<td><pre>{{ r.fallback | join(", ") }}{{ r.detail }}</pre>
</tr>{% endfor %}</table>
<script>
const rows = [...document.querySelectorAll("#t tr")].slice(1);
document.getElementById("q").addEventListener("input", event => {
  const words = event.target.value.toLowerCase().split(/\\s+/);
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every(word => text.includes(word));
  }
});
</script>
</html>
"""


def render(report: dict[str, Any]) -> str:
    """Return the page for a report, as ``--json`` writes it."""
    from jinja2 import Environment

    environment = Environment(autoescape=True)
    return environment.from_string(_PAGE).render(report=report, modes=MODES, outcomes=OUTCOMES)
