// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Starts the page and keeps its controls in step with the state.

const WEIGHT_WORDS = {
	time: 'time on and off CPU',
	on_cpu: 'on-CPU time',
	off_cpu: 'off-CPU time',
	blocked: 'blocked time',
	runnable: 'time on the run queue',
	preempted: 'preempted time',
	count: 'number of waits',
};
const GROUP_WORDS = {
	merged: 'all threads merged',
	process: 'by process',
	comm: 'by thread name',
	thread: 'by thread',
};
const WIDTH_WORDS = { both: 'mean of both', after: 'after', before: 'before' };
const COLOUR_WORDS = { change: 'by change', class: 'by kind of time', kind: 'user and kernel', module: 'by file' };

function options(select, words, change) {
	for (const [value, text] of words) select.append(make('option', { value, text }));
	select.addEventListener('change', () => change(select.value));
}

const nothingWords = () => (V.data.waits.cnt ? 'nothing is left to show: switch something on' : V.data.about.rowsAre ? 'there is nothing' : 'no thread was off CPU');

// ---- the head

// Of rows that are no waits of threads: tasks of a runtime, block requests, operations on files.
const rowWords = () => (V.data.about.rowsAre === 'tasks' ? 'task time' : 'time');
function weightWords() {
	const { onCpuHz, rowsAre } = V.data.about;

	if (rowsAre) return Object.entries({ off_cpu: rowWords(), count: `number of ${rowsAre}` });
	return Object.entries(WEIGHT_WORDS).filter(([name]) => onCpuHz || (name !== 'time' && name !== 'on_cpu'));
}
function headWords() {
	const { about } = V.data,
		start = new Date(about.startMs);
	const target = !about.rowsAre && about.target;
	one('#title').textContent = about.title || (target ? `${target}, ${time(about.window)}` : '') || (about.onCpuHz ? 'Time on and off CPU' : 'Off-CPU time') + (about.host ? ' on ' + about.host : '');
	const parts = about.subtitle
		? [about.subtitle]
		: [
				// first, as the end is cut off where there is little room
				about.selection ? `Only ${about.selection}` : '',
				about.filters ? `Recorded with ${about.filters}` : '',
				about.imported ? `Imported ${about.imported}` : '',
				...(about.imported ? about.losses.map((l) => `missing ${number(l.count)}: ${l.help}`) : []),
				about.startMs ? start.toISOString().slice(0, 19).replace('T', ' ') + ' UTC' : '',
				about.host,
				target || !about.window ? '' : `${time(about.window)} window`,
				about.cpus ? plural(about.cpus, 'CPU') : '',
				about.rowsAre ? '' : plural(about.threads, 'thread'),
				about.rowsAre ? `${time(about.listed)} of ${rowWords()}` : `${time(about.offCpu)} off CPU`,
				about.onCpu ? `${time(about.onCpu)} on CPU` : '',
			];
	one('#sub').textContent = about.diff ? about.diff.finding : parts.filter(Boolean).join(' · ');
	if (about.diff) sideWords(about.diff);
	one('#sub').title = one('#sub').textContent;
	if (!V.data.waits.cnt) one('#empty').textContent = about.rowsAre ? 'There is nothing.' : 'No thread was off CPU in this window: all ran, or there were none.';
}
// The verdict; on demand all that is known of how complete this is.
function footWords(open) {
	const { about } = V.data,
		all = about.stacks.reduce((a, b) => a + b, 0);
	if (about.diff) {
		changeFoot(about);
		return;
	}
	const short = [about.verdict.replace(/^./, (c) => c.toUpperCase()), about.switches && number(about.switches) + ' switches seen', 'offcpu ' + about.version];
	const parts = [
		`${percent(Math.min(about.listed, about.offCpu), about.offCpu)} of the off-CPU time is in stacks`,
		about.filtered ? `${percent(about.filtered, about.offCpu)} filtered` : '',
		about.lost ? `${percent(about.lost, about.offCpu)} lost` : 'no time lost',
		all ? `user stacks ${percent(about.stacks[0], all)} complete` : '',
		about.lostEvents && plural(about.lostEvents, 'detail') + ' lost',
		about.sampled
			? `sampled, standard error ${percent(about.error, about.listed)}`
			: 'every wait counted',
		`residual ${percent(about.residual, about.observed)}`,
		about.switches && number(about.switches) + ' switches seen',
		'offcpu ' + about.version,
	];
	const isBare = about.rowsAre || about.imported; // no coverage is known of it
	if (isBare) parts.splice(0, 8, about.error ? `standard error ${percent(about.error, about.listed)}` : '');
	V.footOpen = !!open;
	one('#foot').setAttribute('aria-expanded', V.footOpen);
	one('#foot').textContent = (open || isBare ? parts : [...short, 'more …']).filter(Boolean).join(' · ');
	one('#foot').title = about.losses.map((l) => `${number(l.count)}: ${l.help}`).join('\n');
}

