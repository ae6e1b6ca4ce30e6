// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What was put aside: the newest first, by name, with what its alert said.  What the history still has is one click away.

const INCIDENTS_EVERY_MS = 60e3;

// As a shell takes it.
function quoted(text) {
	return "'" + text.replaceAll("'", "'\\''") + "'";
}

function showIncident(range) {
	S.live = false;
	const middle = (range[0] + range[1]) / 2,
		wide = Math.max(SPAN_MIN, (range[1] - range[0]) * 1.2);
	[S.from, S.to, S.range] = [middle - wide / 2, middle + wide / 2, range];
	update(true);
}

function incidentRow(i) {
	const row = make('li', { dataset: { incident: i.id } });
	if (i.damage) {
		row.append(make('b', { text: i.id }), ` is damaged: ${i.damage}`);
		return row;
	}
	const range = [i.start_unix_ns / 1e6, (i.start_unix_ns + i.duration_ns) / 1e6],
		isThere = range[1] > V.extent.from && range[0] < V.extent.to;
	row.append(
		isThere ? make('button', { type: 'button', text: i.id, title: 'Show that time', onclick: () => showIncident(range) }) : make('b', { text: i.id }),
		` ${rangeWords(range)}`,
		make('p', { text: i.said ? `The alert said: ${i.said}` : i.headline }),
		make('code', { text: `offcpu serve --incident ${quoted(i.id)}` }),
	);
	if (i.recording) row.append(make('code', { text: `offcpu report ${quoted(i.recording)}` }));
	return row;
}

// A reader who sees some services only is told of none.
async function readIncidents() {
	if (Date.now() - (V.incidentsAt || 0) < INCIDENTS_EVERY_MS) return;
	V.incidentsAt = Date.now();
	let all = [];
	try {
		all = (await ask('incidents', route('incidents', {})))?.incidents || [];
	} catch {
		// the rest of the page does without
	}
	one('#incidents').hidden = !all.length;
	one('#incidents summary').textContent = `Incidents that were put aside: ${all.length}`;
	one('#incidents ul').replaceChildren(...all.map(incidentRow));
}
