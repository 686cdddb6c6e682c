// The search runs in a worker, and browsers start none for a page that was opened as a file. There, a hidden frame
// takes the place of the worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = data => this.deliver(data);
      inside.importScripts = () => {};
      const script = inside.document.createElement("script");
      script.src = new URL(address, location);
      script.onload = () => {
        this.loaded = true;
        this.waiting.splice(0).forEach(data => this.postMessage(data));
      };
      script.onerror = () => this.onerror?.(new Event("error"));
      inside.document.head.append(script);
    }
    deliver(data) {
      const event = new MessageEvent("message", { data });
      setTimeout(() => { this.onmessage?.(event); this.dispatchEvent(event); });
    }
    postMessage(data) {
      if (!this.loaded) return void this.waiting.push(data);
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
