// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	_ "embed"
	"net/http"
	"slices"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
)

// route is one method of one path. A nil answer with a nil error was written by serve itself.
type route struct {
	method, path string
	open         bool // answered without authentication (A5)
	serve        func(a *Agent, w http.ResponseWriter, job *work) (status int, answer any, err error)
}

const zonePath = protocol.Base + "/zones/{name}"

// routes are all there are; openapi.yaml describes each.
var routes = []route{
	{http.MethodGet, protocol.Base + "/health", true, (*Agent).serveHealth},
	{http.MethodGet, protocol.Base + "/ready", true, (*Agent).serveReady},
	{http.MethodGet, "/metrics", true, (*Agent).serveMetrics},
	{http.MethodGet, protocol.Base + "/openapi.yaml", false, (*Agent).serveDescription},
	{http.MethodGet, protocol.Base + "/server/status", false, (*Agent).serveStatus},
	{http.MethodGet, protocol.Base + "/server/members", false, (*Agent).serveMembers},
	{http.MethodPost, protocol.Base + "/server/reconfig", false, (*Agent).serveReconfig},
	{http.MethodGet, protocol.Base + "/zones", false, (*Agent).listZones},
	{http.MethodPost, protocol.Base + "/zones", false, (*Agent).createZone},
	{http.MethodGet, zonePath, false, (*Agent).showZone},
	{http.MethodDelete, zonePath, false, (*Agent).deleteZone},
	{http.MethodPatch, zonePath, false, (*Agent).modifyZone},
	{http.MethodGet, zonePath + "/status", false, (*Agent).showZoneStatus},
	{http.MethodPost, zonePath + "/reload", false, zoneCommand("reload", "reloaded")},
	{http.MethodPost, zonePath + "/freeze", false, zoneCommand("freeze", "frozen")},
	{http.MethodPost, zonePath + "/thaw", false, zoneCommand("thaw", "thawed")},
	{http.MethodPost, zonePath + "/sync", false, zoneCommand("sync", "written to its file")},
	{http.MethodPost, zonePath + "/notify", false, zoneCommand("notify", "notified")},
	{http.MethodPost, zonePath + "/retransfer", false, zoneCommand("retransfer", "transferred anew")},
	{http.MethodGet, zonePath + "/ds", false, (*Agent).showDS},
	{http.MethodPost, zonePath + "/dnssec/checkds", false, (*Agent).checkDS},
	{http.MethodPost, zonePath + "/records", false, (*Agent).addRecord},
	{http.MethodPut, zonePath + "/records", false, (*Agent).updateRecord},
	{http.MethodDelete, zonePath + "/records", false, (*Agent).deleteRecord},
}

// Routes are "METHOD path" of all routes, sorted.
func Routes() []string {
	var all []string
	for _, one := range routes {
		all = append(all, one.method+" "+one.path)
	}
	slices.Sort(all)
	return all
}

// Description is the API in OpenAPI 3.1.
//
//go:embed openapi.yaml
var Description []byte

func (a *Agent) serveDescription(w http.ResponseWriter, _ *work) (int, any, error) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(Description)
	return http.StatusOK, nil, nil
}

func (a *Agent) serveHealth(http.ResponseWriter, *work) (int, any, error) {
	return http.StatusOK, protocol.Health{Status: "healthy", Version: a.config.Version, Agent: "kubizone", ConfigHash: a.loaded.hash()}, nil
}

func (a *Agent) serveStatus(_ http.ResponseWriter, job *work) (int, any, error) {
	text, err := a.runCommand(job.request.Context(), "status")
	return http.StatusOK, protocol.ServerStatus{Status: text}, err
}

// serveReconfig has named read its configuration again. Zones that are loaded stay as they are.
func (a *Agent) serveReconfig(_ http.ResponseWriter, job *work) (int, any, error) {
	text, err := a.runCommand(job.request.Context(), "reconfig")
	if err != nil {
		return 0, nil, asConflict(err)
	}
	return http.StatusOK, protocol.ZoneResponse{Success: true, Message: "named has read its configuration", Details: text}, nil
}
