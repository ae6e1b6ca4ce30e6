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

// The unpacked bytes of a block, or null where the page has none of that name.
async function block(name) {
	const node = document.getElementById(name);
	if (!node) return null;
	const stream = new Blob([base64Bytes(node.textContent)])
		.stream()
		.pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function add(name, id, to) {
	const node = document.createElement(name);
	if (name === 'script') node.type = 'module';
	node.textContent = new TextDecoder().decode(await block(id));
	to.append(node);
}

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
	}
})();
