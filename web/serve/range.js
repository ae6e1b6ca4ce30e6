// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What stands below the time line: findings, processes and stacks of the range.

function trouble(text) {
	one('#trouble').hidden = !text;
	one('#trouble').textContent = text || '';
}

// "41" and "%", or "under 1".
function shareWords(ppm) {
	return ppm >= 9950 ? `${Math.round(ppm / 1e4)}%` : '<1%';
}

// A bad expression, or a name that no reason has, is said at its field; what was found before stays.
function markField(text) {
	const name = FILTERS.find((key) => text && text.startsWith(key + ':')) || '',
		said = one('#fielderror');
	for (const key of FILTERS) {
		one('#f-' + key).removeAttribute('aria-invalid');
		one('#f-' + key).removeAttribute('aria-describedby');
	}
	said.hidden = !name;
	said.textContent = name ? text.replace(name + ':', name === 'grep' ? 'Frame:' : name[0].toUpperCase() + name.slice(1) + ':') : '';
	if (!name) return false;
	one('#f-' + name).setAttribute('aria-invalid', 'true');
	one('#f-' + name).setAttribute('aria-describedby', 'fielderror');
	return true;
}

function drawHeadline() {
	const range = clamped(marked('range') || [S.from, S.to]),
		s = V.summary;
	const isAll = range[0] <= V.extent.from && range[1] >= V.extent.to,
		what = S.range ? '' : isAll ? 'The whole history: ' : S.live ? `Last ${spanWords(range[1] - range[0])}: ` : 'All that is shown: ';
	one('#when').textContent = what + rangeWords(range);
	const words = [spanWords(range[1] - range[0])];
	if (s) {
		const found = s.window.duration_ns / 1e6;
		words.push(plural(s.threads, 'thread'), plural(s.cpus, 'CPU'));
		if (found < range[1] - range[0] - 1500) words.push(`${spanWords(found)} of it recorded`);
		if (S.range && String(range) !== String(clamped(S.range))) words.push('whole windows');
		words.push(s.exact ? 'exact' : 'short waits sampled');
		if (s.gone_by_name) words.push('threads that ended are told by name');
		words.push(s.lost_ns > s.observed_ns / 1000 ? percent(s.lost_ns, s.observed_ns) + ' lost' : 'complete');
	}
	one('#whensub').textContent = words.join(' · ');
	one('#whole').hidden = !S.range;
	one('#zoom').hidden = !S.range;
}

function drawExport() {
	const names = [
		['pprof', 'pprof (go tool pprof, Pyroscope, Parca)'],
		['speedscope', 'speedscope'],
		['firefox', 'Firefox Profiler'],
		['perfetto', 'Perfetto'],
		['folded', 'folded stacks'],
		['json', 'JSON, up to 128 MiB'],
		['csv', 'CSV, a row a wait'],
	];
	one('#export ul').replaceChildren(
		...names.map(([format, text]) =>
			make('li', {}, make('a', { href: route('export', { ...rangeQuery(shownRange()), ...filterQuery(), format }), download: '', text })),
		),
	);
}

// A finding's time lies somewhere: the frame's name as an expression that is it alone.
function exactly(name) {
	return '^' + name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '$';
}

function drawFinding(f) {
	const theme = themeName(),
		mark = make('i');
	mark.style.background = reasonColour(f.reason, theme);
	// the process is a name, whatever word it is
	const sentence = f.sentence.replace(/^\d+% (of the time that matters: )?/, ''),
		name = safe(f.process || ''),
		at = sentence.startsWith('process ' + name) ? 'process '.length : 0,
		words = name && sentence.startsWith(name, at) ? [sentence.slice(0, at), make('code', { text: name }), sentence.slice(at + name.length)] : [sentence];
	const only = make('button', {
		type: 'button',
		class: 'plain',
		text: 'Show its stacks',
		onclick: () => setFilter({ process: f.process, reason: f.reason, grep: f.function && f.reason !== 'cpu.queue' ? exactly(f.function) : '', tab: 'stacks' }),
	});
	return make(
		'li',
		{},
		make('b', { class: 'share', text: shareWords(f.share_ppm) }),
		make(
			'div',
			{},
			make('p', { class: 'sentence' }, mark, ...words),
			make('p', { class: 'evidence', text: f.evidence }),
			make('p', { class: 'advice' }, f.advice ? f.advice + ' ' : '', only),
		),
	);
}