// ---- controls follow the state

V.sync = () => {
	const views = {
		flame: '#v-flame',
		table: '#v-table',
		sandwich: '#v-sandwich',
		wakers: '#v-wakers',
		time: '#v-time',
	};
	for (const view in views) one(views[view]).setAttribute('aria-pressed', S.view === view);
	one('#mini').hidden = S.view === 'sandwich';
	one('#group').value = S.by;
	one('#weight').value = weightName();
	one('#colours').value = S.colours;
	one('#heatby').value = S.heat;
	one('#heatlabel').hidden = one('#heat').hidden = S.view !== 'time' || !V.data.sideSlices;
	one('#wide').value = S.width;
	one('#widelabel').hidden = !V.sides;
	one('#legend').hidden = !isByChange();
	one('#legend').replaceChildren(...(isByChange() ? legend() : []));
	for (const [id, key] of [
		['reverse', 'reverse'],
		['down', 'down'],
		['byname', 'byName'],
		['allframes', 'allFrames'],
		['case', 'exact'],
		['details', 'panel'],
	])
		one('#' + id).setAttribute('aria-pressed', S[key]);
	if (one('#find').value !== S.find) one('#find').value = S.find;
	const theme = themeName();
	for (const s of V.switches) {
		const isOn = s.isOn();
		s.button.setAttribute('aria-pressed', isOn);
		s.button.querySelector('small').textContent = s.share + (isOn === true ? '' : isOn ? ' partly off' : ' off');
		s.button.querySelector('i').style.background = categoryColour(s.colourName, theme);
	}
	showSwitches();
	if (V.more) V.more.sync();
	one('#whole').hidden = !S.range && !S.range2 && !S.request;
	one('#stage').hidden = S.view === 'table';
	for (const id of ['#nav', '#switches']) showOverflow(one(id));
	one('#table').hidden = S.view !== 'table';
	one('#panel').hidden = !S.panel || S.view === 'table';
	one('#found').textContent = foundWords();
	one('#found').classList.toggle('bad', !!V.searchError);
	for (const id of ['#prev', '#next']) one(id).disabled = !V.foundNodes || !V.foundNodes.length;
	one('#what').textContent = whatWords();
	one('#ofall').hidden = S.view !== 'wakers' || V.ofLabel < 0;
};
// A toolbar that does not fit says that it scrolls.
function showOverflow(box) {
	box.classList.toggle('scrolls', box.scrollWidth - box.scrollLeft > box.clientWidth + 1);
}
function foundWords() {
	if (V.searchError) return V.searchError;
	if (!S.find) return '';
	if (!V.foundNodes.length) return V.foundFolded ? 'folded: see All frames' : 'nothing found';
	return `${percent(V.foundShare, V.total)} · ${plural(V.foundNodes.length, 'frame')}`;
}
// Blocked time that was no wait for anybody, as far as it is left out.
function foldedIdle() {
	const { waits, about } = V.data;
	let sum = 0;
	about.facets.forEach((facet, f) => {
		if (!facet.categories.some((c, k) => c.idle && S.off[f].has(k))) return;
		for (let i = 0; i < waits.cnt; i++) {
			const k = waits.facets[f][i];
			if (facet.categories[k].idle && S.off[f].has(k))
				sum += waits.classes.reduce((n, c, bit) => n + (S.classes & (1 << bit) && categoryOf(f, i, bit) === k ? c[i] : 0), 0);
		}
	});
	return sum;
}
function whatWords() {
	const all = V.data.about.selected + (S.classes & (1 << ON_CPU) ? V.onCpu : 0),
		parts = [];
	if (S.view === 'sandwich') parts.push(`Callers (above) and callees (below) of ${S.label}`);
	if (V.sides && V.ofWakes) parts.push(V.ofLabel >= 0 ? `Who ended the waits of ${V.labels.text[V.ofLabel]}` : 'Who ended the waits');
	if (V.sides) return [...parts, ...changeParts()].filter(Boolean).join(' · ');
	if (V.isOne) parts.push(V.more.words());
	else if (V.isRanged)
		parts.push(
			'Range ' +
				rangeWords(S.range) +
				(S.range2 ? `, compared with ${rangeWords(S.range2)} per second` : ''),
		);
	if (S.view === 'wakers')
		parts.push(
			V.ofLabel >= 0 ? `Who ended the waits of ${V.labels.text[V.ofLabel]}` : 'Who ended the waits',
		);
	let shown = amount(V.total) + (V.isOne && !V.data.about.rowsAre ? ' off CPU here' : '');
	if (!S.count && !V.ofWakes && !V.isRanged && S.view !== 'sandwich' && all - V.total > all * 1e-9) {
		const idle = foldedIdle(),
			off = all - V.total,
			words = idle > off * 0.999 ? `${time(off)} of idle time is off` : `${time(off)} is off` + (idle ? `, ${time(idle)} of it idle` : '');
		shown += ` of ${time(all)}; ${words}`;
	}
	parts.push(shown);
	if (V.total === 0 && !V.isOne) parts.push(nothingWords());
	return parts.join(' · ');
}

