// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What reasons are called here, and their colours.

// [hue, saturation, lightness of light, of dark].  A family keeps to its hues.  Any two are at least 20 apart in CIE Lab,
// in both themes, and from the grey of idle time (tests/web/test_serve.py).
const INKS = {
	on_cpu: [8, 46, 61, 50],
	'cpu.queue': [47, 58, 61, 50],
	'cpu.throttled': [57, 92, 61, 50],
	'network.receive': [200, 92, 61, 50],
	'network.send': [220, 92, 61, 50],
	'network.connect': [186, 92, 55, 46],
	'network.accept': [206, 82, 43, 34],
	'disk.read': [34, 58, 40, 74],
	'disk.write': [24, 92, 76, 66],
	'disk.sync': [22, 92, 61, 50],
	'disk.metadata': [36, 92, 58, 50],
	'lock.mutex': [338, 82, 61, 50],
	'lock.rwlock': [330, 70, 76, 70],
	'lock.condition': [318, 92, 58, 54],
	'lock.semaphore': [332, 46, 40, 38],
	'lock.gil': [354, 92, 58, 50],
	'lock.kernel': [318, 58, 58, 46],
	'lock.other': [358, 92, 70, 34],
	'lock.pinned': [2, 58, 32, 26],
	event_loop: [236, 92, 61, 50],
	pool_idle: [238, 92, 49, 34],
	sleep: [262, 34, 61, 50],
	child_exit: [125, 58, 61, 50],
	pipe: [168, 82, 61, 50],
	terminal: [114, 92, 52, 50],
	'memory.file': [290, 92, 61, 50],
	'memory.swap': [290, 70, 40, 66],
	'memory.reclaim': [290, 82, 73, 34],
	stopped: [126, 20, 52, 50],
	device: [84, 92, 58, 74],
	other: [210, 26, 40, 70],
};
// Families, the classes of a process's bar, and the kinds of time.
const INK_OF = {
	network: 'network.receive',
	disk: 'disk.sync',
	lock: 'lock.mutex',
	memory: 'memory.file',
	cpu: 'cpu.queue',
	'run queue': 'cpu.queue',
	throttled: 'cpu.throttled',
	'on-CPU': 'on_cpu',
	'on CPU': 'on_cpu',
	runnable: 'cpu.queue',
	preempted: 'cpu.throttled',
	blocked: 'network.receive',
};

function reasonColour(name, theme) {
	const dark = theme === 'dark';
	if (name === 'idle' || name === 'not listed' || name === '(others)') return css(rgb(215, dark ? 8 : 14, dark ? 38 : name === '(others)' ? 76 : 88));
	const [hue, saturation, light, night] = INKS[INK_OF[name] || name] || INKS.other;
	return css(rgb(hue, dark ? saturation * 0.8 : saturation, dark ? night : light));
}

// The field's words: a wait for a CPU is in the run queue, wherever it is told.
const REASON_WORDS = { 'cpu.queue': 'run queue', 'cpu.throttled': 'throttled by cgroup', cpu: 'run queue, throttled', on_cpu: 'on CPU', 'on-CPU': 'on CPU', runnable: 'run queue', 'lock.gil': 'lock GIL' };
function reasonWords(name) {
	return REASON_WORDS[name] || name.replace('.', ' ').replace('_', ' ');
}
function isForCpu(reason) {
	return reason === 'cpu.queue' || reason === 'cpu.throttled';
}