function drawFindings() {
	const s = V.summary,
		list = one('#findings ol');
	const rest = s.findings.filter((f) => !isForCpu(f.reason)).sort((a, b) => b.share_ppm - a.share_ppm),
		queued = s.findings.filter((f) => isForCpu(f.reason));
	if (s.findings.length) {
		const box = queued.length ? [make('li', { class: 'apart' }, make('h4', { text: 'Waits for a CPU' }), make('ol', {}, ...queued.map(drawFinding)))] : [];
		// where nothing else comes near them, they are the news
		list.replaceChildren(...(isForCpu(s.findings[0].reason) ? box : []), ...rest.map(drawFinding), ...(isForCpu(s.findings[0].reason) ? [] : box));
	} else list.replaceChildren(make('li', { class: 'none', text: 'Nothing was waited for: all threads ran or were idle.' }));
}

// Parts that fade into the track are no news.
function drawProcess(p) {
	const theme = themeName(),
		bar = make('span', { class: 'bar', 'aria-hidden': 'true' }),
		parts = Object.entries(p.parts_ns).sort((a, b) => (a[0] === 'idle') - (b[0] === 'idle') || b[1] - a[1]),
		words = parts.filter(([, ns]) => ns >= p.observed_ns / 100).slice(0, 4);
	for (const [name, ns] of parts) {
		const part = make('i', { title: `${reasonWords(name)} ${percent(ns, p.observed_ns)}` });
		part.style.background = reasonColour(name, theme);
		part.style.width = (100 * ns) / (p.observed_ns || 1) + '%';
		bar.append(part);
	}
	const key = make('span', { class: 'key' });
	for (const [name, ns] of words) {
		const dot = make('i');
		dot.style.background = reasonColour(name, theme);
		key.append(make('span', {}, dot, `${reasonWords(name)} ${percent(ns, p.observed_ns)}`));
	}
	return make(
		'button',
		{ type: 'button', class: 'process', title: 'Only this process', onclick: () => setFilter({ process: S.process === p.process ? '' : p.process }) },
		make('span', { class: 'who' }, make('b', { text: p.process || '(no name)' }), ` ${plural(p.threads, 'thread').replace(' ', '\u00a0')}`),
		bar,
		key,
	);
}
function drawProcesses() {
	const s = V.summary,
		rows = s.processes.slice(0, 8);
	one('#where div').replaceChildren(...rows.map(drawProcess));
	if (s.processes_total > rows.length)
		one('#where div').append(make('p', { class: 'none', text: `and ${plural(s.processes_total - rows.length, 'process', 'processes')} that did less` }));
	one('#processes').replaceChildren(...s.processes.map((p) => make('option', { value: p.process })));
}

// ---- the table

const GROUP_WORDS = {
	wait: 'who waits for what',
	reason: 'reason',
	object: 'object',
	process: 'process',
	service: 'service',
	comm: 'name of thread',
	thread: 'thread',
	syscall: 'system call',
	route: 'route of requests',
};

function frameList(row) {
	const frames = [...row.kernel.map((text) => ['k', text]), ...row.user.map((text) => ['u', text])];
	return make(
		'ol',
		{ class: 'frames', 'aria-label': 'Frames, innermost first' },
		...frames.map(([kind, text]) =>
			make(
				'li',
				{ class: kind },
				make('button', {
					type: 'button',
					class: 'plain',
					title: 'Only stacks with this function',
					text,
					onclick: () => setFilter({ grep: exactly(text.replace(/ \([^()]*\)$/, '')) }),
				}),
			),
		),
	);
}