// ---- the graph's box

const PRINT_ROWS = 48; // from the root on: what a sheet holds

V.scroll = () => (!V.printing ? one('#scroll').scrollTop : S.down || V.panes[1] ? 0 : V.tall - V.painter.height);
V.onGraph = (target) =>
	target.id === 'tree' ||
	target === document.body ||
	(one('#stage').contains(target) && target.tagName !== 'BUTTON');
// What there is room for changes with the views: the root, which is below, stays in sight.
V.seen = (box) => {
	V.height = box.clientHeight;
	V.bottom = box.scrollTop + V.height;
};
V.measure = () => {
	const box = one('#scroll'),
		isOther = V.height !== box.clientHeight;
	if (!S.down && V.height && isOther) box.scrollTop = V.bottom - box.clientHeight;
	V.painter.resize(box.clientWidth, V.printing ? Math.min(paneRows(), PRINT_ROWS) * ROW : box.clientHeight);
	return isOther;
};
// After rows came or went: how tall the page of frames is, and where it is scrolled to.
V.place = () => {
	const box = one('#scroll'),
		key = [V.keys.trees, S.down, S.view === 'flame', S.zoom].join();
	one('#tall').style.height = V.tall + 'px';
	if (V.placed !== key) box.scrollTop = S.y !== null && !V.placed ? S.y * ROW : startScroll(box);
	V.placed = key;
	V.seen(box);
};
function startScroll(box) {
	const { pane, node } = V.selected,
		y = (pane.base + pane.step * pane.layout.tree.depth[node]) * ROW;
	return pane.step < 0 && pane.index === 0
		? y + 2 * ROW - box.clientHeight
		: y - (V.panes[1] ? box.clientHeight / 2 : node ? 2 * ROW : 0);
}

