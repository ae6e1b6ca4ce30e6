// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Draws rows of frames into a buffer of pixels that is as large as the window, whatever the size of the graph.
// Frames narrower than a pixel share it: the next one drawn is found by bisection, so a row costs what its width is.

const ROW = 19,
	TEXT_PAD = 4,
	FONT = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

class Painter {
	constructor(canvas) {
		this.canvas = canvas;
		this.context = canvas.getContext('2d', { alpha: false });
		this.texts = [];
		this.textCnt = 0;
	}
	resize(width, height) {
		const ratio = Math.min(window.devicePixelRatio || 1, 2);
		if (width === this.width && height === this.height && ratio === this.ratio) return;
		this.ratio = ratio;
		this.width = width;
		this.height = height;
		this.canvas.width = Math.max(1, Math.round(width * ratio));
		this.canvas.height = Math.max(1, Math.round(height * ratio));
		this.canvas.style.width = width + 'px';
		this.canvas.style.height = height + 'px';
		this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
		this.pixels = new Uint32Array(this.image.data.buffer);
		this.context.font = FONT;
		this.cell = this.context.measureText('MMMMMMMMMM').width / 10;
	}
	// panes: see view.js; scroll: pixels of the page above the canvas.
	draw(panes, looks, scroll) {
		const { pixels, image, context, ratio } = this,
			w = image.width,
			h = image.height;
		pixels.fill(looks.back);
		this.textCnt = 0;
		this.hatches = [];
		for (const pane of panes) {
			for (let d = pane.from; d < pane.layout.depth; d++) {
				const y = (pane.base + pane.step * d) * ROW - scroll;
				if (y <= -ROW || y >= this.height) continue;
				const top = Math.max(0, Math.round(y * ratio)),
					bottom = Math.min(h, Math.round((y + ROW - 1) * ratio));
				if (bottom <= top) continue;
				this.paintRow(pane, d, looks, top * w, w, y);
				for (let line = top + 1; line < bottom; line++)
					pixels.copyWithin(line * w, top * w, (top + 1) * w);
			}
		}
		for (const hatch of this.hatches) this.drawHatch(hatch, looks);
		context.putImageData(image, 0, 0);
		this.drawTexts(looks);
	}
	// Slanted lines over a frame, towards the colour behind it, so that its text stands out no less.
	drawHatch({ a, b, y, kind }, looks) {
		const { pixels, image, ratio } = this,
			w = image.width,
			top = Math.max(0, Math.round(y * ratio)),
			bottom = Math.min(image.height, Math.round((y + ROW - 1) * ratio)),
			gap = Math.round((kind > 2 ? 4 : 9) * ratio),
			slant = kind % 2 ? 1 : -1,
			thick = ratio > 1.5 ? 2 : 1;
		for (let line = top; line < bottom; line++) {
			const at = line * w;
			const step = (line - top) % gap;
			for (let x = a + (slant > 0 ? (gap - step) % gap : step); x < b; x += gap)
				for (let k = x; k < Math.min(b, x + thick); k++) pixels[at + k] = mixPixels(pixels[at + k], looks.back);
		}
	}
	// One line of pixels at `at`, `w` long; y < 0 with textless: no texts are kept.
	paintRow(pane, d, looks, at, w, y, textless) {
		const { layout, x0, x1 } = pane,
			{ nodes, left, right } = layout,
			label = layout.tree.label;
		const pixels = this.pixels,
			end = layout.rows[d + 1],
			scale = w / (x1 - x0),
			ratio = this.ratio;
		const room = 3 * this.cell + 2 * TEXT_PAD;
		let p = placeAt(layout, d, x0);
		while (p < end) {
			const node = nodes[p],
				from = (left[p] - x0) * scale;
			if (from >= w) return;
			const to = (right[p] - x0) * scale,
				a = from > 0 ? Math.round(from) : 0,
				b = to < w ? Math.round(to) : w;
			const colour = this.colour(pane, looks, node, label[node], d);
			if (b > a) {
				const wide = b - a > 3 && to < w;
				pixels.fill(colour, at + a, at + (wide ? b - (ratio > 1.5 ? 2 : 1) : b));
				const kind = !textless && pane.hatchOf && b - a > 5 ? pane.hatchOf(node) : 0;
				if (kind) this.hatches.push({ a, b: b - (ratio > 1.5 ? 2 : 1), y, kind });
				if (!textless && (b - a) / ratio >= room)
					this.keepText(a / ratio, (b - a) / ratio, y, label[node], pane.signOf ? pane.signOf(node) : '');
				p++;
			} else {
				if (a < w) pixels[at + a] = colour;
				p = this.skip(layout, p, end, x0 + (a + 0.5) / scale);
			}
		}
	}
	// The first place behind p that ends beyond x: in growing steps, then by bisection.
	skip(layout, p, end, x) {
		const { right } = layout;
		let step = 1,
			low = p + 1;
		while (low + step < end && right[low + step] <= x) {
			low += step;
			step *= 2;
		}
		let high = Math.min(end, low + step + 1);
		while (low < high) {
			const middle = (low + high) >> 1;
			if (right[middle] <= x) low = middle + 1;
			else high = middle;
		}
		return low;
	}
	colour(pane, looks, node, label, depth) {
		const { table, dim } = looks.colours,
			found = looks.found;
		const category = looks.byLabel ? looks.category[label] : pane.which[node];
		const at = (category * 3 + looks.kind[label]) * SHADES + looks.shade[label];
		if (found && found[label])
			return depth < pane.zoomDepth ? looks.colours.matchFar : looks.colours.match;
		if (pane.pixelOf) return pane.pixelOf(node, !!found || depth < pane.zoomDepth);
		return found || depth < pane.zoomDepth ? dim[at] : table[at];
	}
	keepText(x, width, y, label, sign) {
		const t = this.texts[this.textCnt] || (this.texts[this.textCnt] = {});
		t.x = x;
		t.width = width;
		t.y = y;
		t.label = label;
		t.sign = sign;
		this.textCnt++;
	}
	drawTexts(looks) {
		const { context, ratio, texts, cell } = this;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.font = FONT;
		context.textBaseline = 'middle';
		context.fillStyle = looks.text;
		for (let i = 0; i < this.textCnt; i++) {
			const t = texts[i];
			context.fillText(
				cut(t.sign + looks.names[t.label], Math.floor((t.width - 2 * TEXT_PAD) / cell)),
				t.x + TEXT_PAD,
				t.y + ROW / 2,
			);
		}
		context.setTransform(1, 0, 0, 1, 0, 0);
	}
	// All of the pane, squeezed: one line of pixels for one or several rows.
	drawSmall(pane, looks) {
		const { pixels, image, context } = this,
			w = image.width,
			h = image.height,
			all = pane.layout.depth - pane.from;
		const whole = { ...pane, x0: 0, x1: pane.layout.width, zoomDepth: 0 },
			line = Math.min(4 * this.ratio, Math.max(1, Math.floor(h / all)));
		pixels.fill(looks.back);
		for (let y = 0; y < h; y++) {
			const row = Math.floor(Math.min(y / line, all > h / line ? (y * all) / h : y / line));
			if (row >= all) break;
			const d = pane.from + row,
				flip = pane.step < 0 ? h - 1 - y : y;
			this.paintRow(whole, d, looks, flip * w, w, 0, true);
		}
		context.putImageData(image, 0, 0);
	}
}

// Two fifths of the way from one packed colour to another.
function mixPixels(from, to) {
	let out = 255 << 24;
	for (let shift = 0; shift < 24; shift += 8)
		out |= Math.round(((from >>> shift) & 255) * 0.6 + ((to >>> shift) & 255) * 0.4) << shift;
	return out >>> 0;
}
function charCells(code) {
	return code < 0x1100 || (code >= 0x2000 && code < 0x2e80) ? 1 : 2;
}
// As much of the text as `room` cells hold.
function cut(text, room) {
	if (text.length * 2 <= room) return text;
	let used = 0,
		last = 0;
	for (let i = 0; i < text.length; i++) {
		used += charCells(text.charCodeAt(i));
		if (used <= room - 1) last = i + 1;
		if (used > room) return text.slice(0, last).replace(/[\ud800-\udbff]$/, '') + '…';
	}
	return text;
}