// "Longest 1.24 s: thread 4711 mysqld, began 14:32:18.250, woken by ib_log_writer (4700)", and the way to that moment.
function longestWait(row) {
	const w = row.longest;
	if (!w) return null;
	const began = w.start_unix_ns / 1e6,
		ended = began + row.max_ns / 1e6,
		who = w.tid ? `thread ${w.tid} ${w.comm}` : `a short-lived ${w.comm}`,
		at = `${isSameDay(began, Date.now()) ? '' : day(began) + ' '}${clock(began, true)}.${String(Math.floor(began % 1000)).padStart(3, '0')}`,
		by = w.waker ? ', woken by ' + (w.waker.irq || w.waker.comm) + (w.waker.tid ? ` (${w.waker.tid})` : '') : '',
		text = `Longest ${time(row.max_ns)}: ${who}, began ${w.began_before ? 'before ' : ''}${at}${by}. `;
	return make('p', { class: 'soft longest' }, text, make('button', { type: 'button', class: 'plain', text: 'Show that moment', onclick: () => showMoment(began, ended) }));
}
// Ten windows around it, so that what was before and after is there, too.
function showMoment(began, ended) {
	const around = 50e3;
	S.range = [Math.max(V.extent.from, began - around), Math.min(V.extent.to, ended + around)];
	S.live = false;
	return update(true);
}

function chip(reason) {
	const mark = make('i');
	mark.style.background = reasonColour(reason, themeName());
	return make('span', { class: 'chip' }, mark, reasonWords(reason));
}

function rowLines(row, top) {
	const bar = make('i', { class: 'amount' }),
		isStack = top.by === 'wait',
		button = make('button', { type: 'button', class: 'name', dataset: { row: [row.name, row.process, row.comm, row.reason, row.object].join('\n') } }, row.name || '(none)'),
		first = make('td', { class: 'first' }, button);
	bar.style.width = `${(100 * row.off_cpu_ns) / (top.rows[0].off_cpu_ns || 1)}%`;
	if (isStack) {
		button.setAttribute('aria-expanded', 'false');
		first.append(
			make(
				'div',
				{ class: 'about' },
				row.reason ? chip(row.reason) : null,
				make('span', { text: `${row.comm}${row.process !== row.comm ? ' of ' + row.process : ''}${row.threads > 1 ? ', ' + plural(row.threads, 'thread') : ''}` }),
				row.object ? make('span', { class: 'object', text: '→ ' + row.object + (row.several_objects ? ' and others' : '') }) : null,
				row.service ? make('span', { text: row.service }) : null,
				row.idle ? make('span', { text: 'idle' }) : null,
			),
		);
	}
	const line = make(
		'tr',
		{},
		first,
		make('td', { class: 'time' }, time(row.off_cpu_ns), make('small', { text: percent(row.off_cpu_ns, top.sum_ns) }), bar),
		make('td', { text: number(row.count), dataset: { label: 'waits' } }),
		make('td', { class: 'rare', text: row.count ? time(row.median_ns) : '' }),
		make('td', { text: row.count ? time(row.p99_ns) : '', dataset: { label: 'p99' } }),
		make('td', { class: 'rare', text: row.count ? time(row.max_ns) : '' }),
	);
	const more = isStack ? make('tr', { class: 'more', hidden: '' }) : null;
	button.addEventListener('click', () => {
		if (!isStack) return filterByRow(row, top.by);
		more.hidden = !more.hidden;
		button.setAttribute('aria-expanded', String(!more.hidden));
		if (!more.firstChild)
			more.append(
				make(
					'td',
					{ colspan: 6 },
					row.stacks > 1 ? make('p', { class: 'soft', text: `The heaviest of ${number(row.stacks)} stacks, innermost function first; the flame graph has all of them.` }) : null,
					longestWait(row),
					frameList(row),
				),
			);
		return null;
	});
	return [line, more];
}
function filterByRow(row, by) {
	if (by === 'process') return setFilter({ process: row.name.replace(/ \(\d+\)$/, ''), group: 'wait' });
	if (by === 'service' || by === 'reason') return setFilter({ [by]: row.name, group: 'wait' });
	return setFilter({ group: 'wait' });
}

function select(values, words, value, onchange) {
	const node = make('select', { onchange: (e) => onchange(e.target.value) }, ...values.map((v) => make('option', { value: v, text: words[v] })));
	node.value = value;
	return node;
}