function ring(element, pane, node) {
	const { layout } = pane,
		p = layout.placeOf[node];
	element.hidden = p < 0 || V.empty;
	if (element.hidden) return;
	const scale = V.painter.width / (pane.x1 - pane.x0),
		x = Math.max(0, (layout.left[p] - pane.x0) * scale);
	const to = Math.min(V.painter.width, (layout.left[p] + layout.total[node] - pane.x0) * scale);
	const y = (pane.base + pane.step * layout.tree.depth[node]) * ROW - V.scroll();
	element.hidden = to < 0 || x > V.painter.width || y < -ROW || y > V.painter.height;
	Object.assign(element.style, {
		transform: `translate(${x}px,${y}px)`,
		width: `${Math.max(2, to - x)}px`,
		height: `${ROW - 1}px`,
	});
}

V.afterDraw = () => {
	ring(one('#ring'), V.selected.pane, V.selected.node);
	V.seen(one('#scroll'));
	const pane = V.zoomPane,
		all = pane.layout.width || 1,
		view = one('#miniview').style;
	view.left = `${(100 * pane.x0) / all}%`;
	view.width = `${Math.max(0.3, (100 * (pane.x1 - pane.x0)) / all)}%`;
	one('#reset').disabled = !S.zoom && !S.x;
};

function drawMini() {
	const box = one('#mini'),
		key = [V.keys.theme, V.keys.search, box.clientWidth, V.painter.ratio].join();
	V.mini.resize(box.clientWidth, 44);
	if (V.miniKey !== key && box.clientWidth) timed('mini', () => V.mini.drawSmall(V.panes[0], V.looks));
	V.miniKey = key;
}

V.afterUpdate = () => {
	drawMini();
	showStatus();
	showAria();
	showTable();
	showPanel();
	one('#crumbs').replaceChildren(...crumbs());
	one('#empty').hidden = !V.empty;
};

function crumbs() {
	const pane = V.zoomPane,
		path = pane.zoomed > 0 ? pane.layout.tree.path(pane.zoomed) : [];
	const shown = path.length > 7 ? [path[0], ...path.slice(-5)] : path;
	return shown.map((node, i) =>
		make('button', {
			type: 'button',
			text:
				(i === 1 && path.length > 7 ? '… ' : '') +
				(node ? V.labels.text[pane.layout.tree.label[node]] : 'all'),
			onclick: () => zoomTo(pane, node),
		}),
	);
}

function showStatus() {
	const at = V.hovered || V.selected,
		text = describe(at.pane, at.node);
	one('#status b').textContent = V.empty ? '' : text.name;
	one('#status span').textContent = V.empty ? '' : summary(at.pane, at.node);
}

// ---- mouse

function frameAt(e) {
	const box = one('#scroll').getBoundingClientRect(),
		row = Math.floor((e.clientY - box.top + V.scroll()) / ROW);
	const share = (e.clientX - box.left) / V.painter.width;
	for (const pane of V.panes) {
		const d = (row - pane.base) / pane.step;
		if (d < pane.from || d >= pane.layout.depth) continue;
		const node = nodeAt(pane.layout, d, pane.x0 + share * (pane.x1 - pane.x0));
		if (node >= 0) return { pane, node, share };
	}
	return null;
}
function hover(e) {
	const found = e ? frameAt(e) : null,
		tip = one('#tip');
	if (!found && !V.hovered) return;
	V.hovered = found;
	one('#hover').hidden = !found;
	tip.hidden = !found;
	showStatus();
	if (!found) return;
	ring(one('#hover'), found.pane, found.node);
	tip.replaceChildren(
		make('b', { text: describe(found.pane, found.node).name }),
		make('span', { text: summary(found.pane, found.node) }),
	);
	const box = tip.getBoundingClientRect();
	const above = e.clientY + 20 + box.height > innerHeight;
	const x = Math.min(e.clientX + 14, innerWidth - box.width - 8);
	tip.style.transform = `translate(${x}px,${above ? e.clientY - box.height - 10 : e.clientY + 20}px)`;
}

