// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The recording, read from the packed blocks of the page (src/render/html/data.c writes them).
// Texts come from anywhere: they enter the page by textContent or fillText only.

const HIST_SLOTS = 48;
const OPEN_AT_START = 1; // of a wait's flags
const CLASSES = ['blocked', 'runnable', 'preempted', 'on CPU'];
const ON_CPU = 3;

// Reads numbers one after another.
class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}
	number() {
		const b = this.bytes;
		let byte = b[this.at++];
		if (byte < 128) return byte;
		let n = byte & 127,
			factor = 128;
		do {
			byte = b[this.at++];
			n += (byte & 127) * factor;
			factor *= 128;
		} while (byte > 127);
		return n;
	}
	signed() {
		const n = this.number();
		return n % 2 ? -(n + 1) / 2 : n / 2;
	}
	text() {
		const len = this.number();
		return new TextDecoder().decode(this.bytes.subarray(this.at, (this.at += len)));
	}
	fill(column) {
		for (let i = 0; i < column.length; i++) column[i] = this.number();
		return column;
	}
	fillDeltas(column) {
		let last = 0;
		for (let i = 0; i < column.length; i++) column[i] = last += this.signed();
		return column;
	}
}

function readTexts(r) {
	const cnt = r.number(),
		lengths = r.fill(new Uint32Array(cnt)),
		all = r.text(),
		texts = new Array(cnt);
	let at = 0;
	for (let i = 0; i < cnt; i++) texts[i] = all.substring(at, (at += lengths[i]));
	return texts;
}

function readLabels(r, data) {
	const cnt = r.number();
	data.labelCnt = cnt;
	data.labelText = new Array(cnt);
	data.labelModule = new Array(cnt);
	data.labelKernel = new Uint8Array(cnt);
	data.labelWhy = new Uint8Array(cnt);
	data.labelFolded = new Uint8Array(cnt); // tells nothing of a wait
	for (let i = 0; i < cnt; i++) {
		data.labelText[i] = data.texts[r.number()];
		data.labelModule[i] = data.texts[r.number()];
		const n = r.number();
		data.labelKernel[i] = n & 1;
		data.labelFolded[i] = (n >> 1) & 1;
		data.labelWhy[i] = n >> 2;
	}
}

function readNodes(r, data) {
	const frameLabel = r.fill(new Int32Array(r.number()));
	const cnt = r.number() + 1,
		parent = new Int32Array(cnt),
		label = new Int32Array(cnt),
		frame = new Int32Array(cnt);
	const path = [0];
	let depth = 0;
	for (let i = 1; i < cnt; i++) {
		depth += 1 - r.number();
		parent[i] = path[depth - 1];
		path[depth] = i;
	}
	for (let i = 1, fresh = 1; i < cnt; i++) {
		const f = fresh - r.number();
		if (f === fresh) fresh++;
		frame[i] = f - 1;
		label[i] = frameLabel[f - 1];
	}
	data.frameCnt = frameLabel.length;
	data.nodeParent = parent;
	data.nodeLabel = label;
	data.nodeFrame = frame;
}

function readThreads(r, data) {
	let pid = 0,
		tid = 0;
	data.threads = Array.from({ length: r.number() }, () => ({
		pid: (pid += r.signed()),
		tid: (tid += r.signed()),
		comm: data.texts[r.number()],
		process: data.texts[r.number()],
		onCpu: r.number(),
		observed: r.number(),
	}));
}

function readWaits(r, data) {
	const cnt = r.number(),
		w = (data.waits = { cnt });
	w.thread = r.fillDeltas(new Int32Array(cnt));
	w.user = r.fillDeltas(new Int32Array(cnt));
	w.kernel = r.fillDeltas(new Int32Array(cnt));
	w.flags = r.fill(new Uint8Array(cnt));
	w.object = r.fill(new Int32Array(cnt));
	w.count = r.fill(new Float64Array(cnt));
	w.samples = r.fill(new Float64Array(cnt)); // of a row of samples on CPU, which is no wait
	w.max = r.fill(new Float64Array(cnt));
	w.classes = CLASSES.map(() => r.fill(new Float64Array(cnt)));
	w.facets = data.about.facets.map(() => r.fill(new Uint16Array(cnt)));
}

async function readCore() {
	const r = new Reader(await block('core')),
		data = {};
	data.about = JSON.parse(r.text());
	data.texts = readTexts(r);
	readLabels(r, data);
	readNodes(r, data);
	readThreads(r, data);
	readWaits(r, data);
	return data;
}

// When the longest wait of each row began, in ms since 1970 (0: not known), and who ended it.
function readLongest(r, data, detail) {
	detail.began = new Float64Array(data.waits.cnt);
	detail.endedBy = [];
	for (let i = 0; i < data.waits.cnt; i++) {
		if (!r.number()) continue;
		detail.began[i] = data.about.startMs + r.signed();
		const name = data.texts[r.number()],
			tid = r.number();
		detail.endedBy[i] = name && name + (tid ? ` (${tid})` : '');
	}
}

// Distributions and source lines: only when a frame is looked at.
async function readDetail(data) {
	if (data.detail) return data.detail;
	const r = new Reader(await block('detail')),
		cnt = data.waits.cnt;
	const first = new Int32Array(cnt + 1),
		bars = [],
		slots = [];
	for (let i = 0; i < cnt; i++) {
		const n = r.number(),
			from = n && r.number();
		for (let k = 0; k < n; k++) {
			slots.push(from + k);
			bars.push(r.number());
		}
		first[i + 1] = bars.length;
	}
	const texts = () => Array.from({ length: cnt }, () => data.texts[r.number()]);
	const detail = {
		first,
		bars,
		slots,
		says: texts(), // what the wait's thread does meanwhile
		advice: texts(),
		file: [],
		line: new Int32Array(data.frameCnt),
		inlined: new Uint8Array(data.frameCnt),
	};
	for (let i = 0; i < data.frameCnt; i++) {
		detail.file.push(data.texts[r.number()]);
		const n = r.number();
		detail.line[i] = Math.floor(n / 2);
		detail.inlined[i] = n & 1;
	}
	if (data.about.hasLongest) readLongest(r, data, detail);
	return (data.detail = detail);
}

// Objects, wakers, and who ended which waits.
async function readWakers(data) {
	if (data.wakers) return data;
	const r = new Reader(await block('wakers'));
	data.objects = Array.from({ length: r.number() }, () => ({
		kind: data.texts[r.number()],
		name: data.texts[r.number()],
		place: data.texts[r.number()],
		holder: r.number(),
	}));
	data.wakers = Array.from({ length: r.number() }, () => ({
		name: data.texts[r.number()],
		pid: r.number(),
		tid: r.number(),
		user: r.number(),
		kernel: r.number(),
	}));
	const first = new Int32Array(data.waits.cnt + 1),
		waker = [],
		wait = [],
		count = [],
		blocked = [],
		runnable = [];
	for (let i = 0; i < data.waits.cnt; i++) {
		for (let n = r.number(); n > 0; n--) {
			wait.push(i);
			waker.push(r.number());
			count.push(r.number());
			blocked.push(r.number());
			runnable.push(r.number());
		}
		first[i + 1] = waker.length;
	}
	data.wakes = { first, wait, waker, count, blocked, runnable };
	return data;
}
