/**
 * `node --import` this to have a process write what it used, as a ClientReport, to the file which
 * NODEGAP_BENCH_REPORT names. It listens to Node's own diagnostics of node:http, so it knows nothing
 * of the program that it measures. At SIGUSR2 it writes what was used so far, to FILE.mark.
 *
 * Plain JavaScript, so that Node need not load its compiler of types into what is measured.
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';

const file = process.env.NODEGAP_BENCH_REPORT;
if (file !== undefined) measure(file);

/** @param {string} path */
function measure(path) {
  const sockets = new Set();
  const statuses = {};
  let requests = 0;
  let inFlight = 0;
  let maxInFlight = 0;
  subscribe('http.client.request.start', () => {
    requests += 1;
    inFlight += 1;
    maxInFlight = Math.max(maxInFlight, inFlight);
  });
  subscribe('http.client.request.error', () => {
    inFlight -= 1;
  });
  subscribe('http.client.response.finish', ({ request, response }) => {
    statuses[response.statusCode] = (statuses[response.statusCode] ?? 0) + 1;
    if (request.socket !== null) sockets.add(request.socket);
    // Of an answer only the headers are there yet.
    response.once('close', () => {
      inFlight -= 1;
    });
  });
  const write = (to) => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    const report = {
      cpuMs: (userCPUTime + systemCPUTime) / 1000,
      peakRss: maxRSS * 1024,
      requests,
      // Decrypted, but with headers and as compressed as it came.
      bytes: [...sockets].reduce((sum, socket) => sum + socket.bytesRead, 0),
      connections: sockets.size,
      maxInFlight,
      statuses,
    };
    writeFileSync(to, JSON.stringify(report));
  };
  process.on('SIGUSR2', () => write(`${path}.mark`));
  process.on('exit', () => write(path));
}