function mouse() {
	const box = one('#scroll');
	let drag = null;
	box.addEventListener('pointerdown', (e) => {
		if (e.button || e.offsetX > box.clientWidth) return;
		const found = frameAt(e),
			pane = found ? found.pane : V.zoomPane;
		drag = {
			x: e.clientX,
			y: e.clientY,
			x0: pane.x0,
			top: box.scrollTop,
			pane,
			moved: false,
			id: e.pointerId,
		};
	});
	box.addEventListener('pointermove', (e) => {
		if (!drag) return hover(e);
		const dx = e.clientX - drag.x,
			dy = e.clientY - drag.y;
		if (!drag.moved && Math.hypot(dx, dy) < 4) return;
		if (!drag.moved) box.setPointerCapture(drag.id);
		drag.moved = true;
		hover(null);
		box.scrollTop = drag.top - dy;
		const wide = drag.pane.x1 - drag.pane.x0;
		setSpan(drag.pane, drag.x0 - (dx / V.painter.width) * wide, wide);
	});
	box.addEventListener('pointerup', (e) => {
		const was = drag,
			found = frameAt(e);
		drag = null;
		if (was && !was.moved && found) zoomTo(found.pane, found.node);
		one('#tree').focus({ preventScroll: true });
	});
	box.addEventListener('pointercancel', () => {
		drag = null;
	});
	box.addEventListener('pointerleave', () => hover(null));
	box.addEventListener('contextmenu', (e) => {
		const found = frameAt(e);
		if (!found) return;
		showSandwich(found.pane.layout.tree.label[found.node]);
		e.preventDefault();
	});
	box.addEventListener(
		'wheel',
		(e) => {
			const found = frameAt(e),
				pane = found ? found.pane : V.zoomPane;
			const share = (e.clientX - box.getBoundingClientRect().left) / V.painter.width,
				sideways = e.shiftKey ? e.deltaY || e.deltaX : e.deltaX;
			if (e.ctrlKey || e.metaKey) magnify(pane, Math.exp(-e.deltaY / 300), share);
			else if (Math.abs(sideways) > Math.abs(e.deltaY) || e.shiftKey)
				pan(pane, sideways / V.painter.width);
			else return;
			e.preventDefault();
		},
		{ passive: false },
	);
	box.addEventListener('scroll', () => {
		draw();
		S.y = Math.round(box.scrollTop / ROW);
	});
	minimapMouse();
}
function minimapMouse() {
	const mini = one('#mini');
	let grab = null;
	const to = (e) => {
		const pane = V.zoomPane,
			wide = pane.x1 - pane.x0,
			share = (e.clientX - mini.getBoundingClientRect().left) / mini.clientWidth;
		setSpan(pane, (share - grab) * pane.layout.width, wide);
	};
	mini.addEventListener('pointerdown', (e) => {
		const pane = V.zoomPane,
			share = ((e.clientX - mini.getBoundingClientRect().left) / mini.clientWidth) * pane.layout.width;
		const inside = share >= pane.x0 && share <= pane.x1;
		grab = (inside ? share - pane.x0 : (pane.x1 - pane.x0) / 2) / pane.layout.width;
		mini.setPointerCapture(e.pointerId);
		to(e);
	});
	mini.addEventListener('pointermove', (e) => {
		if (grab !== null) to(e);
	});
	mini.addEventListener('pointerup', () => {
		grab = null;
	});
}

// ---- print, start

