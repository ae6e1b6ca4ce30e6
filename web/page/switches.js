// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Switches: which classes of time and which categories of each facet count.

function switchButton(name, colour, flip, alone) {
	const key = make('i', {}),
		button = make(
			'button',
			{
				type: 'button',
				class: 'switch',
				title: `${name}: click to leave out or take in, Shift-click for this one alone`,
			},
			key,
			make('span', { text: name }),
			make('small', {}),
		);
	button.addEventListener('click', (e) => (e.shiftKey ? alone() : flip()));
	button.addEventListener('keydown', (e) => {
		if (e.key !== 'Enter' || !e.shiftKey) return;
		alone();
		e.preventDefault();
	});
	return button;
}

function makeSwitches() {
	const box = one('#switches'),
		{ about, waits } = V.data,
		all = waits.classes.map((c) => c.reduce((a, b) => a + b, 0));
	const whole = all.reduce((a, b) => a + b, 0),
		shares = V.data.about.diff && shareTexts();
	box.hidden = !!about.rowsAre; // nothing parts them
	const group = (name, buttons) =>
		box.append(make('div', { role: 'group', 'aria-label': name || 'idle' }, name ? make('b', { text: name }) : null, ...buttons));
	V.switches = [];
	const put = (button, colourName, sum, isOn, keep, of) => {
		V.switches.push({ ...of, button, colourName, isOn, isMinor: sum < whole * 0.01, share: shares ? shares(keep) : percent(sum, whole) });
		return button;
	};
	group(
		'time',
		CLASSES.slice(0, about.onCpuHz ? CLASSES.length : ON_CPU).map((name, k) =>
			put(
				switchButton(
					name,
					'',
					() => {
						S.classes = S.classes ^ (1 << k) || 1 << k;
						update(true);
					},
					() => {
						S.classes = 1 << k;
						update(true);
					},
				),
				name,
				all[k],
				() => !!(S.classes & (1 << k)),
				(i, bit) => bit === k,
			),
		),
	);
	const ofTime = V.switches.length;
	let ofFirst = 0;
	const idle = { cnt: 0, sum: 0 };
	about.facets.forEach((facet, f) => {
		if (f === 1) ofFirst = V.switches.length;
		const sums = facet.categories.map(() => 0);
		for (let i = 0; i < waits.cnt; i++)
			waits.classes.forEach((c, k) => {
				sums[categoryOf(f, i, k)] += c[i];
			});
		facet.categories.forEach((c, k) => {
			if (!c.idle) return;
			idle.cnt++;
			idle.sum += sums[k];
			idle.f = f;
		});
		const order = [...facet.categories.keys()].sort((a, b) => sums[b] - sums[a]);
		group(
			facet.name,
			order.map((c) =>
				put(
					switchButton(
						facet.categories[c].name,
						'',
						() => {
							if (!S.off[f].delete(c)) S.off[f].add(c);
							update(true);
						},
						() => {
							S.off[f] = new Set(order.filter((other) => other !== c));
							update(true);
						},
					),
					facet.categories[c].name,
					sums[c],
					() => !S.off[f].has(c),
					(i, bit) => categoryOf(f, i, bit) === c,
					{ facet: f, category: c },
				),
			),
		);
	});
	// The times are always there, and of the rest what is worth a switch: the others on demand.
	V.switches.forEach((s, i) => {
		s.isMinor = i >= ofTime && (s.isMinor || (i >= ofFirst && ofFirst > 0));
	});
	if (idle.cnt) group('', [idleSwitch(idle, put)]);
	box.append(make('button', { type: 'button', id: 'allswitches', title: 'Small ones, too (s)', onclick: () => set('allSwitches', !S.allSwitches) }));
}
// Of all waits for work at once; each kind has its own among the small ones.
function idleSwitch({ f, sum }, put) {
	const keys = V.data.about.facets[f].categories.map((c, k) => (c.idle ? k : -1)).filter((k) => k >= 0),
		others = V.data.about.facets[f].categories.map((c, k) => (c.idle ? -1 : k)).filter((k) => k >= 0),
		offCnt = () => keys.filter((k) => S.off[f].has(k)).length;
	for (const s of V.switches) s.isIdle = s.facet === f && keys.includes(s.category);
	const button = put(
		switchButton(
			'idle',
			'',
			() => {
				const act = offCnt() ? 'delete' : 'add';
				keys.forEach((k) => S.off[f][act](k));
				update(true);
			},
			() => {
				S.off[f] = new Set(others);
				update(true);
			},
		),
		'idle',
		sum,
		() => (offCnt() && offCnt() < keys.length ? 'mixed' : !offCnt()),
		(i, bit) => keys.includes(categoryOf(f, i, bit)),
	);
	V.isIdleMixed = () => offCnt() % keys.length > 0;
	V.switches[V.switches.length - 1].isMinor = false;
	return button;
}
// What is switched off is there, too: else nobody would know.
function showSwitches() {
	let hidden = 0;
	for (const s of V.switches) {
		s.button.hidden = !S.allSwitches && (s.isIdle ? !V.isIdleMixed() : s.isMinor && s.isOn() === true);
		hidden += s.button.hidden;
	}
	for (const box of one('#switches').querySelectorAll('[role=group]')) box.hidden = !box.querySelector('button:not([hidden])');
	const more = one('#allswitches');
	more.textContent = S.allSwitches ? 'fewer' : `${hidden} more`;
	more.hidden = !hidden && !S.allSwitches;
	more.setAttribute('aria-expanded', S.allSwitches);
}
