// Runs Perfetto's trace processor, compiled to WebAssembly for web workers, on its stream of calls: standard input to
// standard output. The argument is the folder with engine_bundle.js.
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const folder = process.argv[2];
const read = name => fs.readFileSync(path.join(folder, path.basename(String(name))));
const log = (...words) => process.stderr.write(words.join(' ') + '\n');

// The globals of a worker that the bundle uses.
const worker = {
  WorkerGlobalScope: function () {},
  location: {href: 'file:///engine_bundle.js', protocol: 'file:', host: ''},
  fetch: async name => new Response(read(name), {headers: {'Content-Type': 'application/wasm'}}),
  XMLHttpRequest: class {
    open(method, name) { this.name = name; }
    send() { this.status = 200; this.response = read(this.name); }
  },
  console: {log, warn: log, error: log},
  setTimeout, clearTimeout, performance, TextDecoder, TextEncoder, URL, crypto,
};
worker.self = worker;
vm.createContext(worker);
vm.runInContext(read('engine_bundle.js').toString(), worker);

const port = {postMessage: bytes => process.stdout.write(Buffer.from(bytes))};
worker.onmessage({data: port});
const input = vm.runInContext('bytes => Uint8Array.from(bytes)', worker)(fs.readFileSync(0));
const deadline = Date.now() + 60000;

// The module is compiled in the background.
function call() {
  try {
    port.onmessage({data: input});
  } catch (error) {
    if (Date.now() > deadline) throw error;
    setTimeout(call, 100);
  }
}
setTimeout(call, 100);
