// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Puts the page together: an update reads what has changed and draws it.

const POLL_MS = 5000;
const STALE_MS = 90e3;

const REASONS =
	'network disk lock memory cpu network.receive network.send network.connect network.accept disk.read disk.write disk.sync disk.metadata lock.mutex lock.rwlock lock.condition lock.semaphore lock.gil lock.other lock.kernel lock.pinned event_loop pool_idle sleep child_exit pipe terminal memory.file memory.swap memory.reclaim cpu.throttled cpu.queue stopped device decision other'.split(
		' ',
	);

function drawFrame() {
	document.documentElement.dataset.theme = themeName();
	for (const [i, [, span]] of SPANS.entries()) one('#spans').children[i].setAttribute('aria-pressed', String(S.live && Math.abs(S.last - span) < 1000));
	one('#by').value = S.by;
	one('#f-process').value = S.process;
	one('#f-reason').value = REASONS.includes(S.reason) ? S.reason : '';
	one('#f-grep').value = S.grep;
	one('#f-service').value = S.service;
	one('#unfilter').hidden = !isFiltered();
	one('#live').setAttribute('aria-pressed', String(S.live));
	drawSub();
}
function drawSub() {
	const e = V.extent,
		age = e.now + (Date.now() - e.readAt) - e.to_unix_ns / 1e6,
		stale = age > STALE_MS,
		words = [e.host, `${spanWords(e.to - e.from)} of history`];
	words.push(stale ? `nothing new since ${rangeWords([e.to, e.to]).split(' to ')[0]}: is offcpu agent running?` : `up to ${clock(e.to, true)}`);
	one('#sub').textContent = words.join(' · ');
	one('#sub').classList.toggle('stale', stale);
	document.title = `${e.host}: off-CPU history`;
}

function draw() {
	drawFrame();
	drawLine();
	drawRequests();
	drawRange();
}

function settleView() {
	if (!S.live) return;
	// a young history has not so much: what there is fills the line
	const begins = Math.min(V.extent.from, V.extent.to - SPAN_MIN);
	[S.from, S.to] = [Math.max(V.extent.to - S.last, begins), V.extent.to];
}

// Reads and draws what the state asks for; isNew: the back button leads to what was before.
async function update(isNew) {
	const mine = ++V.shown;
	settleView();
	writeAddress(isNew);
	drawFrame();
	placeRanges();
	readRange();
	try {
		if ((await readLine(plotWidth())) && mine === V.shown) drawLine();
		if (V.line && mine === V.shown) await readRequests(V.line.step);
		await readIncidents();
	} catch (e) {
		if (markField(e.message)) return;
		V.line = null;
		one('#legend').replaceChildren();
		trouble(e.message);
	} finally {
		document.documentElement.dataset.ready = 'yes';
	}
}

async function poll() {
	const before = V.extent && V.extent.to_unix_ns;
	try {
		if (document.visibilityState === 'visible' && (await readExtent())) {
			if (before === null || before === undefined) await begin();
			else if (S.live && V.extent.to_unix_ns !== before) await follow();
			else drawSub();
		}
	} catch (e) {
		one('#sub').textContent = e.message;
		one('#sub').classList.add('stale');
	}
	setTimeout(poll, POLL_MS);
}
// What is below the time line changes less often the more there is to read.
async function follow() {
	settleView();
	const due = (S.to - S.from) / 60;
	drawFrame();
	if (await readLine(plotWidth())) drawLine();
	if (V.line) await readRequests(V.line.step);
	await readIncidents();
	if (!S.range && Date.now() - (V.rangeAt || 0) > Math.max(POLL_MS, due) && S.tab === 'stacks') {
		V.rangeAt = Date.now();
		await readRange(true);
	}
}

async function begin() {
	document.documentElement.dataset.ready = '';
	hashToState(location.hash);
	V.rangeAt = Date.now();
	await update(false);
}

function listen() {
	const on = (id, event, fn) => one(id).addEventListener(event, fn);
	one('#spans').append(...SPANS.map(([text, span]) => make('button', { type: 'button', text, onclick: () => setLast(span) })));
	on('#live', 'click', goLive);
	on('#link', 'click', KEYS.l);
	on('#theme', 'click', turnTheme);
	on('#helpbutton', 'click', () => showHelp(one('#help').hidden));
	on('#back', 'click', () => panBy(-0.5));
	on('#forth', 'click', () => panBy(0.5));
	on('#wide', 'click', KEYS['-']);
	on('#near', 'click', KEYS['+']);
	on('#whole', 'click', () => {
		S.range = S.with = null;
		if (S.tab === 'compare') S.tab = 'stacks';
		update(true);
	});
	on('#zoom', 'click', zoomToRange);
	on('#by', 'change', (e) => {
		S.by = e.target.value;
		update(true);
	});
	one('#f-reason').append(make('option', { value: '', text: 'any' }), ...REASONS.map((r) => make('option', { value: r, text: (r.includes('.') ? '– ' : '') + reasonWords(r) })));
	on('#f-process', 'change', (e) => setFilter({ process: e.target.value.trim() }));
	on('#f-service', 'change', (e) => setFilter({ service: e.target.value.trim() }));
	on('#f-reason', 'change', (e) => setFilter({ reason: e.target.value }));
	on('#f-grep', 'change', (e) => setFilter({ grep: e.target.value }));
	on('#filters', 'submit', (e) => e.preventDefault());
	on('#unfilter', 'click', () => setFilter(NO_FILTER));
	for (const tab of TABS) on('#t-' + tab, 'click', () => setTab(tab));
	document.addEventListener('keydown', onKey);
	addEventListener('hashchange', begin);
	addEventListener('popstate', begin);
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => V.extent && draw());
	new ResizeObserver(() => {
		clearTimeout(listen.timer);
		listen.timer = setTimeout(() => {
			drawLine();
			drawRequests();
			drawHeat();
		}, 60);
	}).observe(one('#line'));
	watchPointer();
}

(async function () {
	hashToState(location.hash);
	try {
		if (!S.theme) S.theme = localStorage.getItem('offcpu-theme') || '';
	} catch {
		// no storage
	}
	document.documentElement.dataset.theme = themeName();
	listen();
	await poll();
	document.documentElement.dataset.ready = 'yes';
})();
