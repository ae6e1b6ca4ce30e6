// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Unpacks the page's style, elements and script.  The Content-Security-Policy names the digests of style and script, so no
// others would be used.  Until the style is there, nothing is shown.

function base64Bytes(text) {
	if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
	const raw = atob(text),
		bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
	return bytes;
}

// What tools/embed.py packs: two digits are 13 bits, the lowest first; a single one at the end has the bits that are left.
function base91Bytes(text) {
	const digit = (i) => text.charCodeAt(i) - 35 - (text[i] > '<'),
		bytes = [];
	for (let i = 0, n = 0, bits = 0; i < text.length; i += 2) {
		n |= (digit(i) + 91 * (digit(i + 1) || 0)) << bits;
		bits += i + 1 < text.length ? 13 : 6;
		for (; bits > 7; bits -= 8, n >>= 8) bytes.push(n & 255);
	}
	return new Uint8Array(bytes);
}

// The unpacked bytes of a block, or null where the page has none of that name.
async function block(name, unpack = base64Bytes) {
	const node = document.getElementById(name);
	if (!node) return null;
	const stream = new Blob([unpack(node.textContent)])
		.stream()
		.pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function text(...ids) {
	const parts = await Promise.all(ids.map(async (id) => (await block(id, base91Bytes)) || ''));
	return new Blob(parts).text();
}

function add(name, text, to) {
	const node = document.createElement(name);
	if (name === 'script') node.type = 'module';
	node.textContent = text;
	to.append(node);
}

// The load event waits for a frame that is not written to its end, and who prints or takes a picture at load waits for that
// event.  The script takes it away when the first picture is drawn.
const hold = document.createElement('iframe');
hold.hidden = true;
document.body.append(hold);
hold.contentDocument.open();

(async function () {
	const page = document.getElementById('page');
	try {
		add('style', await text('style'), document.head);
		page.innerHTML = await text('elements');
		add('script', await text('code', 'more'), document.body);
	} catch (e) {
		document.documentElement.dataset.ready = 'failed';
		page.textContent = 'This browser cannot unpack the page: ' + e.message;
		hold.remove();
	}
})();
