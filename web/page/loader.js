// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Unpacks the page's style and script.  The Content-Security-Policy names the digest of what comes out, so nothing else
// would be used.  Until the style is there, nothing is shown.

function base64Bytes(text) {
	if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
	const raw = atob(text),
		bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
	return bytes;
}

// What tools/embed.py packs: five digits are four bytes, the highest first; at the end the bytes that are there.
function base85Bytes(text) {
	const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~',
		bytes = new Uint8Array(Math.floor((text.length * 4) / 5));
	for (let i = 0, at = 0; i < text.length; i += 5) {
		let n = 0;
		for (let k = 0; k < 5; k++) n = n * 85 + (i + k < text.length ? digits.indexOf(text[i + k]) : 84);
		for (let shift = 24; shift >= 0; shift -= 8) bytes[at++] = n >>> shift;
	}
	return bytes;
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

async function add(name, id, to) {
	const node = document.createElement(name);
	if (name === 'script') node.type = 'module';
	const parts = [await block(id, base85Bytes)];
	if (id === 'code') parts.push((await block('more', base85Bytes)) || '');
	node.textContent = await new Blob(parts).text();
	to.append(node);
}

// The load event waits for a frame that is not written to its end, and who prints or takes a picture at load waits for that
// event.  The script takes it away when the first picture is drawn.
const hold = document.createElement('iframe');
hold.hidden = true;
document.body.append(hold);
hold.contentDocument.open();

(async function () {
	try {
		await add('style', 'style', document.head);
		document.getElementById('page').hidden = false;
		await add('script', 'code', document.body);
	} catch (e) {
		document.getElementById('page').hidden = false;
		document.documentElement.dataset.ready = 'failed';
		document.getElementById('empty').hidden = false;
		document.getElementById('empty').textContent = 'This browser cannot unpack the page: ' + e.message;
		hold.remove();
	}
})();