function drawTable(detail) {
	const { top } = V.summary,
		idle = make('input', {
			type: 'checkbox',
			onchange: (e) => {
				S.idle = e.target.checked;
				update(true);
			},
		});
	idle.checked = S.idle;
	const tools = make(
		'div',
		{ class: 'tools' },
		make(
			'label',
			{},
			'Group by ',
			select(GROUPS, GROUP_WORDS, S.group, (v) => {
				S.group = v;
				update(true);
			}),
		),
		make('label', {}, idle, ' Idle waits, too'),
		make('span', { class: 'soft', text: `${number(Math.min(top.rows.length, top.rows_total))} of ${plural(top.rows_total, 'row')}, ${time(top.sum_ns)} in all` }),
	);
	const head = make(
		'tr',
		{},
		...[
			['Waiting in', 'first'],
			['Time off CPU', ''],
			['Waits', ''],
			['Median', 'rare'],
			['p99', ''],
			['Longest', 'rare'],
		].map(([text, cls]) => make('th', { scope: 'col', class: cls, text })),
	);
	const body = make('tbody', {});
	for (const row of top.rows) body.append(...rowLines(row, top).filter(Boolean));
	detail.replaceChildren(
		tools,
		top.rows.length ? make('table', {}, make('thead', {}, head), body) : make('p', { class: 'none', text: 'No wait is left: change the filters, or show idle waits.' }),
	);
}

const GRAPH_MIN = 460,
	GRAPH_MAX = 6000; // pixels of a graph
// The graph belongs to this page: without a head of its own, and as high as it is, so that only this page scrolls.
function fit(iframe) {
	const inner = iframe.contentWindow,
		root = iframe.contentDocument && iframe.contentDocument.documentElement;
	if (!root) return;
	root.dataset.embedded = 'yes';
	const grow = () => {
		const scroll = root.querySelector('#scroll');
		if (!scroll || !scroll.clientHeight) return;
		const high = Math.max(GRAPH_MIN, Math.min(GRAPH_MAX, root.clientHeight + root.querySelector('#tall').offsetHeight - scroll.clientHeight));
		if (Math.abs(high - iframe.clientHeight) > 1) iframe.style.height = high + 'px';
	};
	const watch = () => {
		if (!root.dataset.ready || !root.querySelector('#tall')) return;
		started.disconnect();
		const sizes = new inner.ResizeObserver(grow);
		for (const part of ['#tall', '#scroll']) sizes.observe(root.querySelector(part));
		grow();
	};
	const started = new MutationObserver(watch);
	started.observe(root, { attributes: true });
	watch();
}

// A picture of a long range takes a moment: an empty frame would look broken.
function framed(iframe, fitted = fit) {
	const said = make('p', { class: 'none', text: 'Drawing…' });
	iframe.addEventListener('load', () => {
		said.remove();
		fitted(iframe);
	});
	return make('div', { class: 'framed' }, said, iframe);
}

function drawFlame(detail) {
	const path = route('flame.html', { ...rangeQuery(shownRange()), ...filterQuery() }),
		address = path + (themeName() === 'dark' ? '#theme=dark' : '#theme=light') + '&down=1'; // only this page scrolls: what is widest comes first
	const had = detail.querySelector('iframe');
	if (had && had.dataset.address === address) {
		drawHeat();
		return;
	}
	detail.replaceChildren(
		heatNode(),
		make('p', { class: 'tools' }, make('span', { class: 'soft', text: 'The wider a frame, the longer its threads were off CPU below it.' }), make('a', { href: address, target: '_blank', rel: 'noopener', text: 'Open in a tab' })),
		framed(make('iframe', { src: address, title: 'Flame graph of the range', dataset: { address } })),
	);
	readHeat();
}