function wire() {
	const click = (id, run) => one(id).addEventListener('click', run);
	click('#v-flame', () => setView('flame'));
	click('#v-table', () => setView('table'));
	click('#v-sandwich', () => setView('sandwich'));
	click('#v-wakers', () => showWakers(''));
	click('#v-time', () => setView('time'));
	click('#reverse', KEYS.r);
	click('#down', KEYS.i);
	click('#byname', KEYS.o);
	click('#allframes', KEYS.a);
	click('#ofall', () => showWakers('', true));
	click('#foot', () => footWords(!V.footOpen));
	click('#morefindings', () => {
		sayMoreFindings(one('#findings').classList.toggle('open'));
		update(false);
	});
	click('#case', KEYS.e);
	click('#details', KEYS.d);
	click('#theme', KEYS.t);
	click('#helpbutton', KEYS['?']);
	click('#reset', KEYS['0']);
	click('#prev', KEYS.N);
	click('#next', KEYS.n);
	click('#link', copyLink);
	one('#find').addEventListener('input', () => setFind(one('#find').value));
	options(
		one('#group'),
		groups().map((by) => [by, GROUP_WORDS[by]]),
		setGroup,
	);
	options(one('#weight'), [...weightWords(), ['some', 'as switched']], setWeight);
	options(
		one('#colours'),
		colourModes().map((m) => [m, COLOUR_WORDS[m] || 'by ' + m]),
		(value) => set('colours', value),
	);
	options(one('#heatby'), Object.entries({ time: 'by time', threads: 'by threads' }), (value) =>
		set('heat', value),
	);
	options(one('#wide'), Object.entries(WIDTH_WORDS), (value) => set('width', value));
	document.addEventListener('keydown', onKey);
	window.addEventListener('resize', () => update(false));
	for (const event of ['hashchange', 'popstate']) window.addEventListener(event, () => goTo(location.hash));
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => update(false));
	for (const event of ['beforeprint', 'afterprint'])
		window.addEventListener(event, () => {
			V.printing = event[0] === 'b';
			update(false);
		});
	click('#whole', () => {
		if (S.request) return V.more.choose(null);
		S.range2 = null;
		return setRange(null, true);
	});
	for (const id of ['#nav', '#switches']) one(id).addEventListener('scroll', () => showOverflow(one(id)));
	mouse();
	heatMouse();
}

async function goTo(hash) {
	hashToState(hash);
	if (S.view === 'wakers') {
		if (V.data.about.hasWakers) await readWakers(V.data);
		else S.view = 'flame';
	}
	if (S.view === 'time' || S.range || S.range2) await readSlices(V.data);
	if (S.view === 'time' && !V.data.sideSlices && !V.more) S.view = 'flame';
	// A link may be of another recording.
	['range2', 'range'].forEach((key, side) => {
		const s = V.data.sideSlices && V.data.sideSlices[side];
		if (S[key] && !(s && S[key][0] <= S[key][1] && S[key][1] < s.cnt)) S[key] = null;
	});
	if (!S.range && !V.data.about.diff) S.range2 = null;
	if (!groups().includes(S.by)) S.by = defaults.by;
	if (V.more) V.more.check();
	update(false);
}

async function start() {
	const began = performance.now(),
		data = (V.data = await readCore()),
		view = data.about.view;
	V.timings.read = performance.now() - began;
	V.labels = new Labels(data);
	V.rootLabel = V.labels.add('all');
	V.looks = { found: null };
	V.painter = new Painter(one('#graph'));
	V.mini = new Painter(one('#minigraph'));
	V.selected = null;
	Object.assign(S, {
		by: view.by,
		reverse: view.reverse,
		down: view.down,
		classes: WEIGHTS[view.weight],
		count: view.weight === 'count',
		view: view.wakers ? 'wakers' : 'flame',
	});
	if (V.more) await V.more.read();
	V.onCpu = data.waits.classes[ON_CPU].reduce((a, b) => a + b, 0);
	S.colours = view.colours || colourModes()[0];
	if (data.about.diff) {
		await readErrors(data);
		S.width = data.about.diff.wide;
	}
	S.off = data.about.facets.map(
		(f) => new Set([...f.categories.keys()].filter((i) => f.categories[i].idle && !view.idle)),
	);
	defaults = { ...S, off: S.off.map((set) => new Set(set)) };
	makeSwitches();
	headWords();
	makeFindings();
	footWords();
	wire();
	one('#v-time').hidden = !document.getElementById('slices') && !V.more;
	one('#v-wakers').hidden = !data.about.hasWakers;
	await goTo(location.hash);
	document.documentElement.dataset.ready = '1';
	V.timings.start = performance.now() - began;
	window.offcpu = { V, S, tableRows, heatCells };
}
start()
	.catch((e) => {
		document.documentElement.dataset.ready = 'failed';
		one('#empty').hidden = false;
		one('#empty').textContent = 'This page cannot show its recording: ' + e.message;
	})
	.then(() => hold.remove());
