// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Colours of frames.  A category has a hue; names vary it a little, so that neighbours stay apart.

// [hue, saturation] by the first word of a category; the second word shifts the hue.  What runs is stronger than all that
// waits: hot beside cold, also for who sees no hues.
const HUES = {
	sleeping: [207, 62],
	uninterruptible: [16, 78],
	stopped: [140, 30],
	idle: [215, 9],
	on: [45, 80],
	running: [14, 96, 10],
	blocked: [207, 62],
	runnable: [45, 80],
	preempted: [283, 48],
	cpu: [45, 80],
	run: [45, 80],
	throttled: [45, 80],
	network: [196, 60],
	disk: [18, 78],
	lock: [342, 62],
	event: [226, 22],
	pool: [215, 9],
	sleep: [250, 40],
	child: [122, 30],
	pipe: [166, 44],
	terminal: [100, 32],
	memory: [306, 46],
	device: [78, 42],
	decision: [330, 30],
	other: [215, 22],
	user: [205, 62],
	kernel: [28, 68],
	hot: [8, 80],
};
const SHADES = 16;

function textHash(text) {
	let h = 0x811c9dc5;
	for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	h ^= h >>> 16;
	h = Math.imul(h, 0x85ebca6b);
	return (h ^ (h >>> 13)) >>> 0;
}

function rgb(hue, saturation, lightness) {
	const s = saturation / 100,
		l = lightness / 100,
		a = s * Math.min(l, 1 - l);
	return [0, 8, 4].map((n) => {
		const k = (n + hue / 30) % 12;
		return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
	});
}
const pack = (c) => ((255 << 24) | (c[2] << 16) | (c[1] << 8) | c[0]) >>> 0; // as a Uint32Array lies over RGBA bytes
const mix = (a, b, share) => a.map((v, i) => Math.round(v * (1 - share) + b[i] * share));
const css = (c) => `rgb(${c.join(',')})`;

const THEMES = {
	light: {
		back: [255, 255, 255],
		text: '#10151f',
		lightness: 77,
		kernel: 69,
		muted: 1,
		strong: -1,
		match: [245, 112, 208],
		dim: 0.62,
		group: [216, 18, 86],
	},
	dark: {
		back: [21, 24, 31],
		text: '#f1f4f9',
		lightness: 33,
		kernel: 27,
		muted: 0.72,
		strong: 0.7,
		match: [176, 20, 132],
		dim: 0.6,
		group: [216, 14, 27],
	},
};

function categoryHue(name) {
	const words = name.split(/[ .]/),
		known = name === 'on CPU' ? HUES.running : HUES[words[0]];
	if (!known) return [textHash(name) % 360, 45];
	return words.length > 1 && words[0] !== 'on' && words[0] !== 'idle'
		? [(known[0] + (textHash(words[1]) % 24) - 8 + 360) % 360, known[1]]
		: known;
}

// The colour of a switch or a key: the middle of what frames of the category have.
function categoryColour(name, theme) {
	const t = THEMES[theme],
		[hue, saturation, strength = 0] = categoryHue(name);
	return css(rgb(hue, saturation * t.muted, (theme === 'dark' ? 48 : t.lightness - 6) + strength * t.strong));
}

// table[(category * 3 + kind) * SHADES + shade]; kind as in Labels.  dim: the same, for what a search does not find.
function colourTable(names, theme) {
	const t = THEMES[theme],
		table = new Uint32Array(names.length * 3 * SHADES),
		dim = new Uint32Array(table.length);
	names.forEach((name, category) => {
		const [hue, saturation, strength = 0] = categoryHue(name);
		for (let kind = 0; kind < 3; kind++) {
			for (let shade = 0; shade < SHADES; shade++) {
				const u = (shade % 4) / 3 - 0.5,
					v = (shade >> 2) / 3 - 0.5,
					at = (category * 3 + kind) * SHADES + shade;
				const c =
					kind === 2
						? rgb(...t.group)
						: rgb(
								(hue + u * 14 + 360) % 360,
								saturation * t.muted + v * 8,
								(kind ? t.kernel : t.lightness) + strength * t.strong + v * 8 + u * 3,
							);
				table[at] = pack(c);
				dim[at] = pack(mix(c, t.back, t.dim));
			}
		}
	});
	return {
		table,
		dim,
		match: pack(t.match),
		matchFar: pack(mix(t.match, t.back, 0.5)),
		back: pack(t.back),
		text: t.text,
	};
}

const MODULE_HUES = 24;
// By label: its shade, and its category where that is a matter of the label alone.
function labelLooks(labels, colours) {
	const shade = new Uint8Array(labels.cnt),
		category = new Uint8Array(labels.cnt);
	for (let i = 0; i < labels.cnt; i++) {
		shade[i] = textHash(labels.text[i]) % SHADES;
		if (colours === 'kind') category[i] = labels.kind[i] === 1;
		else if (colours === 'module') category[i] = textHash(labels.module[i]) % MODULE_HUES;
	}
	return { shade, category };
}