// The page of services belongs to this one, too: in its colours, and as high as it is.
function fitServices(iframe) {
	const root = iframe.contentDocument && iframe.contentDocument.documentElement;
	if (!root) return;
	root.dataset.theme = themeName();
	root.dataset.embedded = 'yes';
	iframe.style.height = Math.max(GRAPH_MIN, Math.min(GRAPH_MAX, root.scrollHeight + 4)) + 'px';
}
function drawServices(detail) {
	const { service, ...filters } = filterQuery(),
		query = { ...rangeQuery(shownRange()), ...filters, of: service },
		address = route('services', query).replace(/^api\//, '');
	const had = detail.querySelector('iframe');
	if (had && had.dataset.address === address) {
		fitServices(had);
		return;
	}
	detail.replaceChildren(
		make('p', { class: 'tools' }, make('a', { href: address, target: '_blank', rel: 'noopener', text: 'Open in a tab' })),
		framed(make('iframe', { src: address, title: 'Who waits for whom', dataset: { address } }), fitServices),
	);
}

function drawShell() {
	const range = shownRange(),
		dir = V.extent.history === '/var/lib/offcpu' ? '' : '=' + V.extent.history,
		text = `offcpu report --history${dir} --from ${instant(range[0])} --to ${instant(range[1])}`;
	one('#shell').replaceChildren('In a shell: ', make('code', { text }), ' ', make('button', { type: 'button', class: 'plain', text: 'Copy', onclick: () => copy(text, 'The command is copied') }));
}

function drawTabs() {
	const detail = one('#detail');
	for (const tab of TABS) {
		one('#t-' + tab).setAttribute('aria-selected', String(S.tab === tab));
		one('#t-' + tab).tabIndex = S.tab === tab ? 0 : -1;
	}
	const same = detail.dataset.tab === S.tab;
	detail.dataset.tab = S.tab;
	if (S.tab !== 'compare') delete detail.dataset.diff;
	if (S.tab === 'flame') drawFlame(detail);
	else if (S.tab === 'compare') drawCompare(detail);
	else if (S.tab === 'services') drawServices(detail);
	else if (V.summary) keepingPlace(detail, same, () => drawTable(detail));
}

// Rows that are open stay so, and what has the focus keeps it, where new windows are added to what is read.
function keepingPlace(detail, same, draw) {
	const open = new Set(same ? [...detail.querySelectorAll('.name[aria-expanded=true]')].map((b) => b.dataset.row) : []),
		focused = same && detail.contains(document.activeElement) ? document.activeElement.dataset.row : null;
	draw();
	for (const button of detail.querySelectorAll('.name')) {
		if (open.has(button.dataset.row)) button.click();
		if (focused !== null && button.dataset.row === focused) button.focus({ preventScroll: true });
	}
}

function drawRange() {
	drawHeadline();
	placeRanges();
	drawExport();
	drawShell();
	if (V.summary) {
		drawFindings();
		drawProcesses();
	}
	drawTabs();
}

function rangeKey() {
	return JSON.stringify([shownRange(), filterQuery(), S.group, S.idle]);
}
// isQuiet: the same again with what came since, which nobody has to see.
async function readRange(isQuiet) {
	const key = rangeKey(),
		query = { ...rangeQuery(shownRange()), ...filterQuery(), by: S.group, rows: 40, idle: S.idle ? 'keep' : '' };
	if (V.summaryKey === key) {
		markField('');
		one('main').setAttribute('aria-busy', 'false');
		return drawRange();
	}
	if (!isQuiet) {
		one('main').setAttribute('aria-busy', 'true');
		drawHeadline();
	}
	drawExport();
	drawShell();
	try {
		const summary = await ask('summary', route('summary', query));
		if (!summary) return null;
		V.summary = summary;
		V.summaryKey = key;
		if (S.range) noteRead('range', summary.window);
		trouble('');
		markField('');
		one('#summary').hidden = false;
		drawRange();
	} catch (e) {
		V.summaryKey = null;
		if (markField(e.message)) {
			if (!V.summary) one('#findings ol').replaceChildren(make('li', { class: 'none', text: 'Nothing is read before the marked field is mended.' }));
			one('main').setAttribute('aria-busy', 'false');
			return null;
		}
		V.summary = null;
		one('#summary').hidden = true;
		one('#detail').replaceChildren();
		drawHeadline();
		trouble(e.message);
	}
	one('main').setAttribute('aria-busy', 'false');
	return null;
}

const NO_FILTER = Object.fromEntries(FILTERS.map((key) => [key, '']));
function isFiltered() {
	return FILTERS.some((key) => S[key]);
}
function setFilter(change) {
	Object.assign(S, change);
	update(true);
}
