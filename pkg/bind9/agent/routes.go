// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/http"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
)

// route is one method of one path.
type route struct {
	method, path string
	open         bool // answered without authentication (A5)
	serve        func(a *Agent, job *work) (status int, answer any, err error)
}

const zonePath = protocol.Base + "/zones/{name}"

// routes are all there are; docs/bind-agent.md lists them.
var routes = []route{
	{http.MethodGet, protocol.Base + "/health", true, (*Agent).serveHealth},
	{http.MethodGet, protocol.Base + "/ready", true, (*Agent).serveReady},
	{http.MethodGet, protocol.Base + "/server/status", false, (*Agent).serveStatus},
	{http.MethodGet, protocol.Base + "/server/members", false, (*Agent).serveMembers},
	{http.MethodGet, protocol.Base + "/zones", false, (*Agent).listZones},
	{http.MethodPost, protocol.Base + "/zones", false, (*Agent).createZone},
	{http.MethodDelete, zonePath, false, (*Agent).deleteZone},
	{http.MethodPatch, zonePath, false, (*Agent).modifyZone},
	{http.MethodGet, zonePath + "/status", false, (*Agent).showZoneStatus},
	{http.MethodPost, zonePath + "/notify", false, zoneCommand("notify", "notified")},
	{http.MethodPost, zonePath + "/retransfer", false, zoneCommand("retransfer", "transferred anew")},
	{http.MethodGet, zonePath + "/ds", false, (*Agent).showDS},
	{http.MethodPost, zonePath + "/dnssec/checkds", false, (*Agent).checkDS},
}

func (a *Agent) serveHealth(*work) (int, any, error) {
	return http.StatusOK, protocol.Health{Status: "healthy", Version: a.config.Version, Agent: "kubizone", ConfigHash: a.loaded.hash()}, nil
}

func (a *Agent) serveStatus(job *work) (int, any, error) {
	text, err := a.runCommand(job.request.Context(), "status")
	return http.StatusOK, protocol.ServerStatus{Status: text}, err
}
