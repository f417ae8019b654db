// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Comforts of an open page: ages that go on, copying, and whether the page follows. Reading needs none of them. It is
// loaded before htmx, whose stream may open at once.
"use strict";
(() => {
	const duration = (s) => {
		s = Math.max(0, Math.round(s));
		if (s < 120) return s + "s";
		if (s < 600) return Math.floor(s / 60) + "m" + (s % 60 ? (s % 60) + "s" : "");
		if (s < 10800) return Math.floor(s / 60) + "m";
		if (s < 172800) return Math.floor(s / 3600) + "h";
		return Math.floor(s / 86400) + "d";
	};
	const refresh = () => {
		const now = Date.now();
		for (const at of document.querySelectorAll("time[data-age]")) at.textContent = duration((now - Date.parse(at.dateTime)) / 1000);
		for (const at of document.querySelectorAll("time[data-left]")) at.textContent = duration((Date.parse(at.dateTime) - now) / 1000);
		for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
	};
	refresh();
	setInterval(refresh, 5000);
	document.addEventListener("click", async (event) => {
		const button = event.target.closest("button[data-copy]");
		if (!button) return;
		await navigator.clipboard.writeText(button.dataset.copy);
		button.textContent = "Copied";
		setTimeout(() => { button.textContent = "Copy"; }, 1500);
	});
	const follows = (kind, sign, word) => {
		const at = document.getElementById("live-state");
		if (!at) return;
		at.className = "state " + kind;
		at.replaceChildren(Object.assign(document.createElement("span"), {textContent: sign, ariaHidden: "true"}), " " + word);
	};
	document.addEventListener("htmx:sse:after:connection", () => follows("ok", "●", "live"));
	document.addEventListener("unfollowed", (event) => follows("fails", "✗", "not live: " + event.detail.data));
	for (const name of ["htmx:sse:error", "htmx:sse:close"]) document.addEventListener(name, () => follows("fails", "✗", "not live"));
	document.addEventListener("htmx:sse:after:message", refresh);

	// The lag of classes and servers in seconds, from the opening of the page on.
	const plot = document.getElementById("plot");
	if (!plot || typeof uPlot === "undefined") return;
	const rows = () => [...document.querySelectorAll("tr[data-series]")];
	const names = rows().map((row) => row.dataset.series).slice(0, 12);
	if (!names.length) { plot.textContent = "No class delivers the zone."; return; }
	const since = {}, data = [[], ...names.map(() => [])];
	const ink = () => getComputedStyle(document.body).color;
	const line = () => getComputedStyle(document.documentElement).getPropertyValue("--line");
	const colors = ["#3b82c4", "#c2792b", "#3f9a62", "#a7569b", "#b4454a", "#5f6fc9", "#7f8b2f", "#2f9a9a"];
	const axis = (label) => ({label, stroke: ink, grid: {stroke: line, width: 1}, ticks: {stroke: line, width: 1}});
	const chart = new uPlot({
		width: plot.clientWidth - 16, height: 200, scales: {y: {range: (_, low, high) => [0, Math.max(5, high || 0)]}},
		axes: [axis(), axis("seconds behind")], series: [{}, ...names.map((label, i) => ({label, stroke: colors[i % colors.length], width: 2}))],
	}, data, plot);
	const point = () => {
		const now = Date.now() / 1000, behind = {};
		for (const row of rows()) behind[row.dataset.series] = row.dataset.behind === "1";
		data[0].push(now);
		names.forEach((name, i) => {
			since[name] = behind[name] ? since[name] ?? now : undefined;
			data[i + 1].push(since[name] ? now - since[name] : 0);
		});
		for (const list of data) if (list.length > 3600) list.shift();
		chart.setData(data);
		const late = names.filter((name) => since[name]);
		document.getElementById("plot-text").textContent = late.length ? "Behind now: " + late.join(", ") + "." : "None is behind now.";
	};
	point();
	setInterval(point, 1000);
	document.addEventListener("htmx:sse:after:message", point);
	addEventListener("resize", () => chart.setSize({width: plot.clientWidth - 16, height: 200}));
})();
