// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What is shown, all of it: the fragment of the address holds it, so a link shows the same again.  Times are Unix
// milliseconds here, and in the fragment what people write: 2026-11-26T14:32:10Z.

const SPANS = [
	['15 min', 900e3],
	['1 h', 3600e3],
	['6 h', 6 * 3600e3],
	['24 h', 86400e3],
	['7 d', 7 * 86400e3],
	['30 d', 30 * 86400e3],
];
const SPAN_MIN = 60e3,
	SPAN_MAX = 400 * 86400e3;

const S = {
	live: true, // the view's end is the history's
	last: 3600e3, // of a live view: how long it is, once there is so much
	from: 0,
	to: 0, // of the time line
	range: null, // [from, to]: A
	with: null, // [from, to]: B, what A is compared with
	by: 'reason', // reason, process, service, class
	off: new Set(['idle']), // series that are left out
	process: '',
	service: '',
	reason: '',
	grep: '',
	tab: 'stacks', // stacks, flame, compare, services
	group: 'wait', // of the table
	idle: false, // idle waits are in the table, too
	theme: '', // '', light, dark
};
// What is known: extent, line, summary of the range, and what has been asked for.
const V = { extent: null, line: null, summary: null, shown: 0, read: {} };

const BYS = ['reason', 'process', 'service', 'class'],
	TABS = ['stacks', 'flame', 'compare', 'services'],
	GROUPS = ['wait', 'reason', 'object', 'process', 'service', 'comm', 'thread', 'syscall', 'route'],
	FILTERS = ['process', 'service', 'reason', 'grep'];

function instant(ms) {
	return new Date(Math.round(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}
function rangeText(range) {
	return range.map(instant).join('/');
}
function rangeOf(text) {
	const parts = String(text).split('/').map(Date.parse);
	return parts.length === 2 && parts[0] < parts[1] && parts[1] - parts[0] <= SPAN_MAX ? parts : null;
}

function stateToHash() {
	const parts = [];
	if (!S.live) parts.push('view=' + rangeText([S.from, S.to]));
	else if (S.last !== 3600e3) parts.push('last=' + Math.round(S.last / 1000) + 's');
	if (S.range) parts.push('range=' + rangeText(S.range));
	if (S.with) parts.push('with=' + rangeText(S.with));
	for (const [key, usual] of [
		['by', 'reason'],
		...FILTERS.map((key) => [key, '']),
		['tab', 'stacks'],
		['group', 'wait'],
		['theme', ''],
	])
		if (S[key] !== usual) parts.push(key + '=' + encodeURIComponent(S[key]));
	if (S.idle) parts.push('idle=1');
	const off = [...S.off].sort().map(encodeURIComponent).join(',');
	if (off !== 'idle') parts.push('off=' + off);
	return parts.join('&');
}

function hashToState(hash) {
	const data = {};
	for (const part of hash.replace(/^#/, '').split('&')) {
		const at = part.indexOf('=');
		if (at > 0) data[part.slice(0, at)] = part.slice(at + 1);
	}
	const view = rangeOf(data.view),
		last = parseInt(data.last, 10) * 1000;
	S.live = !view;
	S.last = last >= SPAN_MIN && last <= SPAN_MAX ? last : 3600e3;
	[S.from, S.to] = view || [0, S.last];
	S.range = rangeOf(data.range);
	S.with = rangeOf(data.with);
	S.by = BYS.includes(data.by) ? data.by : 'reason';
	S.tab = TABS.includes(data.tab) ? data.tab : 'stacks';
	S.group = GROUPS.includes(data.group) ? data.group : 'wait';
	S.theme = ['light', 'dark'].includes(data.theme) ? data.theme : '';
	for (const key of FILTERS) S[key] = plain(data[key] || '');
	S.idle = data.idle === '1';
	S.off = new Set(data.off === undefined ? ['idle'] : data.off.split(',').filter(Boolean).map(plain));
}
// Half an escape is as if it were not there.
function plain(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return '';
	}
}

function writeAddress(isNew) {
	const hash = stateToHash(),
		url = location.pathname + (hash ? '#' + hash : '');
	if (isNew && url !== location.pathname + location.hash) history.pushState(null, '', url);
	else history.replaceState(null, '', url);
}

// The range that everything below the time line is about.
function shownRange() {
	return clamped(S.range || [S.from, S.to]);
}
function clamped(range) {
	return [Math.max(range[0], V.extent.from), Math.min(range[1], V.extent.to)];
}

// A range is read in whole windows, minutes or hours.  What was read is what is marked and told.
function noteRead(key, windows) {
	const [from, to] = S[key],
		begins = windows.start_unix_ns / 1e6;
	V.read[key] = { of: String(S[key]), range: [Math.min(from, begins), Math.max(to, begins + windows.duration_ns / 1e6)] };
}
function marked(key) {
	const read = V.read[key];
	return S[key] && read && read.of === String(S[key]) ? read.range : S[key];
}

function themeName() {
	return S.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

// ---- times for people: this browser's

const two = (n) => String(n).padStart(2, '0');
function clock(ms, withSeconds) {
	const d = new Date(ms);
	return `${two(d.getHours())}:${two(d.getMinutes())}${withSeconds ? ':' + two(d.getSeconds()) : ''}`;
}
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'],
	MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
function day(ms) {
	const d = new Date(ms);
	return `${DAYS[d.getDay()]} ${d.getDate()} ${MONTHS[d.getMonth()]}`;
}
function isSameDay(a, b) {
	return new Date(a).toDateString() === new Date(b).toDateString();
}
// "14:32:10 to 14:33:40", with days where it is not today.
function rangeWords(range) {
	const [from, to] = range,
		seconds = from % 60e3 !== 0 || to % 60e3 !== 0 || to - from < 600e3,
		today = isSameDay(from, Date.now());
	const a = (today && isSameDay(from, to) ? '' : day(from) + ' ') + clock(from, seconds);
	return `${a} to ${isSameDay(from, to) ? '' : day(to) + ' '}${clock(to, seconds)}`;
}
function spanWords(ms) {
	const s = Math.round(ms / 1000);
	if (s < 120) return `${s} s`;
	if (s < 3600) return `${+(s / 60).toFixed(1)} min`;
	return s < 172800 ? `${+(s / 3600).toFixed(1)} h` : `${+(s / 86400).toFixed(1)} days`;
}
