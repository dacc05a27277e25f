// Everything goes to control as it is, except:
//   POST /__probe/queue/{fresh|retry|challenge}  a JSON array of message texts, onto that queue
//   /__probe/losing/…                            to the control whose queue messages are lost

const QUEUES = { fresh: "FRESH", retry: "RETRY", challenge: "CHALLENGE" };

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const [, probe, what, ...rest] = url.pathname.split("/");
    if (probe !== "__probe") return env.CONTROL.fetch(request);
    if (what === "losing") {
      url.pathname = `/${rest.join("/")}`;
      return env.LOSING.fetch(new Request(url, request));
    }
    const queue = what === "queue" && request.method === "POST" && env[QUEUES[rest[0]]];
    if (!queue) return new Response("the probe has no such route", { status: 404 });
    const texts = await request.json();
    await queue.sendBatch(texts.map((body) => ({ body })));
    return Response.json({ queued: texts.length });
  },
};
