// Keeps the labelling page: a reload without a connection shows it again. With a connection, the server's counts.
"use strict";
const PAGE = new URL(self.registration.scope).pathname;
const KEPT = `covote:${PAGE}`;
self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(KEPT).then((cache) => cache.add(PAGE)));
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  if (event.request.mode === "navigate" && event.request.method === "GET") event.respondWith(page(event.request));
});

async function page(request) {
  const cache = await caches.open(KEPT);
  let answer;
  try {
    answer = await fetch(request);
  } catch {
    const kept = await cache.match(PAGE);
    if (!kept) return Response.error();
    const text = (await kept.text()).replace("<html ", "<html data-offline "); // the script knows that it is not new
    return new Response(text, { headers: kept.headers });
  }
  // A redirect leads to the sign-in: the page of whoever was here before is not kept.
  if (answer.ok && new URL(request.url).search === "") await cache.put(PAGE, answer.clone());
  else if (!answer.ok && answer.status < 500) await cache.delete(PAGE);
  return answer;
}
